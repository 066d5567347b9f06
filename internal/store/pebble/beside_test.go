package pebble

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/prove"
	"hapax/internal/room"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// The words of the table in docs/log.md, Beside the log: who tells of a change.
const (
	byProof  = "proof"  // the server's own, and so `hapax audit`
	byAudit  = "audit"  // `hapax audit` alone
	byVerify = "verify" // `hapax verify`
	byStart  = "start"  // what the server checks before it is ready
	byOpen   = "open"   // the store can't be opened or read
	byNobody = "*not checkable*"
)

// form is how the rows of a table are read and written.
type form struct {
	table byte
	name  string
	row   func(key, value []byte) (any, error) // a pointer to a struct
	value func(row any) []byte
	is    func(row any) bool                          // it is of this form; nil: any is
	write func(b *lsm.Batch, key []byte, was, is any) // with all that the row is found and counted by, as somebody would who knows the form
}

// formOf makes a form of a row that nothing else follows from.
func formOf[T any](table byte, name string, read func(key, value []byte) (T, error), write func([]byte, *T) []byte) form {
	return form{
		table: table, name: name,
		row: func(key, value []byte) (any, error) {
			v, err := read(key, value)
			return &v, err
		},
		value: func(row any) []byte { return write(nil, row.(*T)) },
		write: func(b *lsm.Batch, key []byte, _, is any) { _ = b.Set(key, write(nil, is.(*T)), nil) },
	}
}

// count1 is a row that is a number.
type count1 struct{ Number int64 }

// indexed is a row of the keys with repeats, its unexported parts shown.
type indexed struct {
	Key          string
	Hits, SeenAt int64
}

func forms() []form {
	number := func(what string) func(key, value []byte) (count1, error) {
		return func(key, value []byte) (count1, error) {
			n, err := readCount(what, key, value)
			return count1{n}, err
		}
	}
	writeNumber := func(b []byte, n *count1) []byte { return appendCount(b, n.Number) }
	return []form{
		formOf(tableHead, "head", func(_, value []byte) (gateway.Head, error) { return readHead(value) }, appendHead),
		formOf(tableIDs, "event id", number("event id"), writeNumber),
		formOf(tableBodies, "body", func(key, value []byte) (gateway.Body, error) {
			b, err := readBody(key, value)
			return *b, err
		}, appendBody),
		formOf(tableSources, "source", readSource, appendSource),
		keyForm(),
		formOf(tableBooks, "book", readBook, appendBook),
		deliveryForm("delivery that is due", func(d *gateway.Delivery) bool { return d.State == gateway.Waiting && d.Due != gateway.Held }),
		deliveryForm("dead letter", func(d *gateway.Delivery) bool { return d.State == gateway.Dead }),
		formOf(tableQueued, "outbox count", readQueued, appendQueued),
		formOf(tableCapacity, "capacity", number("capacity"), writeNumber),
		formOf(tableRepeats, "repeated key", func(key, value []byte) (indexed, error) {
			p, err := readRepeat(key, value)
			return indexed{p.key, p.hits, p.seenAt}, err
		}, func(b []byte, p *indexed) []byte {
			return appendRepeat(b, &gateway.Hits{Count: p.Hits, Last: settle.Recency{SeenAt: p.SeenAt}}, p.Key)
		}),
		askedForm(),
		formOf(tableTwins, "guarded body", readTwin, appendTwin),
		formOf(tableJournal, "message", func(key, value []byte) (room.Message, error) {
			row, err := readJournalRow(key, value)
			return row.Message, err
		}, func(b []byte, m *room.Message) []byte { return appendJournalValue(b, m, false) }),
		formOf(tableResults, "result", func(key, value []byte) (resultShown, error) {
			r, err := readResult(key, value, []string{"", "", ""})
			return resultShown{r.Fingerprint, r.Seq, int64(r.epoch), r.At, r.MessageID}, err
		}, func(b []byte, r *resultShown) []byte {
			s := storedResult{epoch: uint64(r.Epoch)}
			s.Fingerprint, s.Seq, s.At, s.MessageID = r.Fingerprint, r.Seq, r.At, r.MessageID
			return appendResultValue(b, &s.Result, s.epoch)
		}),
		formOf(tableRooms, "room", func(key, value []byte) (roomShown, error) {
			r, err := readRoomRow(key, value)
			return roomShown{int64(r.number), r.resultLow, r.State}, err
		}, func(b []byte, r *roomShown) []byte {
			return appendRoomRow(b, &roomRow{State: r.State, number: uint32(r.Number), resultLow: r.ResultLow})
		}),
		formOf(tableCounts, "counts", func(_, value []byte) (countsShown, error) {
			c, err := readCounts(value)
			return countsShown{int64(c.commits), int64(c.numbers), c.rooms, c.messages, c.results}, err
		}, func(b []byte, c *countsShown) []byte {
			return appendCounts(b, &counts{uint64(c.Commits), uint64(c.Numbers), c.Rooms, c.Messages, c.Results})
		}),
	}
}

