package prove

import (
	"iter"

	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/store"
)

// Stated shows a store's view to the audit, in the audit's own words. It is valid as long as the view.
func Stated(v store.BooksView) audit.Log { return stated{v} }

type stated struct{ v store.BooksView }

func (s stated) Head() audit.StatedHead {
	h := s.v.Head()
	return audit.StatedHead{Number: h.Number, Hash: h.Hash, Ruled: h.Ruled, Accepted: h.Accepted, Policy: audit.StatedPolicy{
		BlockWindowS: h.Policy.BlockWindowS, ScopeStrict: h.Policy.ScopeStrict, LRUMinHits: h.Policy.LRUMinHits,
	}}
}

func (s stated) Records(after int64) iter.Seq2[[]byte, error] { return s.v.Records(after) }

func (s stated) Record(number int64) ([]byte, error) { return s.v.Record(number) }

func (s stated) Sources() ([]audit.StatedSource, error) {
	all, err := s.v.Sources()
	out := make([]audit.StatedSource, len(all))
	for i := range all {
		from := &all[i]
		out[i] = audit.StatedSource{Tenant: from.Tenant, Source: from.Name, Events: from.Events, Generation: from.Generation, StatedSettings: audit.StatedSettings{
			WindowS: from.WindowS, LRUCapacity: from.LRUCapacity, Parts: from.Parts, Scope: from.Scope.String(), Open: from.Open, Forward: from.Forward,
			Guard: from.Guard.String(), GuardS: from.GuardS,
		}}
	}
	return out, err
}

func (s stated) Keys() iter.Seq2[*audit.StatedKey, error] {
	return each(s.v.Keys("", "", ""), func(k store.NamedKey, out *audit.StatedKey) { fillKey(out, k.Name, &k.Key) })
}

func (s stated) Key(tenant, source, key string) (*audit.StatedKey, error) {
	name := gateway.Name{Tenant: tenant, Source: source, Key: key}
	k, err := s.v.Key(name)
	out := &audit.StatedKey{}
	fillKey(out, name, &k)
	return out, err
}

func fillKey(out *audit.StatedKey, n gateway.Name, k *gateway.Key) {
	hits := out.Hits[:0]
	for i := range k.Hits {
		h := &k.Hits[i]
		hits = append(hits, audit.StatedHits{Currency: h.Currency, Count: h.Count, LRURank: h.Last.LRURank, SeenAt: h.Last.SeenAt, LastEvent: h.Last.Seq})
	}
	*out = audit.StatedKey{
		Tenant: n.Tenant, Source: n.Source, Key: n.Key,
		Registered: k.Registered, Scope: k.Scope.String(), WindowS: k.WindowS, LRUCapacity: k.LRUCapacity, Since: k.Since,
		LastEvent: k.LastEvent, Events: k.Events, Accepted: k.Accepted, Waiting: k.Waiting, Repeats: k.Repeats,
		Last: k.Last.Number, LastSeenAt: k.Last.SeenAt, LastScope: k.Last.Scope.String(), LastCurrency: k.Last.Currency, LastSaid: k.Last.Said.String(),
		Root: k.Root.Number, RootID: k.Root.ID, RootPrint: k.Root.Fingerprint, RootForwarded: k.Root.Forwarded, RootOK: k.Root.Delivered,
		Hits: hits,
	}
}

func (s stated) Books() ([]audit.StatedBook, error) {
	all, err := s.v.Books()
	out := make([]audit.StatedBook, len(all))
	for i := range all {
		b := &all[i]
		c := &b.Totals.Counts
		out[i] = audit.StatedBook{
			Currency: b.Currency, Tenant: b.BookName.Tenant, Source: b.Source,
			UnknownKey: c.UnknownKey, BadAmount: c.BadAmount, Mismatches: b.Mismatches, DuplicatePending: c.DuplicatePending,
			DuplicateDone: c.DuplicateDone, Accept: c.Accept,
			Accepted: b.Totals.Accepted.String(), Deduped: b.Totals.Deduped.String(),
			TenantAccepted: b.Book.Tenant.Accepted, TenantTotal: b.Book.Tenant.Total.String(),
		}
	}
	return out, err
}

func (s stated) Capacity(tenant, source string) (int64, error) { return s.v.Capacity(tenant, source) }

func (s stated) Ledger(currency, tenant, source string, limit int64) ([]audit.StatedEntry, error) {
	all, err := s.v.Repeated(currency, tenant, source, limit)
	out := make([]audit.StatedEntry, len(all))
	for i := range all {
		e := &all[i]
		out[i] = audit.StatedEntry{Tenant: e.Tenant, Source: e.Source, Key: e.DedupeKey, Hits: e.Hits, LRURank: e.LRURank, SeenAt: e.SeenAt, Seq: e.Seq}
	}
	return out, err
}

func (s stated) Outbox() iter.Seq2[*audit.StatedRow, error] {
	return each(s.v.Deliveries(), func(d gateway.Delivery, out *audit.StatedRow) {
		*out = audit.StatedRow{
			Number: d.Number, ID: d.ID, Tenant: d.Name.Tenant, Source: d.Name.Source, Key: d.Name.Key, Ordinal: d.Ordinal,
			Dead: d.State == gateway.Dead, Held: d.Due == gateway.Held, Due: d.Due, Reason: d.Reason, Since: d.Since,
			Attempts: int64(d.Attempts), Sends: d.Sends, IntervalMs: d.IntervalMs, LastMs: d.LastMs,
		}
	})
}

var indexKinds = [...]string{
	store.IndexDue: audit.IndexDue, store.IndexHeld: audit.IndexHeld, store.IndexDead: audit.IndexDead, store.IndexTenantDead: audit.IndexTenantDead,
	store.IndexQueued: audit.IndexQueued, store.IndexCapacity: audit.IndexCapacity, store.IndexTwin: audit.IndexTwin, store.IndexRepeats: audit.IndexRepeats,
}

func (s stated) Index() iter.Seq2[*audit.StatedIndex, error] {
	return each(s.v.Index(), func(r *store.IndexRow, out *audit.StatedIndex) {
		*out = audit.StatedIndex{
			Kind: indexKinds[r.Kind], Tenant: r.Tenant, Source: r.Source, Key: r.Key, Currency: r.Currency, Number: r.Number, At: r.At,
			Count: r.Count, Waiting: r.Waiting, Dead: r.Dead, Generation: r.Generation, Digest: r.Digest, ID: r.ID,
		}
	})
}

func (s stated) IDs() iter.Seq2[*audit.StatedID, error] {
	return each(s.v.IDs(), func(r store.EventID, out *audit.StatedID) { *out = audit.StatedID{ID: r.ID, Number: r.Number} })
}

func (s stated) Bodies() iter.Seq2[*audit.StatedBody, error] {
	return each(s.v.Bodies(), func(r *store.KeptBody, out *audit.StatedBody) {
		*out = audit.StatedBody{Number: r.Number, Tenant: r.Tenant, Source: r.Source, At: r.At, Bytes: r.Body.Bytes}
	})
}

// each gives rows in the audit's words, all in the same place: the audit looks at one at a time.
func each[From, To any](rows iter.Seq2[From, error], fill func(From, *To)) iter.Seq2[*To, error] {
	return func(yield func(*To, error) bool) {
		var out To
		for r, err := range rows {
			if err == nil {
				fill(r, &out)
			}
			if !yield(&out, err) {
				return
			}
		}
	}
}
