package online

import (
	"fmt"
	"iter"
	"reflect"
	"testing"

	"hapax/internal/audit"
	"hapax/internal/prove"
	"hapax/internal/store"
)

// told is a log whose store tells something else than the records say: one fact of one thing is changed.
type told struct {
	audit.Log
	head    func(*audit.StatedHead)
	sources func([]audit.StatedSource) []audit.StatedSource
	books   func([]audit.StatedBook) []audit.StatedBook
	entries func([]audit.StatedEntry) []audit.StatedEntry
	keys    func(*audit.StatedKey) (keep bool)
	rows    func(*audit.StatedRow) (times int)
	index   func(*audit.StatedIndex) (keep bool)
	more    int64 // capacity
}

func (l *told) Head() audit.StatedHead {
	h := l.Log.Head()
	if l.head != nil {
		l.head(&h)
	}
	return h
}

func (l *told) Sources() ([]audit.StatedSource, error) { return changed(l.Log.Sources, l.sources) }
func (l *told) Books() ([]audit.StatedBook, error)     { return changed(l.Log.Books, l.books) }

func (l *told) Ledger(currency, tenant, source string, limit int64) ([]audit.StatedEntry, error) {
	return changed(func() ([]audit.StatedEntry, error) { return l.Log.Ledger(currency, tenant, source, limit) }, l.entries)
}

func (l *told) Capacity(tenant, source string) (int64, error) {
	n, err := l.Log.Capacity(tenant, source)
	return n + l.more, err
}

func changed[T any](read func() ([]T, error), change func([]T) []T) ([]T, error) {
	all, err := read()
	if change != nil {
		all = change(all)
	}
	return all, err
}

func (l *told) Keys() iter.Seq2[*audit.StatedKey, error] {
	return func(yield func(*audit.StatedKey, error) bool) {
		for k, err := range l.Log.Keys() {
			if l.keys != nil && !l.keys(k) {
				continue
			}
			if !yield(k, err) {
				return
			}
		}
	}
}