// askedShown is a row of requests without the number in its key.
type askedShown struct {
	Tenant string
	At     int64
	Keys   []uint64
}

// askedForm moves the row of a row's moment along with it.
func askedForm() form {
	f := formOf(tableAsked, "requests", func(key, value []byte) (askedShown, error) {
		a, err := readAsked(key, value)
		return askedShown{a.Tenant, a.At, a.Keys}, err
	}, func(b []byte, a *askedShown) []byte {
		return appendAsked(b, &gateway.Asked{Tenant: a.Tenant, At: a.At, Keys: a.Keys})
	})
	f.write = func(b *lsm.Batch, key []byte, was, is any) {
		_ = b.Set(key, f.value(is), nil)
		_ = b.Delete(askedAtKey(was.(*askedShown).At, lastNumber(key)), nil)
		_ = b.Set(askedAtKey(is.(*askedShown).At, lastNumber(key)), nil, nil)
	}
	return f
}

// Rows of the rooms whose fields aren't exported.
type (
	resultShown struct {
		Fingerprint    [33]byte
		Seq, Epoch, At int64
		MessageID      string
	}
	roomShown struct {
		Number, ResultLow int64
		room.State
	}
	countsShown struct{ Commits, Numbers, Rooms, Messages, Results int64 }
)

// keyForm moves what a key is counted and found by along with it.
func keyForm() form {
	f := formOf(tableKeys, "key", readKey, appendKey)
	f.write = func(b *lsm.Batch, key []byte, was, is any) {
		n, _ := splitNameKey(key)
		_ = b.Set(key, appendKey(nil, is.(*gateway.Key)), nil)
		for k, sign := range map[*gateway.Key]int64{was.(*gateway.Key): -1, is.(*gateway.Key): 1} {
			if k.Registered {
				addTo(b, capacityKey(n.Tenant, n.Source, k.LRUCapacity), sign)
			}
		}
		for i := range was.(*gateway.Key).Hits {
			h := &was.(*gateway.Key).Hits[i]
			_ = b.Delete(repeatKey(gateway.BookName{Currency: h.Currency, Tenant: n.Tenant, Source: n.Source}, h.Last.Seq), nil)
		}
		for i := range is.(*gateway.Key).Hits {
			h := &is.(*gateway.Key).Hits[i]
			_ = b.Set(repeatKey(gateway.BookName{Currency: h.Currency, Tenant: n.Tenant, Source: n.Source}, h.Last.Seq), appendRepeat(nil, h, n.Key), nil)
		}
	}
	return f
}

// addTo changes a count of an indexed batch.
func addTo(b *lsm.Batch, key []byte, by int64) {
	value, ok, _ := get(b, key)
	n := by
	if ok {
		was, _ := readCount("", key, value)
		n += was
	}
	if n == 0 {
		_ = b.Delete(key, nil)
	} else {
		_ = b.Set(key, appendCount(nil, n), nil)
	}
}

