package storetest

import (
	"cmp"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// exported is an event as an export has it: with the state that its successor was measured against.
type exported struct {
	*gateway.EventRecord
	settle.Event
}

// SettlesTo settles the events of each currency by package settle alone, in the contract's order, and expects what the books say: online equals batch.
func SettlesTo(t Failer, v store.BooksView) {
	t.Helper()
	log := readLog(t, v)
	totals, tenants, keys := map[gateway.BookName]*settle.Totals{}, map[gateway.BookName]*settle.Tenant{}, map[gateway.BookName]map[string]*settle.KeyBook{}
	for _, e := range log.events {
		n := gateway.BookName{Currency: e.Currency, Tenant: e.Tenant, Source: e.Source}
		if totals[n] == nil {
			totals[n], tenants[n], keys[n] = &settle.Totals{}, &settle.Tenant{}, map[string]*settle.KeyBook{}
		}
		if keys[n][e.Key] == nil {
			keys[n][e.Key] = &settle.KeyBook{}
		}
		o := keys[n][e.Key].Take(&log.policy, log.registration(e), &e.Event)
		totals[n].Add(tenants[n], o, &e.Event)
		if o.Decision.String() != e.Decision.String() {
			t.Fatal("settled, event", e.Seq, "is", o.Decision, "online", e.Decision)
		}
	}
	for _, b := range must(v.Books())(t) {
		want, tenant := totals[b.BookName], tenants[b.BookName]
		if want == nil { // mismatches only
			want, tenant = &settle.Totals{}, &settle.Tenant{}
		}
		if b.Book.Totals != *want || b.Book.Tenant != *tenant {
			t.Fatal("book", b, "settled:", *want, *tenant)
		}
		shelf := settle.NewShelf(must(v.Capacity(b.BookName.Tenant, b.BookName.Source))(t))
		for key, k := range keys[b.BookName] {
			if log.policy.Qualifies(k.Hits) {
				shelf.Offer(settle.Entry{Tenant: b.BookName.Tenant, Source: b.BookName.Source, DedupeKey: key, Hits: k.Hits, Recency: k.LastHit})
			}
		}
		ledger, settled := ledgerOf(t, v, b.BookName), slices.Clone(shelf.Entries())
		settle.SortLedger(ledger)
		settle.SortLedger(settled)
		if !slices.Equal(ledger, settled) {
			t.Fatal("ledger", ledger, "settled:", settled)
		}
	}
}

// logOf is a log as the settlement needs it.
type logOf struct {
	policy   settle.Policy
	events   []*exported
	keys     map[gateway.Name][]settle.Registration
	windows  map[[2]string][]settle.Registration // of sources: only Since and WindowS count
	standing map[int64]*exported
}

func readLog(t Failer, v store.BooksView) *logOf {
	t.Helper()
	l := &logOf{keys: map[gateway.Name][]settle.Registration{}, windows: map[[2]string][]settle.Registration{}, standing: map[int64]*exported{}}
	for record, err := range v.Records(0) {
		entry := recordOf(t, must(record, err)(t))
		switch r := entry.Record.(type) {
		case *gateway.PolicyRecord:
			l.policy = r.Policy
		case *gateway.SourceRecord:
			n := [2]string{r.Tenant, r.Source}
			l.windows[n] = append(l.windows[n], settle.Registration{Since: entry.Number, WindowS: r.WindowS})
		case *gateway.RegisterRecord:
			l.keys[r.Name] = append(l.keys[r.Name], settle.Registration{Since: entry.Number, Scope: r.Scope, WindowS: r.WindowS, LRUCapacity: r.LRUCapacity})
		case *gateway.UnregisterRecord:
			delete(l.keys, r.Name)
		case *gateway.EventRecord:
			l.event(t, entry.Number, r, v)
		}
	}
	slices.SortStableFunc(l.events, func(a, b *exported) int { return cmp.Or(a.Event.Compare(&b.Event), cmp.Compare(a.Seq, b.Seq)) })
	return l
}

// event adds one that takes part in the books, and tells its predecessor the state in which it was.
func (l *logOf) event(t Failer, number int64, r *gateway.EventRecord, v store.BooksView) {
	if r.Decision == gateway.Mismatch {
		return
	}
	amount, ok := settle.ParseAmount([]byte(r.Amount))
	e := &exported{EventRecord: r, Event: settle.Event{
		Seq: number, SeenAt: r.SeenAt, LRURank: number, Amount: amount, AmountOK: ok && r.AmountOK, Scope: r.Said,
	}}
	l.events = append(l.events, e)
	if r.Decision.Rejected() {
		return
	}
	if before := l.standing[r.Predecessor]; before != nil {
		before.Event.State = r.PredecessorState
	}
	k := must(v.Key(r.Name))(t)
	e.Event.State = k.State()
	l.standing[number] = e
}

// registration is the row that stands for an event, with the window of its source where it has none of its own.
func (l *logOf) registration(e *exported) *settle.Registration {
	var stands *settle.Registration
	for i := range l.keys[e.Name] {
		if r := &l.keys[e.Name][i]; r.Since <= e.Seq {
			stands = r
		}
	}
	if stands == nil {
		return nil
	}
	effective := *stands
	for _, w := range l.windows[[2]string{e.Tenant, e.Source}] {
		if stands.WindowS == 0 && w.Since <= e.Seq {
			effective.WindowS = w.WindowS
		}
	}
	return &effective
}
