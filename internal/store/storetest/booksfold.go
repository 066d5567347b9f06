package storetest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// folded is what the records alone say, put together in the plainest way: not by the rule, which wrote them.
type folded struct {
	accepted int64
	policy   settle.Policy
	sources  map[[2]string]*gateway.Source
	keys     map[gateway.Name]*gateway.Key
	books    map[gateway.BookName]*gateway.Book
	outbox   map[int64]gateway.DeliveryState
	events   map[int64]*gateway.EventRecord
	twins    map[store.IndexRow]store.IndexRow // by source, generation and digest
}

// FoldsTo holds a view's rows against a fold over its records, and the chain of their hashes against its head.
func FoldsTo(t Failer, v store.BooksView) {
	t.Helper()
	f := &folded{
		sources: map[[2]string]*gateway.Source{}, keys: map[gateway.Name]*gateway.Key{}, books: map[gateway.BookName]*gateway.Book{},
		outbox: map[int64]gateway.DeliveryState{}, events: map[int64]*gateway.EventRecord{},
		twins: map[store.IndexRow]store.IndexRow{},
	}
	var hash gateway.Hash
	for record, err := range v.Records(0) {
		entry := recordOf(t, must(record, err)(t))
		if entry.Before != hash {
			t.Fatal("record", entry.Number, "doesn't hold the hash of the one before")
		}
		hash = gateway.HashOf(record)
		f.add(&entry)
	}
	if h := v.Head(); h.Hash != hash || h.Policy != f.policy || h.Accepted != f.accepted {
		t.Fatal("the head is", h, "the records say", hash, f.policy, f.accepted)
	}
	f.compare(t, v)
	f.compareIndex(t, v)
}

func (f *folded) key(n gateway.Name) *gateway.Key {
	if f.keys[n] == nil {
		f.keys[n] = &gateway.Key{}
	}
	return f.keys[n]
}

func (f *folded) add(e *gateway.Entry) {
	switch r := e.Record.(type) {
	case *gateway.PolicyRecord:
		f.policy = r.Policy
	case *gateway.SourceRecord:
		n := [2]string{r.Tenant, r.Source}
		if f.sources[n] == nil {
			f.sources[n] = &gateway.Source{}
		}
		if s := f.sources[n]; s.Guard != r.Guard || s.GuardS != r.GuardS {
			s.Generation = 0
			f.dropTwins(r.Tenant, r.Source, math.MaxInt64)
		}
		f.sources[n].Settings = r.Settings
	case *gateway.RegisterRecord:
		k := f.key(r.Name)
		k.Registered, k.Scope, k.WindowS, k.LRUCapacity, k.Since = true, r.Scope, r.WindowS, r.LRUCapacity, e.Number
	case *gateway.UnregisterRecord:
		delete(f.keys, r.Name)
	case *gateway.EventRecord:
		f.event(e.Number, r)
		f.twin(e, r)
	case *gateway.DeliveryRecord:
		f.delivery(r)
	case *gateway.LossRecord:
		f.accepted = e.Number
	}
}

// twin keeps what was accepted with a body at a guarded source, for two generations.
func (f *folded) twin(e *gateway.Entry, r *gateway.EventRecord) {
	s := f.sources[[2]string{r.Tenant, r.Source}]
	if s.Guard == gateway.GuardOff || r.Decision != gateway.Accept && r.Twin == 0 {
		return
	}
	if g := e.At / (s.GuardS * 1000); g > s.Generation {
		s.Generation = g
		f.dropTwins(r.Tenant, r.Source, g-1)
	}
	if r.Decision == gateway.Accept {
		row := store.IndexRow{Kind: store.IndexTwin, Tenant: r.Tenant, Source: r.Source, Generation: s.Generation, Digest: r.Digest}
		f.twins[row] = store.IndexRow{Number: e.Number, At: e.At, Key: r.Key, ID: r.ID}
	}
}

func (f *folded) dropTwins(tenant, source string, before int64) {
	maps.DeleteFunc(f.twins, func(row, _ store.IndexRow) bool {
		return row.Tenant == tenant && row.Source == source && row.Generation < before
	})
}