func deliveryForm(name string, is func(*gateway.Delivery) bool) form {
	f := formOf(tableOutbox, name, readDelivery, appendDelivery)
	f.is = func(row any) bool { return is(row.(*gateway.Delivery)) }
	f.write = func(b *lsm.Batch, key []byte, was, is any) {
		_ = b.Set(key, appendDelivery(nil, is.(*gateway.Delivery)), nil)
		for _, d := range []*gateway.Delivery{was.(*gateway.Delivery), is.(*gateway.Delivery)} {
			for _, index := range findKeys(d) {
				if d == was {
					_ = b.Delete(index, nil)
				} else {
					_ = b.Set(index, nil, nil)
				}
			}
			queued := sourcePrefix(tableQueued, d.Name.Tenant, d.Name.Source)
			value, _, _ := get(b, queued)
			c, err := readQueued(queued, value)
			if err != nil {
				c = store.OutboxCount{}
			}
			changes := map[sourceName]store.OutboxCount{}
			count(changes, d, map[bool]int64{true: -1, false: 1}[d == was])
			for _, change := range changes {
				c.Waiting += change.Waiting
				c.Dead += change.Dead
			}
			_ = b.Set(queued, appendQueued(nil, &c), nil)
		}
	}
	return f
}

// leaf is a field of a row, parts of parts included.
type leaf struct {
	name string
	at   func(row reflect.Value) (field reflect.Value, ok bool)
}

// leavesOf lists the fields of a row's type. Of a list it takes the first entry.
func leavesOf(t reflect.Type) (all []leaf) {
	var walk func(t reflect.Type, name string, at func(reflect.Value) (reflect.Value, bool))
	walk = func(t reflect.Type, name string, at func(reflect.Value) (reflect.Value, bool)) {
		switch {
		case t.Kind() == reflect.Struct && t != reflect.TypeFor[settle.Sum]():
			for i := range t.NumField() {
				part := t.Field(i).Name
				if t.Field(i).Anonymous {
					part = ""
				}
				walk(t.Field(i).Type, strings.Trim(name+"."+part, "."), func(row reflect.Value) (reflect.Value, bool) {
					v, ok := at(row)
					if !ok {
						return v, false
					}
					return v.Field(i), true
				})
			}
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
			walk(t.Elem(), name, func(row reflect.Value) (reflect.Value, bool) {
				v, ok := at(row)
				if !ok || v.Len() == 0 {
					return v, false
				}
				return v.Index(0), true
			})
		default:
			all = append(all, leaf{name, at})
		}
	}
	walk(t, "", func(row reflect.Value) (reflect.Value, bool) { return row, true })
	return all
}

// change gives a field another value that its row can hold.
func change(f reflect.Value) {
	switch f.Kind() {
	case reflect.Int, reflect.Int64:
		f.SetInt(f.Int() + 1)
	case reflect.Uint8: // a scope, a state
		f.SetUint(map[uint64]uint64{0: 1, 1: 2, 2: 1}[f.Uint()])
		if f.Type() == reflect.TypeFor[settle.State]() {
			f.SetUint(f.Uint() % 2)
		}
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.String:
		f.SetString(f.String() + "x")
	case reflect.Array:
		f.Index(1).SetUint(f.Index(1).Uint() ^ 1)
	case reflect.Slice:
		switch f.Type().Elem().Kind() {
		case reflect.String:
			f.Set(reflect.Append(f, reflect.ValueOf("x")))
		case reflect.Uint8:
			f.Set(reflect.ValueOf(append(bytes.Clone(f.Bytes()), 'x')))
		case reflect.Uint64:
			f.Set(reflect.Append(f, reflect.ValueOf(uint64(8))))
		}
	case reflect.Struct: // a sum
		sum := f.Addr().Interface().(*settle.Sum)
		sum.Add(settle.Amount{Whole: 1_000_000})
	}
}

