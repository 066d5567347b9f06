package memory

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// booksView answers from the maps; what another store has an index for is found by looking at everything.
type booksView struct{ b *books }

func (v booksView) Head() gateway.Head {
	h := v.b.head
	h.Proof.Issues = slices.Clone(h.Proof.Issues)
	return h
}

func (v booksView) Records(after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for n := max(after, 0); n < int64(len(v.b.log)); n++ {
			if !yield(bytes.Clone(v.b.log[n]), nil) {
				return
			}
		}
	}
}

func (v booksView) Record(number int64) ([]byte, error) {
	if number < 1 || number > int64(len(v.b.log)) {
		return nil, nil
	}
	return bytes.Clone(v.b.log[number-1]), nil
}

func (v booksView) TenantEvents(tenant string, before int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for n := min(before-1, int64(len(v.b.log))); n > 0; n-- {
			b, err := gateway.ReadBrief(v.b.log[n-1])
			if err != nil || b.Event && string(b.Tenant) == tenant {
				if !yield(n, err) || err != nil {
					return
				}
			}
		}
	}
}

func (v booksView) Number(id string) (int64, error) { return v.b.ids[id], nil }

func (v booksView) Body(number int64) (*gateway.Body, error) {
	if k, ok := v.b.bodies[number]; ok {
		return cloneBody(k.body), nil
	}
	return nil, nil
}

func (v booksView) Sources() (all []store.NamedSource, err error) {
	for n, s := range v.b.sources {
		all = append(all, store.NamedSource{Tenant: n.tenant, Name: n.name, Source: s})
	}
	slices.SortFunc(all, func(a, b store.NamedSource) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func (v booksView) Key(n gateway.Name) (gateway.Key, error) { return cloneKey(v.b.keys[n]), nil }

func (v booksView) Keys(tenant, source, after string) iter.Seq2[store.NamedKey, error] {
	all := tenant == "" && source == ""
	names := slices.SortedFunc(maps.Keys(v.b.keys), func(a, b gateway.Name) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Key, b.Key))
	})
	return func(yield func(store.NamedKey, error) bool) {
		for _, n := range names {
			if !all && (n.Tenant != tenant || n.Source != source || n.Key <= after) {
				continue
			}
			if !yield(store.NamedKey{Name: n, Key: cloneKey(v.b.keys[n])}, nil) {
				return
			}
		}
	}
}

func (v booksView) Capacity(tenant, source string) (most int64, err error) {
	for n, k := range v.b.keys {
		if k.Registered && n.Tenant == tenant && n.Source == source {
			most = max(most, k.LRUCapacity)
		}
	}
	return most, nil
}

func (v booksView) Books() (all []store.NamedBook, err error) {
	for n, b := range v.b.sums {
		all = append(all, store.NamedBook{BookName: n, Book: b})
	}
	slices.SortFunc(all, func(a, b store.NamedBook) int {
		return cmp.Or(cmp.Compare(a.BookName.Currency, b.BookName.Currency), cmp.Compare(a.BookName.Tenant, b.BookName.Tenant), cmp.Compare(a.BookName.Source, b.BookName.Source))
	})
	return all, nil
}

func (v booksView) Repeated(currency, tenant, source string, limit int64) (all []settle.Entry, err error) {
	for n, k := range v.b.keys {
		for _, h := range k.Hits {
			if h.Currency == currency && n.Tenant == tenant && n.Source == source && v.b.head.Policy.Qualifies(h.Count) {
				all = append(all, settle.Entry{Tenant: n.Tenant, Source: n.Source, DedupeKey: n.Key, Hits: h.Count, Recency: h.Last})
			}
		}
	}
	slices.SortFunc(all, func(a, b settle.Entry) int { return b.Compare(&a) })
	return all[:min(int64(len(all)), max(limit, 0))], nil
}

func (v booksView) Delivery(number int64) (*gateway.Delivery, error) {
	if d, ok := v.b.deliveries[number]; ok {
		d = cloneDelivery(d)
		return &d, nil
	}
	return nil, nil
}

// where returns the outbox rows of which keep holds, by rising number.
func (v booksView) where(keep func(*gateway.Delivery) bool) (some []gateway.Delivery) {
	for _, n := range slices.Sorted(maps.Keys(v.b.deliveries)) {
		if d := v.b.deliveries[n]; keep(&d) {
			some = append(some, cloneDelivery(d))
		}
	}
	return some
}

func (v booksView) Due(tenant, source string, at int64, limit int) ([]gateway.Delivery, int64, error) {
	waiting := v.where(func(d *gateway.Delivery) bool {
		return d.State == gateway.Waiting && d.Due != gateway.Held && d.Name.Tenant == tenant && d.Name.Source == source
	})
	slices.SortStableFunc(waiting, func(a, b gateway.Delivery) int { return cmp.Compare(a.Due, b.Due) })
	for i, d := range waiting {
		if d.Due > at || i >= limit {
			return waiting[:i:i], d.Due, nil
		}
	}
	return waiting, gateway.Held, nil
}