func (l *told) Outbox() iter.Seq2[*audit.StatedRow, error] {
	return func(yield func(*audit.StatedRow, error) bool) {
		for row, err := range l.Log.Outbox() {
			times := 1
			if l.rows != nil {
				times = l.rows(row)
			}
			for range times {
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

func (l *told) Index() iter.Seq2[*audit.StatedIndex, error] {
	return func(yield func(*audit.StatedIndex, error) bool) {
		for i, err := range l.Log.Index() {
			if l.index != nil && !l.index(i) {
				continue
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

// without leaves out a row of the outbox with all that it is found and counted by.
func without(row audit.StatedRow) *told {
	return &told{
		rows: func(r *audit.StatedRow) int {
			if r.Number == row.Number {
				return 0
			}
			return 1
		},
		index: func(i *audit.StatedIndex) bool {
			switch i.Kind {
			case audit.IndexDue, audit.IndexHeld, audit.IndexDead, audit.IndexTenantDead:
				return i.Number != row.Number
			case audit.IndexQueued:
				if i.Tenant != row.Tenant || i.Source != row.Source {
					return true
				}
				if row.Dead {
					i.Dead--
				} else {
					i.Waiting--
				}
				return i.Dead+i.Waiting > 0
			}
			return true
		},
	}
}

// alter changes a field to another value of its kind.
func alter(f reflect.Value) {
	switch f.Kind() {
	case reflect.Int64:
		f.SetInt(f.Int() + 1)
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.String:
		other := map[string]string{"schema": "wire", "wire": "schema", "done": "pending", "pending": "done"}[f.String()]
		if other == "" {
			other = f.String() + "x"
		}
		f.SetString(other)
	case reflect.Array:
		f.Index(7).SetUint(f.Index(7).Uint() ^ 1)
	default:
		panic(f.Kind())
	}
}

// fieldsOf calls f for each field of a struct, those of its parts included, as something that changes that field of another one of its type.
func fieldsOf[T any](f func(name string, change func(*T))) {
	var walk func(t reflect.Type, name string, path []int)
	walk = func(t reflect.Type, name string, path []int) {
		for i := range t.NumField() {
			field, at := t.Field(i), append(append([]int{}, path...), i)
			switch {
			case field.Type.Kind() == reflect.Struct:
				walk(field.Type, name+"."+field.Name, at)
			case field.Type.Kind() != reflect.Slice:
				f(name+"."+field.Name, func(v *T) { alter(reflect.ValueOf(v).Elem().FieldByIndex(at)) })
			}
		}
	}
	walk(reflect.TypeFor[T](), reflect.TypeFor[T]().Name(), nil)
}

// TestNoFactBesideTheLogCanBeWrong changes each fact that a store keeps beside its log, leaves things out and adds some: the proof fails each time.
func TestNoFactBesideTheLogCanBeWrong(t *testing.T) {
	w, err := NewWorld(2, NewInMemory())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(80); err != nil {
		t.Fatal(err)
	}
	err = w.view(func(v store.BooksView) error {
		log := prove.Stated(v)
		tries := 0
		try := func(what string, l *told) {
			t.Helper()
			tries++
			l.Log = log
			for _, keys := range []int{0, 15} {
				proof, err := audit.ProveLog(t.Context(), l, audit.ProofOptions{Keys: keys})
				if err != nil {
					t.Fatal(err)
				}
				if proof.OK() {
					t.Errorf("%s, %d keys at a time: proved", what, keys)
				}
			}
		}
		wrongHead(try)
		wrongSourcesAndBooks(try)
		wrongKeys(t, log, try)
		wrongLedger(t, v, try)
		wrongOutbox(t, log, try)
		if tries < 70 {
			t.Errorf("only %d facts were changed", tries)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

type trial func(what string, l *told)

func wrongHead(try trial) {
	fieldsOf(func(name string, change func(*audit.StatedHead)) { try(name, &told{head: change}) })
}

func wrongSourcesAndBooks(try trial) {
	fieldsOf(func(name string, change func(*audit.StatedSource)) {
		try(name, &told{sources: func(all []audit.StatedSource) []audit.StatedSource { change(&all[1]); return all }})
	})
	try("a source left out", &told{sources: func(all []audit.StatedSource) []audit.StatedSource { return all[1:] }})
	try("a source twice", &told{sources: func(all []audit.StatedSource) []audit.StatedSource { return append(all, all[0]) }})
	try("a capacity", &told{more: 1})
	fieldsOf(func(name string, change func(*audit.StatedBook)) {
		try(name, &told{books: func(all []audit.StatedBook) []audit.StatedBook { change(&all[0]); return all }})
	})
	try("a book left out", &told{books: func(all []audit.StatedBook) []audit.StatedBook { return all[1:] }})
	try("a book twice", &told{books: func(all []audit.StatedBook) []audit.StatedBook { return append(all, all[0]) }})
}

func wrongKeys(t *testing.T, log audit.Log, try trial) {
	var rich audit.StatedKey // one of which all is kept
	for k, err := range log.Keys() {
		if err != nil {
			t.Fatal(err)
		}
		if k.Registered && k.Last > 0 && len(k.Hits) > 0 {
			rich = *k
		}
	}
	if rich.Key == "" {
		t.Fatal("no key of which all is kept")
	}
	is := func(k *audit.StatedKey) bool {
		return k.Tenant == rich.Tenant && k.Source == rich.Source && k.Key == rich.Key
	}
	on := func(change func(*audit.StatedKey)) *told {
		return &told{keys: func(k *audit.StatedKey) bool {
			if is(k) {
				change(k)
			}
			return true
		}}
	}
	fieldsOf(func(name string, change func(*audit.StatedKey)) { try(name, on(change)) })
	fieldsOf(func(name string, change func(*audit.StatedHits)) {
		try(name, on(func(k *audit.StatedKey) {
			k.Hits = append([]audit.StatedHits{}, k.Hits...)
			change(&k.Hits[0])
		}))
	})
	try("repeats left out", on(func(k *audit.StatedKey) { k.Hits = nil }))
	try("a key left out", &told{keys: func(k *audit.StatedKey) bool { return !is(k) }})
	try("a key that no record names", on(func(k *audit.StatedKey) { k.Key = "nobody" }))
}

func wrongLedger(t *testing.T, v store.BooksView, try trial) {
	books, err := v.Books()
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for _, b := range books {
		all, err := v.Repeated(b.Currency, b.BookName.Tenant, b.Source, 3)
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, len(all))
	}
	if longest < 2 {
		t.Fatal("no ledger of two entries")
	}
	fieldsOf(func(name string, change func(*audit.StatedEntry)) {
		for place := range 2 {
			try(fmt.Sprint(name, " of entry ", place), &told{entries: func(all []audit.StatedEntry) []audit.StatedEntry {
				if len(all) > place {
					change(&all[place])
				}
				return all
			}})
		}
	})
	try("entries left out", &told{entries: func(all []audit.StatedEntry) []audit.StatedEntry { return all[:len(all)/2] }})
	try("the most recent left out", &told{entries: func(all []audit.StatedEntry) []audit.StatedEntry { return all[min(1, len(all)):] }})
	try("entries turned round", &told{entries: func(all []audit.StatedEntry) []audit.StatedEntry {
		if len(all) > 1 {
			all[0], all[1] = all[1], all[0]
		}
		return all
	}})
}

func wrongOutbox(t *testing.T, log audit.Log, try trial) {
	var waiting, held, dead audit.StatedRow
	for row, err := range log.Outbox() {
		switch {
		case err != nil:
			t.Fatal(err)
		case row.Dead:
			dead = *row
		case row.Held:
			held = *row
		default:
			waiting = *row
		}
	}
	if waiting.Number == 0 || held.Number == 0 || dead.Number == 0 {
		t.Fatal("the outbox has no row of each kind")
	}
	on := func(number int64, change func(*audit.StatedRow) int) *told {
		return &told{rows: func(row *audit.StatedRow) int {
			if row.Number == number {
				return change(row)
			}
			return 1
		}}
	}
	// No record tells these (docs/log.md, Beside the log): the test of the store's folder shows what bounds them.
	unrecorded := map[string]bool{"StatedRow.Attempts": true, "StatedRow.Sends": true, "StatedRow.IntervalMs": true, "StatedRow.LastMs": true}
	fieldsOf(func(name string, change func(*audit.StatedRow)) {
		if unrecorded[name] {
			return
		}
		if name == "StatedRow.Reason" { // of a row that waits it says how the last try failed
			try(name, on(dead.Number, func(row *audit.StatedRow) int { change(row); return 1 }))
			return
		}
		try(name+" of a row that waits", on(waiting.Number, func(row *audit.StatedRow) int { change(row); return 1 }))
		if name != "StatedRow.Due" { // a dead letter waits for nothing
			try(name+" of a dead letter", on(dead.Number, func(row *audit.StatedRow) int { change(row); return 1 }))
		}
	})
	for _, row := range []audit.StatedRow{waiting, held, dead} {
		try("a row left out", on(row.Number, func(*audit.StatedRow) int { return 0 }))
		try("a row left out, with all that it is found by", without(row))
		try("a row twice", on(row.Number, func(*audit.StatedRow) int { return 2 }))
	}
}