// tables are those of more than one row, by what docs/log.md calls a row.
var tables = map[string]byte{
	"record": tableLog, "event id": tableIDs, "body": tableBodies, "source": tableSources, "key": tableKeys, "book": tableBooks, "delivery that is due": tableOutbox,
	"due": tableDue, "held": tableHeld, "dead": tableDead, "outbox count": tableQueued, "capacity": tableCapacity, "repeated key": tableRepeats, "guarded body": tableTwins,
	"events of a tenant": tableTenants, "requests": tableAsked, "moment of requests": tableAskedAt, "message": tableJournal, "result": tableResults, "room": tableRooms,
}

// besides is a closed store with rows in every table, made once, and what lies in it.
type besides struct {
	fs   *vfs.MemFS
	rows map[string][]byte
}

func newBesides(t *testing.T) *besides {
	t.Helper()
	at := spot{dir: "/data", opts: small()}
	fs := vfs.NewMem()
	at.opts.FS = fs
	s := at.open(t)
	load := newBookLoad(4, 0)
	enter := func(c ...gateway.Command) {
		if _, err := s.Enter(t.Context(), load.now, c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		if err := load.enter(s); err != nil {
			t.Fatal(err)
		}
		head, err := loadHead(s.db)
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 6:
			enter(&gateway.AcceptLoss{From: 1000, To: 1, By: "ann", Reason: "a test"})
		case 7:
			enter(&gateway.Checked{Number: head.Number, Hash: head.Hash})
		case 5:
			enter(&gateway.Proven{Proof: gateway.Proof{Number: head.Number, Hash: head.Hash, At: load.now, Events: 1, OK: true}})
		}
	}
	discardOne(t, s, enter)
	enter(storetest.NewEvent(gateway.Name{Tenant: "t", Source: "s2", Key: "guarded"}, "ev_guarded"))
	for i := range 4 {
		cmd := storetest.Send("tea", "ann", fmt.Sprint("id-", i), "text")
		if _, err := s.Commit(t.Context(), &store.Batch{Now: load.now, RetentionMs: 1 << 40, Commands: []room.Command{cmd}, Judge: room.Decide}); err != nil {
			t.Fatal(err)
		}
	}
	v := &besides{fs: fs, rows: map[string][]byte{}}
	for row, err := range scan(s.db, []byte{'a'}, []byte{'z' + 1}) {
		if err != nil {
			t.Fatal(err)
		}
		v.rows[string(row[0])] = bytes.Clone(row[1])
	}
	closed(t, s)
	for key := range v.rows {
		if !slices.Contains(slices.Collect(maps.Values(tables)), key[0]) && !strings.Contains(string(tableHead)+string(tableCounts)+string(tableSelf), key[:1]) {
			t.Errorf("table %c has rows that docs/log.md doesn't speak of", key[0])
		}
	}
	return v
}

// discardOne gives up an event that waits, by a request that is remembered.
func discardOne(t *testing.T, s *Store, enter func(...gateway.Command)) {
	t.Helper()
	var due *gateway.Delivery
	err := s.ViewBooks(t.Context(), func(v store.BooksView) error {
		for d, err := range v.Deliveries() {
			if err != nil {
				return err
			}
			if d.State == gateway.Waiting && d.Due != gateway.Held {
				due = &d
			}
		}
		return nil
	})
	if err != nil || due == nil {
		t.Fatal("no event waits", err)
	}
	enter(&gateway.Settled{Number: due.Number, Reason: "404"}, &gateway.Discard{Tenant: due.Name.Tenant, ID: due.ID, Key: 5, By: "ann"})
}