func (v booksView) DeadLetters(tenant, source string, after int64, limit int) ([]gateway.Delivery, error) {
	dead := v.where(func(d *gateway.Delivery) bool {
		return d.State == gateway.Dead && d.Name.Tenant == tenant && (source == "" || d.Name.Source == source) && d.Number > after
	})
	return dead[:min(len(dead), max(limit, 0))], nil
}

func (v booksView) Outbox() (all []store.OutboxCount, err error) {
	counts := map[sourceName]store.OutboxCount{}
	for _, d := range v.b.deliveries {
		n := sourceName{d.Name.Tenant, d.Name.Source}
		c := counts[n]
		c.Tenant, c.Source = n.tenant, n.name
		if d.State == gateway.Dead {
			c.Dead++
		} else {
			c.Waiting++
		}
		counts[n] = c
	}
	all = slices.Collect(maps.Values(counts))
	slices.SortFunc(all, func(a, b store.OutboxCount) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Source, b.Source))
	})
	return all, nil
}

func (v booksView) Deliveries() iter.Seq2[gateway.Delivery, error] {
	return func(yield func(gateway.Delivery, error) bool) {
		for _, d := range v.where(func(*gateway.Delivery) bool { return true }) {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (v booksView) LastDue(tenant, source string) (last int64, err error) {
	for _, d := range v.b.deliveries {
		if d.State == gateway.Waiting && d.Due != gateway.Held && d.Name.Tenant == tenant && d.Name.Source == source {
			last = max(last, d.Due)
		}
	}
	return last, nil
}

func (v booksView) IDs() iter.Seq2[store.EventID, error] {
	return func(yield func(store.EventID, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(v.b.ids)) {
			if !yield(store.EventID{ID: id, Number: v.b.ids[id]}, nil) {
				return
			}
		}
	}
}

func (v booksView) Bodies() iter.Seq2[*store.KeptBody, error] {
	return func(yield func(*store.KeptBody, error) bool) {
		for _, n := range slices.Sorted(maps.Keys(v.b.bodies)) {
			k := v.b.bodies[n]
			if !yield(&store.KeptBody{Number: n, Tenant: k.tenant, Source: k.name, At: k.at, Body: cloneBody(k.body)}, nil) {
				return
			}
		}
	}
}

// Index yields what another store would keep.
func (v booksView) Index() iter.Seq2[*store.IndexRow, error] {
	all := v.outboxIndex()
	capacities := map[store.IndexRow]int64{}
	for n, k := range v.b.keys {
		if k.Registered {
			capacities[store.IndexRow{Kind: store.IndexCapacity, Tenant: n.Tenant, Source: n.Source, Number: k.LRUCapacity}]++
		}
		for _, h := range k.Hits {
			if v.b.head.Policy.Qualifies(h.Count) {
				all = append(all, store.IndexRow{
					Kind: store.IndexRepeats, Currency: h.Currency, Tenant: n.Tenant, Source: n.Source, Number: h.Last.Seq, Key: n.Key, At: h.Last.SeenAt, Count: h.Count,
				})
			}
		}
	}
	for n, twin := range v.b.twins {
		all = append(all, store.IndexRow{
			Kind: store.IndexTwin, Tenant: n.tenant, Source: n.name, Generation: n.generation, Digest: n.digest,
			Number: twin.Number, At: twin.At, Key: twin.Key, ID: twin.ID,
		})
	}
	for row, n := range capacities {
		row.Count = n
		all = append(all, row)
	}
	return func(yield func(*store.IndexRow, error) bool) {
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

func (v booksView) outboxIndex() (all []store.IndexRow) {
	for n, d := range v.b.deliveries {
		row := store.IndexRow{Kind: store.IndexDue, Tenant: d.Name.Tenant, Source: d.Name.Source, Number: n, At: d.Due}
		switch {
		case d.State == gateway.Dead:
			row.Kind, row.At = store.IndexDead, 0
			all = append(all, store.IndexRow{Kind: store.IndexTenantDead, Tenant: d.Name.Tenant, Number: n})
		case d.Due == gateway.Held:
			row.Kind, row.At, row.Key = store.IndexHeld, 0, d.Name.Key
		}
		all = append(all, row)
	}
	counts, _ := v.Outbox() // it can't fail
	for _, c := range counts {
		all = append(all, store.IndexRow{Kind: store.IndexQueued, Tenant: c.Tenant, Source: c.Source, Waiting: c.Waiting, Dead: c.Dead})
	}
	return all
}
