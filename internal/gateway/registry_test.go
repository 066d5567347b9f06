package gateway_test

import (
	"strings"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

var required = with(func(s *gateway.Settings) { s.Open = false })

// TestRequiredRegistry (G27): a key registered after a rejected event, its registration changed midway.
func TestRequiredRegistry(t *testing.T) {
	r := newRig(t, required)
	o := r.judged(gateway.UnknownKey, r.event("k"))
	rec := last[*gateway.EventRecord](r)
	if o.WindowS != 0 || rec.Scope != settle.ScopeNone || rec.WindowS != 0 || r.key("k").Registered {
		t.Errorf("%+v, %+v", o, rec)
	}
	reg := &gateway.Register{Name: key("k"), Scope: settle.ScopeWire, WindowS: 50, LRUCapacity: 3, File: true, By: "not told of a file"}
	n := r.done(reg).Number
	if got := *last[*gateway.RegisterRecord](r); got != (gateway.RegisterRecord{Name: key("k"), Scope: settle.ScopeWire, WindowS: 50, LRUCapacity: 3, Origin: gateway.OriginFile}) {
		t.Errorf("%+v", got)
	}
	if k := r.key("k"); !k.Registered || k.Scope != settle.ScopeWire || k.WindowS != 50 || k.LRUCapacity != 3 || k.Since != n {
		t.Errorf("%+v", k)
	}
	again := *reg
	again.File, again.By = false, "ann" // who says it again changes nothing
	r.want(gateway.Same, &again)
	r.judged(accept, r.event("k"))
	r.pass(60)
	r.judged(accept, r.event("k"))
	for i, change := range []func(*gateway.Register){
		func(c *gateway.Register) { c.WindowS = 70 }, func(c *gateway.Register) { c.LRUCapacity = 4 },
		func(c *gateway.Register) { c.Scope = settle.ScopeSchema },
	} {
		if change(reg); r.done(reg).Number != r.key("k").Since {
			t.Errorf("change %d has another number", i)
		}
	}
	r.pass(60)
	if o := r.judged(done, r.event("k")); o.WindowS != 70 {
		t.Errorf("%+v", o)
	}
	c := r.book("XXX").Totals.Counts
	if c.UnknownKey != 1 || c.Accept != 2 || c.DuplicateDone != 1 {
		t.Errorf("%+v", c)
	}
}

// TestUnregister: a key that has an event stays, also one whose events were all rejected.
func TestUnregister(t *testing.T) {
	r := newRig(t, required)
	r.want(gateway.NoKey, &gateway.Unregister{Name: key("k"), By: "ann"})
	reg := &gateway.Register{Name: key("k"), Scope: settle.ScopeWire, LRUCapacity: 3, By: "file"}
	r.done(reg)
	if got := last[*gateway.RegisterRecord](r); got.Origin != gateway.OriginAPI || got.By != "file" {
		t.Errorf("%+v", got)
	}
	r.done(&gateway.Unregister{Name: key("k"), By: "ann"})
	if got := *last[*gateway.UnregisterRecord](r); got != (gateway.UnregisterRecord{Name: key("k"), Origin: gateway.OriginAPI, By: "ann"}) {
		t.Errorf("%+v", got)
	}
	if k := r.key("k"); k.Registered || k.Since != 0 || k.LRUCapacity != 0 || k.Scope != settle.ScopeNone {
		t.Errorf("%+v", k)
	}
	r.want(gateway.NoKey, &gateway.Unregister{Name: key("k"), By: "ann"})
	r.judged(gateway.UnknownKey, r.event("k"))
	r.done(reg)
	r.want(gateway.HasEvent, &gateway.Unregister{Name: key("k"), By: "ann"})
	r.judged(accept, r.event("k"))
	r.want(gateway.HasEvent, &gateway.Unregister{Name: key("k"), By: "ann"})
}

// TestOpenRegistry: a key registers itself by its first event, in a record just before it, with the source's scope and capacity.
func TestOpenRegistry(t *testing.T) {
	r := newRig(t, with(func(s *gateway.Settings) { s.Scope, s.LRUCapacity = settle.ScopeWire, 7 }))
	o := r.judged(accept, r.event("k"))
	r.view(func(v store.BooksView) {
		reg := read[*gateway.RegisterRecord](r, v, o.Number-1)
		if *reg != (gateway.RegisterRecord{Name: key("k"), Scope: settle.ScopeWire, LRUCapacity: 7, Origin: gateway.OriginOpen}) {
			t.Errorf("%+v", reg)
		}
	})
	if k := r.key("k"); k.Since != o.Number-1 || k.WindowS != 0 {
		t.Errorf("%+v", k)
	}
	if next := r.judged(done, r.event("k")); next.Number != o.Number+1 {
		t.Errorf("the second event has number %d after %d", next.Number, o.Number)
	}
	if bad := r.judged(gateway.BadAmount, r.event("new", amount("x", "XXX"))); bad.Number != o.Number+3 {
		t.Errorf("a key is registered by an event of a bad amount too: %+v", bad)
	}
	r.done(source(with(func(s *gateway.Settings) { s.Scope, s.LRUCapacity = settle.ScopeSchema, 9 })))
	if k := r.key("k"); k.Scope != settle.ScopeWire || k.LRUCapacity != 7 {
		t.Errorf("the source's change reached a registered key: %+v", k)
	}
	r.judged(accept, r.event("later"))
	if k := r.key("later"); k.Scope != settle.ScopeSchema || k.LRUCapacity != 9 {
		t.Errorf("%+v", k)
	}
}

// TestOpenAfterRequired: a source that opens registers the keys it used to reject.
func TestOpenAfterRequired(t *testing.T) {
	r := newRig(t, required)
	r.judged(gateway.UnknownKey, r.event("k"))
	r.done(source(open))
	r.judged(accept, r.event("k"))
	r.done(source(required))
	r.judged(done, r.event("k"))
	r.judged(gateway.UnknownKey, r.event("new"))
}

// TestPolicy is fixed when the log is made, and nothing comes before it.
func TestPolicy(t *testing.T) {
	r := &rig{t: t, s: memory.New(), now: 1_000_000_000}
	r.want(gateway.NoPolicy, source(open))
	r.want(gateway.NoSource, &gateway.Register{Name: key("k"), Scope: settle.ScopeWire})
	r.want(gateway.NoSource, r.event("k"))
	p := settle.Policy{BlockWindowS: 60, LRUMinHits: 2}
	if o := r.done(&gateway.SetPolicy{Policy: p}); o.Number != 1 {
		t.Errorf("%+v", o)
	}
	r.want(gateway.Same, &gateway.SetPolicy{Policy: p})
	for _, other := range []settle.Policy{{BlockWindowS: 61, LRUMinHits: 2}, {BlockWindowS: 60, LRUMinHits: 3}, {BlockWindowS: 60, ScopeStrict: true, LRUMinHits: 2}, {}} {
		r.want(gateway.Fixed, &gateway.SetPolicy{Policy: other})
	}
	if got := last[*gateway.PolicyRecord](r).Policy; got != p || r.head().Policy != p || r.head().Number != 1 {
		t.Errorf("%+v, head %+v", got, r.head())
	}
	r.want(gateway.NoSource, r.event("k"))
	r.done(source(open))
	r.judged(accept, r.event("k"))
}

// TestParts: how many parts a source's keys have is fixed by its first event; all else of it can change, and equal settings leave no record.
func TestParts(t *testing.T) {
	r := newRig(t, required)
	two := with(func(s *gateway.Settings) { s.Open, s.Parts = false, 2 })
	r.done(source(two))
	r.done(source(required))
	r.want(gateway.Same, source(required))
	r.judged(gateway.UnknownKey, r.event("k"))
	r.want(gateway.Fixed, source(two))
	if got := *last[*gateway.EventRecord](r); got.Key != "k" {
		t.Errorf("%+v", got)
	}
	n := r.done(source(open)).Number
	if got := *last[*gateway.SourceRecord](r); got != (gateway.SourceRecord{Tenant: "t", Source: "s", Settings: open}) || n != r.head().Number {
		t.Errorf("%+v", got)
	}
	r.view(func(v store.BooksView) {
		all, _ := v.Sources()
		if len(all) != 1 || all[0].Events != 1 || all[0].Settings != open {
			t.Errorf("%+v", all)
		}
	})
}

// TestAcceptLoss: a person's word that the log lost its end is a record, and changes no books.
func TestAcceptLoss(t *testing.T) {
	lost := gateway.AcceptLoss{From: 92, Hash: gateway.HashOf([]byte("92")), To: 2, By: "ann", Reason: "the disk was swapped"}
	r := &rig{t: t, s: memory.New(), now: 1_000_000_000}
	r.want(gateway.NoPolicy, &lost)
	r = newRig(t, required)
	for _, bad := range []gateway.AcceptLoss{{From: 92, To: 3}, {From: 2, To: 2}, {From: 1, To: -1}, {From: 92, To: 2, Reason: strings.Repeat("x", gateway.MaxReason+1)}} {
		r.want(gateway.Invalid, &bad)
	}
	if n := r.done(&lost).Number; n != 3 {
		t.Errorf("record %d", n)
	}
	want := gateway.LossRecord{From: 92, Hash: lost.Hash, To: 2, By: "ann", Reason: lost.Reason}
	if got := *last[*gateway.LossRecord](r); got != want {
		t.Errorf("%+v", got)
	}
	r.judged(gateway.UnknownKey, r.event("k"))
}

// TestProof is no record, and keeps as many issues as may be.
func TestProof(t *testing.T) {
	r := newRig(t, open)
	before := r.head()
	r.done(&gateway.Proven{Proof: gateway.Proof{Number: 2, Hash: before.Hash, At: 5, Events: 1, Issues: make([]string, gateway.MaxIssues+1)}})
	h := r.head()
	if h.Number != before.Number || h.Hash != before.Hash || h.Proof.Number != 2 || h.Proof.OK || len(h.Proof.Issues) != gateway.MaxIssues {
		t.Errorf("%+v", h)
	}
	r.done(&gateway.Proven{Proof: gateway.Proof{Number: 2, OK: true}})
	if h := r.head(); !h.Proof.OK || len(h.Proof.Issues) != 0 || !h.Ruled {
		t.Errorf("%+v", h)
	}
}