// told is who tells of a change of the folder.
func (v *besides) told(t *testing.T, change func(*lsm.Batch)) string {
	t.Helper()
	o := small()
	o.FS = cloned(t, spot{opts: Options{FS: v.fs}})
	s := spot{dir: "/data", opts: o}.open(t)
	batch := s.db.NewIndexedBatch()
	change(batch)
	if err := batch.Commit(lsm.Sync); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	who := map[string]bool{}
	rep, err := Verify(t.Context(), "/data", o)
	if err == nil {
		who[byVerify] = !rep.OK()
	}
	who[byOpen] = err != nil
	err = ReadBooks(t.Context(), "/data", o, func(view store.BooksView) error {
		log := prove.Stated(view)
		own, err := audit.ProveLog(t.Context(), log, audit.ProofOptions{})
		if err != nil {
			return err
		}
		whole, err := audit.ProveLog(t.Context(), log, audit.ProofOptions{Whole: true})
		if err != nil {
			return err
		}
		tail, err := prove.Tail(t.Context(), view)
		if err == nil {
			who[byProof], who[byAudit], who[byStart] = !own.OK(), own.OK() && !whole.OK(), !tail.OK()
		}
		return err
	})
	who[byOpen] = who[byOpen] || err != nil
	if s, err := Open("/data", o); err != nil {
		who[byOpen] = true
	} else {
		closed(t, s)
	}
	var words []string
	for _, word := range []string{byProof, byAudit, byStart, byVerify, byOpen} {
		if who[word] {
			words = append(words, word)
		}
	}
	if words == nil {
		return byNobody
	}
	return strings.Join(words, ", ")
}

// tamper is one change of the folder.
type tamper struct {
	row, field string
	do         func(*lsm.Batch)
}

const years = 1000 * 365 * 24 * 3600 * 1000

// tampers are one for each field of each kind of row, and for a row less and one more.
func (v *besides) tampers(t *testing.T) (all []tamper) {
	t.Helper()
	add := func(row, field string, do func(*lsm.Batch)) { all = append(all, tamper{row, field, do}) }
	for _, f := range forms() {
		zero, err := f.row([]byte(of(v.rows, f.table)[0]), v.rows[of(v.rows, f.table)[0]])
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leavesOf(reflect.TypeOf(zero).Elem()) {
			if do := v.changed(f, l, change); do != nil {
				add(f.name, l.name, do)
			}
			if slices.Contains([]string{"Since", "LastMs", "NotBefore", "Due"}, l.name) {
				if do := v.changed(f, l, func(field reflect.Value) { field.SetInt(max(field.Int(), 1) + years) }); do != nil && f.name != "dead letter" {
					add(f.name, l.name+", far ahead", do)
				}
			}
		}
	}
	for name, table := range tables {
		keys := of(v.rows, table)
		first, last := []byte(keys[0]), []byte(keys[len(keys)-1])
		add(name, "a row less", func(b *lsm.Batch) { _ = b.Delete(first, nil) })
		add(name, "a row more", func(b *lsm.Batch) { _ = b.Set(moreThan(last), v.rows[string(last)], nil) })
	}
	record := []byte(of(v.rows, tableLog)[7])
	add("record", "any byte", func(b *lsm.Batch) {
		value := bytes.Clone(v.rows[string(record)])
		value[len(value)/2] ^= 1
		_ = b.Set(record, value, nil)
	})
	return all
}

// moreThan is a key that lies behind the last one of its table.
func moreThan(last []byte) []byte {
	key := bytes.Clone(last)
	switch key[0] {
	case tableTwins:
		return twinKey("t", "s2", 1<<40, gateway.Hash{})
	case tableQueued, tableSources:
		return sourcePrefix(key[0], "t", "zzz")
	case tableBooks:
		return bookPrefix(tableBooks, gateway.BookName{Currency: "ZZZ", Tenant: "t", Source: "s2"})
	}
	key[len(key)-1]++
	return key
}

// changed changes a field of the richest row that has it; nil where the field isn't in a row's value but in its key.
func (v *besides) changed(f form, l leaf, change func(reflect.Value)) func(*lsm.Batch) {
	keys := of(v.rows, f.table)
	slices.SortStableFunc(keys, func(a, b string) int { return len(v.rows[b]) - len(v.rows[a]) })
	for _, key := range keys {
		was, err := f.row([]byte(key), v.rows[key])
		if err != nil || f.is != nil && !f.is(was) {
			continue
		}
		is, _ := f.row([]byte(key), v.rows[key])
		field, ok := l.at(reflect.ValueOf(is).Elem())
		if !ok {
			continue
		}
		if change(field); !bytes.Equal(f.value(was), f.value(is)) {
			return func(b *lsm.Batch) { f.write(b, []byte(key), was, is) }
		}
	}
	return nil
}

