package pebble

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// gatewayTables are those that a commit of the gateway keeps in step. Bodies may be missing: they are erased.
const gatewayTables = "glekbsodwxqnh"

// filledBooks makes a closed store with rows in every table of the gateway.
func filledBooks(t *testing.T) (*vfs.MemFS, map[string][]byte) {
	t.Helper()
	at := spot{dir: "/data", opts: small()}
	fs := vfs.NewMem()
	at.opts.FS = fs
	s := at.open(t)
	load := newBookLoad(4, 0)
	for range 12 {
		if err := load.enter(s); err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string][]byte{}
	for row, err := range scan(s.db, []byte{'a'}, []byte{'z'}) {
		if err != nil {
			t.Fatal(err)
		}
		rows[string(row[0])] = bytes.Clone(row[1])
	}
	closed(t, s)
	for _, table := range gatewayTables + "t" {
		if len(of(rows, byte(table))) == 0 {
			t.Fatalf("no row in table %c", table)
		}
	}
	sound(t, fs)
	return fs, rows
}

func of(rows map[string][]byte, table byte) (keys []string) {
	for key := range rows {
		if key[0] == table {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// planted verifies a copy of a store after a change behind its back.
func planted(t *testing.T, fs *vfs.MemFS, change func(*lsm.Batch)) *Report {
	t.Helper()
	at := spot{dir: "/data", opts: small()}
	at.opts.FS = cloned(t, spot{opts: Options{FS: fs}})
	s := at.open(t)
	s.edit(t, change)
	closed(t, s)
	rep, err := Verify(t.Context(), "/data", at.opts)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestVerifyMissesNoRowOfTheBooks removes every row that a commit of the gateway writes, one by one: half a commit can't look whole.
func TestVerifyMissesNoRowOfTheBooks(t *testing.T) {
	fs, rows := filledBooks(t)
	for _, table := range gatewayTables {
		for i, key := range of(rows, byte(table)) {
			if testing.Short() && i > 1 {
				break
			}
			rep := planted(t, fs, func(b *lsm.Batch) { _ = b.Delete([]byte(key), nil) })
			if rep.OK() || len(rep.Faults) == 0 {
				t.Errorf("row %q of table %c is gone: %+v", key[1:], table, rep)
			}
		}
	}
}

// TestVerifyFindsInTheBooks plants what no commit writes.
func TestVerifyFindsInTheBooks(t *testing.T) {
	fs, rows := filledBooks(t)
	row := func(n int64) []byte { return rows[string(numbered(tableLog, n))] }
	last := int64(len(of(rows, tableLog)))
	set := func(b *lsm.Batch, key, value []byte) { _ = b.Set(key, value, nil) }
	forged := func(n int64, change func(*gateway.Entry)) []byte {
		e, err := gateway.ReadRecord(row(n))
		if err != nil {
			t.Fatal(err)
		}
		change(&e)
		return gateway.AppendRecord(nil, e.Number, e.Before, e.At, e.Record)
	}
	type plant struct {
		name  string
		do    func(*lsm.Batch)
		count func(*Report) int64
		says  string
	}
	chain := func(r *Report) int64 { return r.BrokenChain }
	plants := []plant{
		{"two records swapped", func(b *lsm.Batch) {
			set(b, numbered(tableLog, 7), row(8))
			set(b, numbered(tableLog, 8), row(7))
		}, chain, "record 7 says that it is 8"},
		{"a record after the last", func(b *lsm.Batch) {
			set(b, numbered(tableLog, last+1), gateway.AppendRecord(nil, last+1, gateway.HashOf(row(last)), 1, &gateway.UnregisterRecord{}))
		}, chain, fmt.Sprint("the log ends at record ", last+1)},
		{"the last record rewritten", func(b *lsm.Batch) { set(b, numbered(tableLog, last), forged(last, func(e *gateway.Entry) { e.At++ })) }, chain, "the log ends at"},
		{"a record of another time", func(b *lsm.Batch) { set(b, numbered(tableLog, 5), forged(5, func(e *gateway.Entry) { e.At++ })) }, chain, "record 6 or the one before was changed"},
		{"a body of no event", func(b *lsm.Batch) { set(b, bodyKey("t", "s", 5, 1), appendBody(nil, &gateway.Body{})) }, func(r *Report) int64 { return r.WrongIndexes }, "the body of 1 is of no event"},
		{"a book that counts one more", func(b *lsm.Batch) {
			key := of(rows, tableBooks)[0]
			k, _ := readBook([]byte(key), rows[key])
			k.Mismatches++
			set(b, []byte(key), appendBook(nil, &k))
		}, func(r *Report) int64 { return r.WrongSums }, "the books counted"},
		{"a delivery of another event", func(b *lsm.Batch) {
			key := of(rows, tableOutbox)[0]
			d, _ := readDelivery([]byte(key), rows[key])
			d.ID = "ev_other"
			set(b, []byte(key), appendDelivery(nil, &d))
		}, func(r *Report) int64 { return r.WrongIndexes }, "of no event that is to be sent"},
	}
	for _, table := range "lkbsogxqnht" { // the value of any row cut short, and a row more in each index
		key := of(rows, byte(table))[0]
		value := rows[key]
		if len(value) > 0 && table != 'h' && table != 't' {
			plants = append(plants, plant{fmt.Sprintf("a row of %c that is cut", table), func(b *lsm.Batch) { set(b, []byte(key), value[:len(value)-1]) }, func(r *Report) int64 { return r.Unreadable + r.BrokenChain }, ""})
		}
	}
	for _, table := range "edwxhnq" {
		key := of(rows, byte(table))[0]
		plants = append(plants, plant{fmt.Sprintf("a row of %c more", table), func(b *lsm.Batch) {
			more := []byte(key)
			if more[len(more)-1]++; table == 'q' {
				more = sourcePrefix(tableQueued, "t", "none")
			}
			set(b, more, rows[key])
		}, func(r *Report) int64 { return r.WrongIndexes + r.WrongSums }, ""})
	}
	for _, c := range plants {
		t.Run(c.name, func(t *testing.T) {
			rep := planted(t, fs, c.do)
			if rep.OK() || c.count(rep) == 0 || !strings.Contains(strings.Join(rep.Faults, "\n"), c.says) {
				t.Fatalf("%+v", rep)
			}
		})
	}
}

// booksOf is all that lies in the tables of the gateway.
func booksOf(t *testing.T, s *Store) (all string) {
	t.Helper()
	err := s.ViewBooks(t.Context(), func(v store.BooksView) error {
		for row, err := range scan(v.(*booksView).r, []byte{'a'}, []byte{'z'}) {
			if err != nil {
				return err
			}
			if strings.IndexByte(gatewayTables+"t", row[0][0]) >= 0 {
				all += fmt.Sprintf("%x %x\n", row[0], row[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBooksBackedUp: a backup of a store in use, and one of a closed store, hold log, books, outbox and bodies; what is restored has a new epoch, and its log
// goes on from its head.
func TestBooksBackedUp(t *testing.T) {
	at := spot{dir: "/data", opts: small()}
	at.opts.FS = vfs.NewMem()
	s := at.open(t)
	load := newBookLoad(8, 0)
	for range 20 {
		if err := load.enter(s); err != nil {
			t.Fatal(err)
		}
	}
	want, epoch := booksOf(t, s), s.Identity().Epoch
	if err := s.Checkpoint(t.Context(), "/hot", 0); err != nil {
		t.Fatal(err)
	}
	if err := load.enter(s); err != nil { // the original goes on
		t.Fatal(err)
	}
	closed(t, s)
	if err := Backup(t.Context(), "/hot", "/cold", at.opts); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"/hot", "/cold"} {
		to := from + "-restored"
		if err := Restore(t.Context(), from, to, at.opts); err != nil {
			t.Fatal(err)
		}
		back, err := Open(to, at.opts)
		if err != nil {
			t.Fatal(err)
		}
		if booksOf(t, back) != want || back.Identity().Epoch == epoch {
			t.Errorf("%s: epoch %s, was %s; other books", to, back.Identity().Epoch, epoch)
		}
		var head gateway.Head
		if err := back.ViewBooks(t.Context(), func(v store.BooksView) error { head = v.Head(); return nil }); err != nil {
			t.Fatal(err)
		}
		out, err := back.Enter(t.Context(), load.now, []gateway.Command{&gateway.Register{Name: gateway.Name{Tenant: "t", Source: "s", Key: "new"}, Scope: 1}})
		if err != nil || out[0].Number != head.Number+1 {
			t.Errorf("%s goes on with %+v after %d, %v", to, out, head.Number, err)
		}
		closed(t, back)
		rep, err := Verify(t.Context(), to, at.opts)
		if err != nil || !rep.OK() || rep.Records != head.Number+1 {
			t.Errorf("%s: %+v, %v", to, rep, err)
		}
	}
}

// TestBooksCutsCanFail: commits of the gateway that don't wait for the disk lose what was told of them.
func TestBooksCutsCanFail(t *testing.T) {
	for _, unsynced := range []bool{false, true} {
		fs, told := vfs.NewCrashableMem(), newAcked()
		o := small()
		o.FS, o.unsynced = fs, unsynced
		s := spot{dir: "/data", opts: o}.open(t)
		load := newBookLoad(2, 0)
		for range 10 {
			if err := load.enter(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := told.sawBooks(s); err != nil {
			t.Fatal(err)
		}
		o.FS = fs.CrashClone(vfs.CrashCloneCfg{})
		closed(t, s)
		again := spot{dir: "/data", opts: o}.open(t)
		if lost := told.lostBooks(t, again, true); (lost > 0) != unsynced {
			t.Errorf("unsynced %v: %d lost", unsynced, lost)
		}
		closed(t, again)
	}
}
