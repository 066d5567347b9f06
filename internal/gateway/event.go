package gateway

import (
	"cmp"

	"hapax/internal/settle"
)

// verdict is how an event was judged: the contract's outcome, and what the gateway adds to it.
type verdict struct {
	Decision
	settle.Outcome
	seenAt     int64
	raised     bool
	differs    bool
	currencies bool
	twin       *Twin // accepted with the same body under another key
}

// takeEvent judges one delivery (docs/spec/gateway.md, Ingest and The log and the books) and enters it in log, books and outbox.
func takeEvent(r Rows, now int64, e *Event) (Outcome, error) {
	src, err := r.Source(e.Tenant, e.Source)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case src == nil:
		return Outcome{Kind: NoSource}, nil
	case e.Named && e.SeenAt > now/1000+MaxAheadS:
		return Outcome{Kind: Ahead}, nil
	case e.Named && e.SeenAt < now/1000-cmp.Or(e.Behind, MaxBehindS):
		return Outcome{Kind: Behind}, nil
	case !e.valid():
		return Outcome{Kind: Invalid}, nil
	}
	k, err := r.Key(e.Name)
	if err != nil {
		return Outcome{}, err
	}
	b, err := r.Book(BookName{e.Currency, e.Tenant, e.Source})
	if err != nil {
		return Outcome{}, err
	}
	if !k.Registered && src.Open {
		enter(r, now, k, &RegisterRecord{Name: e.Name, Scope: src.Scope, LRUCapacity: src.LRUCapacity, Origin: OriginOpen})
	}
	v := judge(r.Head().Policy, src, k, now, e)
	if v.Decision == Accept && src.Guard != GuardOff {
		if v.twin, err = guarded(r, now, src, e); err != nil {
			return Outcome{}, err
		}
		if v.twin != nil && src.Guard == GuardReject {
			v.Decision = Mismatch
		}
	}
	o := Outcome{
		Kind: Done, Decision: v.Decision, ID: e.ID, SeenAt: v.seenAt, Raised: v.raised, WindowS: v.WindowS, GapS: v.GapS,
		Differs: v.differs, Currencies: v.currencies,
	}
	if v.Deduped() || v.Decision == Mismatch && v.twin == nil {
		o.Repeats, o.RootNumber, o.RootID = k.Repeats, k.Root.Number, k.Root.ID
	}
	if v.twin != nil {
		o.TwinNumber, o.TwinID = v.twin.Number, v.twin.ID
	}
	rec := eventRecord(src, k, e, &v)
	o.Number = write(r, now, rec)
	r.PutEvent(o.Number, e.Name, e.ID, e.Body)
	if v.Decision == Accept && src.Guard != GuardOff {
		r.PutTwin(e.Tenant, e.Source, src.Generation, e.Digest, Twin{Number: o.Number, At: now, Key: e.Key, ID: e.ID})
	}
	src.Events++
	k.LastEvent = o.Number
	k.Events++
	b.enter(&v, e)
	return o, k.fold(r, now, src, o.Number, &v, e)
}

// judge is the contract's rule, and beside it the gateway's: a repeat in another currency is a mismatch always, one of other
// content where the source is strict.
func judge(policy settle.Policy, src *Source, k *Key, now int64, e *Event) (v verdict) {
	v.seenAt = now / 1000
	if e.Named {
		v.seenAt = e.SeenAt
	}
	if k.Last.Number > 0 && v.seenAt < k.Last.SeenAt {
		v.seenAt, v.raised = k.Last.SeenAt, true
	}
	facts := settle.Facts{Policy: &policy}
	if k.Registered {
		facts.Registration = &settle.Registration{Scope: k.Scope, WindowS: k.WindowS, LRUCapacity: k.LRUCapacity}
		if k.WindowS == 0 {
			facts.Registration.WindowS = src.WindowS
		}
	}
	if k.Last.Number > 0 {
		facts.Predecessor = &settle.Predecessor{SeenAt: k.Last.SeenAt, Scope: k.Last.Scope, State: k.State()}
	}
	v.Outcome = settle.Judge(facts, &settle.Event{SeenAt: v.seenAt, AmountOK: e.AmountOK, Scope: e.Scope, State: e.State})
	v.Decision = decisions[v.Outcome.Decision]
	if v.Rejected() || facts.Predecessor == nil || v.GapS > v.WindowS {
		return v
	}
	differs := e.Fingerprint != k.Root.Fingerprint
	switch {
	case k.Last.Currency != e.Currency:
		v.Decision, v.differs, v.currencies = Mismatch, differs, true
	case !v.Deduped(): // of another scope
	case differs && e.Strict:
		v.Decision, v.differs = Mismatch, true
	default:
		v.differs = differs
	}
	return v
}

var decisions = map[settle.Decision]Decision{
	settle.UnknownKey: UnknownKey, settle.BadAmount: BadAmount, settle.DuplicatePending: DuplicatePending,
	settle.DuplicateDone: DuplicateDone, settle.Accept: Accept,
}

// Deduped and Rejected are the gateway's: settle.Outcome has a Decision of the same methods.
func (v *verdict) Deduped() bool  { return v.Decision.Deduped() }
func (v *verdict) Rejected() bool { return v.Decision.Rejected() }

func eventRecord(src *Source, k *Key, e *Event, v *verdict) *EventRecord {
	rec := &EventRecord{
		Name: e.Name, ID: e.ID, Decision: v.Decision, Currency: e.Currency, Amount: e.Amount, AmountOK: e.AmountOK,
		Said: e.Scope, Scope: v.Scope, State: e.State, Named: e.Named, NamedAt: e.SeenAt, SeenAt: v.seenAt, WindowS: v.WindowS,
		Prior: k.LastEvent, Predecessor: k.Last.Number, PredecessorState: k.State(), Root: k.Root.Number,
		Forwarded: src.Forward && v.Decision == Accept, Fingerprint: e.Fingerprint, Digest: e.Digest, Strict: e.Strict,
	}
	if v.Rejected() && v.Decision != Mismatch {
		rec.Scope, rec.WindowS = settle.ScopeNone, 0
	}
	if v.twin != nil {
		rec.Twin = v.twin.Number
	}
	return rec
}

// enter counts an event in its book.
func (b *Book) enter(v *verdict, e *Event) {
	if v.Decision == Mismatch {
		b.Mismatches++
		return
	}
	b.Totals.Add(&b.Tenant, v.Outcome, &settle.Event{Amount: e.Value})
}

// fold takes a judged event into the key's history and the outbox.
func (k *Key) fold(r Rows, now int64, src *Source, number int64, v *verdict, e *Event) error {
	if v.Rejected() {
		return nil
	}
	k.Last = Predecessor{Number: number, SeenAt: v.seenAt, Scope: v.Scope, Currency: e.Currency, Said: e.State}
	if v.Deduped() {
		k.Repeats++
		h := k.hits(e.Currency)
		h.Count++
		h.Last = settle.Recency{LRURank: number, SeenAt: v.seenAt, Seq: number}
		return hasten(r, now, k, e.Name)
	}
	k.Accepted++
	k.Repeats = 0
	k.Root = Root{Number: number, ID: e.ID, Fingerprint: e.Fingerprint, Forwarded: src.Forward}
	if src.Forward {
		queue(r, now, k, Delivery{Number: number, ID: e.ID, Name: e.Name, Ordinal: k.Accepted})
	}
	return nil
}