var tableLine = regexp.MustCompile(`(?m)^\| ([a-z ]+) \| ([^|]+) \| ([a-z, ]+|\*not checkable\*) \|[^|]*\|$`)

// documented is the table of docs/log.md, Beside the log: of each row and field, who tells of a change.
func documented(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/log.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n## Beside the log\n")
	if !ok {
		t.Fatal("docs/log.md has no table")
	}
	part, _, _ = strings.Cut(part, "\n## ")
	says := map[string]string{}
	for _, line := range tableLine.FindAllStringSubmatch(part, -1) {
		if line[2] == "field" { // the heading
			continue
		}
		for _, field := range strings.Split(line[2], "; ") {
			says[line[1]+": "+strings.Trim(field, "`")] = line[3]
		}
	}
	return says
}

// TestEveryFieldBesideTheLogIsHeldOrSaidNotToBe changes each field of each kind of row in a store's folder, takes a row away and adds one, with all indexes
// made to fit: who docs/log.md says tells of it does so, nobody else does, and where it says that nothing can nothing breaks.
func TestEveryFieldBesideTheLogIsHeldOrSaidNotToBe(t *testing.T) {
	v := newBesides(t)
	if who := v.told(t, func(*lsm.Batch) {}); who != byNobody {
		t.Fatal("untouched, told by", who)
	}
	says, seen := documented(t), map[string]bool{}
	for _, c := range v.tampers(t) {
		name := c.row + ": " + c.field
		if seen[name] {
			t.Errorf("%s twice", name)
		}
		seen[name] = true
		if who := v.told(t, c.do); who != says[name] {
			t.Errorf("%s: told by %s, docs/log.md says %q", name, who, says[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(says)) {
		if !seen[name] {
			t.Errorf("docs/log.md speaks of %s, which no row has", name)
		}
	}
}

// TestARowThatTheFoldDoesNotGiveIsAFault adds rows that count nothing and so could be taken for none, but are shown or decided by.
func TestARowThatTheFoldDoesNotGiveIsAFault(t *testing.T) {
	v := newBesides(t)
	book := gateway.Book{}
	book.Totals.Accepted.Add(settle.Amount{Whole: 1_000_000})
	var other gateway.Key
	for _, key := range of(v.rows, tableKeys) {
		if k, err := readKey([]byte(key), v.rows[key]); err == nil && k.Root.Number > 0 {
			other = k
		}
	}
	copied := gateway.Key{Last: other.Last, Root: other.Root}
	for name, c := range map[string]struct {
		key, value []byte
		who        string
	}{
		"a book of no event with a total":         {bookPrefix(tableBooks, gateway.BookName{Currency: "GBP", Tenant: "t", Source: "s"}), appendBook(nil, &book), "proof, verify"},
		"a book of nothing":                       {bookPrefix(tableBooks, gateway.BookName{Currency: "GBP", Tenant: "t", Source: "s"}), appendBook(nil, &gateway.Book{}), "proof, verify"},
		"a key of no event with another's root":   {nameKey(gateway.Name{Tenant: "t", Source: "s", Key: "never seen"}), appendKey(nil, &copied), "proof, verify"},
		"a key of nothing":                        {nameKey(gateway.Name{Tenant: "t", Source: "s", Key: "never seen"}), appendKey(nil, &gateway.Key{}), "proof, verify"},
		"a source without a record":               {sourcePrefix(tableSources, "t", "none"), appendSource(nil, &gateway.Source{}), "proof, verify"},
		"a capacity that no key has":              {capacityKey("t", "s", 9999), appendCount(nil, 0), "proof, verify"},
		"a count of an outbox that has no row":    {sourcePrefix(tableQueued, "t", "none"), appendQueued(nil, &store.OutboxCount{}), "proof, verify"},
		"a second id of an event":                 {idKey("ev_other"), v.rows[of(v.rows, tableIDs)[0]], "audit, verify"},
		"a key among those with repeats":          {repeatKey(gateway.BookName{Currency: "GBP", Tenant: "t", Source: "s"}, 3), appendRepeat(nil, &gateway.Hits{Count: 9}, "k0"), "proof, verify"},
		"a row that is due of no delivery":        {dueKey(&gateway.Delivery{Number: 3, Name: gateway.Name{Tenant: "t", Source: "s"}, Due: 5}), nil, "proof, verify"},
		"a dead letter of a tenant of no event":   {appendNumber(sourcePrefix(tableDead, "t", ""), 3), nil, "proof, verify"},
		"a body of a record that is no event's":   {bodyKey("t", "s", 5, 1), appendBody(nil, &gateway.Body{}), "audit, verify"},
		"a body of an event at another's source":  {bodyKey("t", "none", 5, lastNumber([]byte(of(v.rows, tableBodies)[0]))), appendBody(nil, &gateway.Body{}), "audit, verify"},
		"a delivery of an event that isn't there": {numbered(tableOutbox, 9999), v.rows[of(v.rows, tableOutbox)[0]], "proof, verify"},
	} {
		if who := v.told(t, func(b *lsm.Batch) { _ = b.Set(c.key, c.value, nil) }); who != c.who {
			t.Errorf("%s: told by %s, want %s", name, who, c.who)
		}
	}
}

// TestAHiddenDeliveryIsTold: an outbox of which nothing is found any more, or that is put off by a thousand years with all that it is found by.
func TestAHiddenDeliveryIsTold(t *testing.T) {
	v := newBesides(t)
	for name, table := range map[string]byte{"due": tableDue, "dead letters": tableDead, "held": tableHeld} {
		rows := of(v.rows, table)
		// Of dead letters the first row is by its tenant alone, the last by its source.
		for part, gone := range map[string][]string{"all of": rows, "the first row of": rows[:1], "the last row of": rows[len(rows)-1:]} {
			who := v.told(t, func(b *lsm.Batch) {
				for _, key := range gone {
					_ = b.Delete([]byte(key), nil)
				}
			})
			if who != "proof, verify" {
				t.Errorf("%s the index %q is gone: told by %s", part, name, who)
			}
		}
	}
	form := deliveryForm("", nil)
	who := v.told(t, func(b *lsm.Batch) {
		for _, key := range of(v.rows, tableOutbox) {
			was, _ := form.row([]byte(key), v.rows[key])
			if d := *was.(*gateway.Delivery); d.State == gateway.Waiting && d.Due != gateway.Held {
				d.Due += years
				form.write(b, []byte(key), was, &d)
			}
		}
	})
	if who != byVerify {
		t.Errorf("all are put off: told by %s", who)
	}
}

// TestABodyIsHeldAgainstItsDigest changes what a customer pays, of the same length, while the event waits.
func TestABodyIsHeldAgainstItsDigest(t *testing.T) {
	v := newBesides(t)
	changed := 0
	for _, key := range of(v.rows, tableBodies) {
		body, err := readBody([]byte(key), v.rows[key])
		if err != nil || len(body.Bytes) == 0 {
			continue
		}
		if changed++; changed > 5 {
			break
		}
		body.Bytes[len(body.Bytes)/2] ^= '7' ^ '9'
		if who := v.told(t, func(b *lsm.Batch) { _ = b.Set([]byte(key), appendBody(nil, body), nil) }); who != "audit, verify" {
			t.Errorf("the body of %d: told by %s", lastNumber([]byte(key)), who)
		}
	}
	if changed < 5 {
		t.Error("too few bodies")
	}
}