func (f *folded) event(number int64, r *gateway.EventRecord) {
	f.events[number] = r
	f.sources[[2]string{r.Tenant, r.Source}].Events++
	k, n := f.key(r.Name), gateway.BookName{Currency: r.Currency, Tenant: r.Tenant, Source: r.Source}
	k.Events++
	k.LastEvent = number
	if f.books[n] == nil {
		f.books[n] = &gateway.Book{}
	}
	b := f.books[n]
	amount, _ := settle.ParseAmount([]byte(r.Amount))
	counts := &b.Totals.Counts
	switch r.Decision {
	case gateway.UnknownKey:
		counts.UnknownKey++
		return
	case gateway.BadAmount:
		counts.BadAmount++
		return
	case gateway.Mismatch:
		b.Mismatches++
		return
	case gateway.Accept:
		counts.Accept++
		b.Totals.Accepted.Add(amount)
		b.Tenant.Accepted++
		b.Tenant.Total.Add(amount)
		k.Accepted++
		k.Repeats = 0
		k.Root = gateway.Root{Number: number, ID: r.ID, Fingerprint: r.Fingerprint, Forwarded: r.Forwarded}
	case gateway.DuplicatePending, gateway.DuplicateDone:
		b.Totals.Deduped.Add(amount)
		if r.Decision == gateway.DuplicateDone {
			counts.DuplicateDone++
		} else {
			counts.DuplicatePending++
		}
		f.repeat(k, number, r)
	}
	k.Last = gateway.Predecessor{Number: number, SeenAt: r.SeenAt, Scope: r.Scope, Currency: r.Currency, Said: r.State}
	if r.Forwarded {
		f.outbox[number] = gateway.Waiting
		k.Waiting++
	}
}

func (f *folded) repeat(k *gateway.Key, number int64, r *gateway.EventRecord) {
	k.Repeats++
	at := slices.IndexFunc(k.Hits, func(h gateway.Hits) bool { return h.Currency == r.Currency })
	if at < 0 {
		at = len(k.Hits)
		k.Hits = append(k.Hits, gateway.Hits{Currency: r.Currency})
	}
	k.Hits[at].Count++
	k.Hits[at].Last = settle.Recency{LRURank: number, SeenAt: r.SeenAt, Seq: number}
}

func (f *folded) delivery(r *gateway.DeliveryRecord) {
	k := f.key(f.events[r.Event].Name)
	switch r.What {
	case gateway.Delivered:
		delete(f.outbox, r.Event)
		k.Waiting--
		if k.Root.Number == r.Event {
			k.Root.Delivered = true
		}
	case gateway.Died:
		f.outbox[r.Event] = gateway.Dead
		k.Waiting--
	case gateway.Discarded:
		delete(f.outbox, r.Event)
	case gateway.Revived:
		f.outbox[r.Event] = gateway.Waiting
		k.Waiting++
	}
}

func (f *folded) compare(t Failer, v store.BooksView) {
	t.Helper()
	for _, s := range must(v.Sources())(t) {
		n := [2]string{s.Tenant, s.Name}
		if f.sources[n] == nil || *f.sources[n] != s.Source {
			t.Fatal("source", s, "the records say", f.sources[n])
		}
		delete(f.sources, n)
	}
	for k, err := range v.Keys("", "", "") {
		want := f.keys[must(k, err)(t).Name]
		if want == nil || fmt.Sprint(*want) != fmt.Sprint(k.Key) {
			t.Fatal("key", k, "the records say", want)
		}
		delete(f.keys, k.Name)
	}
	for _, b := range must(v.Books())(t) {
		if f.books[b.BookName] == nil || *f.books[b.BookName] != b.Book {
			t.Fatal("book", b, "the records say", f.books[b.BookName])
		}
		delete(f.books, b.BookName)
	}
	if len(f.sources)+len(f.keys)+len(f.books) > 0 {
		t.Fatal("the records say more:", f.sources, f.keys, f.books)
	}
	outbox, first := map[int64]gateway.DeliveryState{}, map[gateway.Name]bool{}
	for d, err := range v.Deliveries() {
		outbox[must(d, err)(t).Number] = d.State
		e := f.events[d.Number]
		if e == nil || e.Name != d.Name || e.ID != d.ID {
			t.Fatal("delivery", d, "of event", e)
		}
		if d.State == gateway.Waiting && d.Due != gateway.Held {
			if first[d.Name] {
				t.Fatal("two events of one key are to be sent at a time:", d)
			}
			first[d.Name] = true
		}
	}
	if !maps.Equal(outbox, f.outbox) {
		t.Fatal("outbox", outbox, "the records say", f.outbox)
	}
	for d, err := range v.Deliveries() {
		if must(d, err)(t); d.State == gateway.Waiting && !first[d.Name] {
			t.Fatal("nothing of the key is to be sent:", d)
		}
	}
}
