package gateway_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
	"hapax/internal/store/storetest"
)

// rig is a log with one source "s" of a tenant "t", on the oracle of the stores, with a clock in Unix ms.
type rig struct {
	t   *testing.T
	s   *memory.Store
	now int64
	ids int
}

// open is a source of which nothing is special: keys register themselves, a window of 120 s.
var open = gateway.Settings{WindowS: 120, Scope: settle.ScopeSchema, LRUCapacity: 10, Open: true, Parts: 1}

func with(change func(*gateway.Settings)) gateway.Settings {
	s := open
	change(&s)
	return s
}

var forwarded = with(func(s *gateway.Settings) { s.Forward = true })

func newRig(t *testing.T, s gateway.Settings) *rig { return ruledRig(t, settle.Policy{}, s) }

// ruledRig checks at the end of the test that the books equal a fold over the log and that settling the log gives the online figures.
func ruledRig(t *testing.T, p settle.Policy, s gateway.Settings) *rig {
	t.Helper()
	r := &rig{t: t, s: memory.New(), now: 1_000_000_000}
	r.done(&gateway.SetPolicy{Policy: p})
	r.done(source(s))
	t.Cleanup(func() {
		r.view(func(v store.BooksView) { storetest.FoldsTo(t, v); storetest.SettlesTo(t, v) })
	})
	return r
}

func source(s gateway.Settings) gateway.Command {
	return &gateway.SetSource{Tenant: "t", Source: "s", Settings: s}
}

func key(k string) gateway.Name { return gateway.Name{Tenant: "t", Source: "s", Key: k} }

func (r *rig) enter(c ...gateway.Command) []gateway.Outcome {
	r.t.Helper()
	out, err := r.s.Enter(context.Background(), r.now, c)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) want(kind gateway.Kind, c gateway.Command) gateway.Outcome {
	r.t.Helper()
	o := r.enter(c)[0]
	if o.Kind != kind {
		r.t.Fatalf("%T %+v: kind %d, want %d", c, c, o.Kind, kind)
	}
	return o
}

func (r *rig) done(c gateway.Command) gateway.Outcome {
	r.t.Helper()
	return r.want(gateway.Done, c)
}

func (r *rig) view(f func(store.BooksView)) {
	r.t.Helper()
	if err := r.s.ViewBooks(context.Background(), func(v store.BooksView) error { f(v); return nil }); err != nil {
		r.t.Fatal(err)
	}
}

// pass lets time go by, in seconds.
func (r *rig) pass(s int64) { r.now += s * 1000 }

// event makes a delivery of 1.00 XXX with a fresh id; all of a key have one content.
func (r *rig) event(k string, change ...func(*gateway.Event)) *gateway.Event {
	r.ids++
	e := storetest.NewEvent(key(k), fmt.Sprintf("ev_%d", r.ids))
	for _, f := range change {
		f(e)
	}
	return e
}

func amount(text, currency string) func(*gateway.Event) {
	return func(e *gateway.Event) {
		e.Amount, e.Currency = text, currency
		e.Value, e.AmountOK = settle.ParseAmount([]byte(text))
	}
}

func content(text string) func(*gateway.Event) {
	return func(e *gateway.Event) { e.Fingerprint = sha256.Sum256([]byte(text)) }
}

func strict(e *gateway.Event) { e.Strict = true }

func pending(e *gateway.Event) { e.State = settle.StatePending }

// seen names the time of an event, in seconds from the rig's first moment.
func seen(s int64) func(*gateway.Event) {
	return func(e *gateway.Event) { e.Named, e.SeenAt = true, 1_000_000+s }
}

func scope(s settle.Scope) func(*gateway.Event) { return func(e *gateway.Event) { e.Scope = s } }

// judged delivers an event and expects a decision.
func (r *rig) judged(want gateway.Decision, e *gateway.Event) gateway.Outcome {
	r.t.Helper()
	o := r.done(e)
	if o.Decision != want {
		r.t.Fatalf("%s of %q: %v, want %v (%+v)", e.ID, e.Key, o.Decision, want, o)
	}
	return o
}

// last returns the last record, which is of a certain kind.
func last[T gateway.Record](r *rig) (record T) {
	r.t.Helper()
	r.view(func(v store.BooksView) { record = read[T](r, v, v.Head().Number) })
	return record
}

func read[T gateway.Record](r *rig, v store.BooksView, number int64) T {
	r.t.Helper()
	text, err := v.Record(number)
	if err != nil {
		r.t.Fatal(err)
	}
	entry, err := gateway.ReadRecord(text)
	if err != nil {
		r.t.Fatal(err)
	}
	record, ok := entry.Record.(T)
	if !ok {
		r.t.Fatalf("record %d is a %T", number, entry.Record)
	}
	return record
}

func (r *rig) key(k string) (got gateway.Key) {
	r.view(func(v store.BooksView) { got, _ = v.Key(key(k)) })
	return got
}

func (r *rig) book(currency string) (b gateway.Book) {
	r.view(func(v store.BooksView) {
		books, _ := v.Books()
		for _, n := range books {
			if n.BookName == (gateway.BookName{Currency: currency, Tenant: "t", Source: "s"}) {
				b = n.Book
			}
		}
	})
	return b
}

func (r *rig) delivery(number int64) (d *gateway.Delivery) {
	r.view(func(v store.BooksView) { d, _ = v.Delivery(number) })
	return d
}

func eventAt(r *rig, number int64) (e *gateway.EventRecord) {
	r.t.Helper()
	r.view(func(v store.BooksView) { e = read[*gateway.EventRecord](r, v, number) })
	return e
}

func (r *rig) head() (h gateway.Head) {
	r.view(func(v store.BooksView) { h = v.Head() })
	return h
}
