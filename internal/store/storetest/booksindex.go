package storetest

import (
	"cmp"
	"fmt"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// compareIndex holds what rows are found by against the rows, and ids and bodies against the events.
func (f *folded) compareIndex(t Failer, v store.BooksView) {
	t.Helper()
	sameRows(t, rowsOf(t, v), f.index(t, v))
	ids, bodies := 0, 0
	for id, err := range v.IDs() {
		if e := f.events[must(id, err)(t).Number]; e == nil || e.ID != id.ID {
			t.Fatal("the id", id, "is of event", e)
		}
		ids++
	}
	if ids != len(f.events) {
		t.Fatal(ids, "ids of", len(f.events), "events")
	}
	for b, err := range v.Bodies() {
		e := f.events[must(b, err)(t).Number]
		kept := must(v.Body(b.Number))(t)
		if e == nil || e.Tenant != b.Tenant || e.Source != b.Source || recordOf(t, must(v.Record(b.Number))(t)).At != b.At || fmt.Sprint(*kept) != fmt.Sprint(*b.Body) {
			t.Fatal("the body", b, "is of event", e, "whose body is", kept)
		}
		bodies++
	}
	for number := range f.events {
		if must(v.Body(number))(t) != nil {
			bodies--
		}
	}
	if bodies != 0 {
		t.Fatal(bodies, "bodies more than events have one")
	}
}

func rowsOf(t Failer, v store.BooksView) (all []store.IndexRow) {
	for row, err := range v.Index() {
		all = append(all, *must(row, err)(t))
	}
	return all
}

// index is what the rows of a store must be found and counted by.
func (f *folded) index(t Failer, v store.BooksView) (all []store.IndexRow) {
	counts := map[store.IndexRow]int64{} // of capacities
	for k, err := range v.Keys("", "", "") {
		if must(k, err)(t); k.Registered {
			counts[store.IndexRow{Kind: store.IndexCapacity, Tenant: k.Tenant, Source: k.Source, Number: k.LRUCapacity}]++
		}
		for _, h := range k.Hits {
			if f.policy.Qualifies(h.Count) {
				all = append(all, store.IndexRow{
					Kind: store.IndexRepeats, Currency: h.Currency, Tenant: k.Tenant, Source: k.Source, Key: k.Name.Key, Number: h.Last.Seq, At: h.Last.SeenAt, Count: h.Count,
				})
			}
		}
	}
	for row, twin := range f.twins {
		row.Number, row.At, row.Key, row.ID = twin.Number, twin.At, twin.Key, twin.ID
		all = append(all, row)
	}
	for row, n := range counts {
		row.Count = n
		all = append(all, row)
	}
	queued, last := map[[2]string]store.IndexRow{}, map[[2]string]int64{}
	for d, err := range v.Deliveries() {
		must(d, err)(t)
		name := [2]string{d.Name.Tenant, d.Name.Source}
		q := queued[name]
		row := store.IndexRow{Kind: store.IndexDue, Tenant: d.Name.Tenant, Source: d.Name.Source, Number: d.Number}
		switch {
		case d.State == gateway.Dead:
			q.Dead++
			row.Kind = store.IndexDead
			all = append(all, store.IndexRow{Kind: store.IndexTenantDead, Tenant: d.Name.Tenant, Number: d.Number})
		case d.Due == gateway.Held:
			q.Waiting++
			row.Kind, row.Key = store.IndexHeld, d.Name.Key
		default:
			q.Waiting++
			row.At = d.Due
			last[name] = max(last[name], d.Due)
		}
		all = append(all, row)
		queued[name] = q
	}
	for n, q := range queued {
		all = append(all, store.IndexRow{Kind: store.IndexQueued, Tenant: n[0], Source: n[1], Waiting: q.Waiting, Dead: q.Dead})
	}
	for n := range queued {
		if got := must(v.LastDue(n[0], n[1]))(t); got != last[n] {
			t.Fatal("of", n, "the last row is due at", got, "want", last[n])
		}
	}
	return all
}

func sameRows(t Failer, got, want []store.IndexRow) {
	t.Helper()
	for _, list := range [][]store.IndexRow{got, want} {
		slices.SortFunc(list, func(a, b store.IndexRow) int { return cmp.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b)) })
	}
	if !slices.Equal(got, want) {
		t.Fatal("index", got, "want", want)
	}
}
