package gateway_test

import (
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

const (
	accept  = gateway.Accept
	done    = gateway.DuplicateDone
	waiting = gateway.DuplicatePending
)

// TestWindow: an event repeats its key's predecessor, not its first event, and the bound of the window is inside.
func TestWindow(t *testing.T) {
	many := func(n int, gap, wide int64) (times []int64, want []gateway.Decision) {
		at := int64(0)
		for i := range n {
			if i > 0 {
				at += gap
			}
			if i == n/2 {
				at += wide - gap
			}
			times, want = append(times, at), append(want, done)
		}
		want[0] = accept
		return times, want
	}
	day, dayWant := many(46, 2320, 2320) // 104,400 s
	torn, tornWant := many(46, 2320, 3601)
	tornWant[23] = accept
	for _, c := range []struct {
		name   string
		window int64
		times  []int64
		want   []gateway.Decision
	}{
		{"G01 the anchor is the predecessor", 120, []int64{0, 60, 120, 180, 240}, []gateway.Decision{accept, done, done, done, done}},
		{"G02 retries over more than a day", 3600, day, dayWant},
		{"G02 with one gap outside", 3600, torn, tornWant},
		{"G04 five copies", 120, []int64{0, 1, 2, 3, 4}, []gateway.Decision{accept, done, done, done, done}},
		{"G05 a gap of exactly the window", 120, []int64{0, 120, 241}, []gateway.Decision{accept, done, accept}},
		{"a window of one second", 1, []int64{0, 1, 3}, []gateway.Decision{accept, done, accept}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, named := range []bool{false, true} { // by the server's clock, and all delivered within one second
				r := newRig(t, with(func(s *gateway.Settings) { s.WindowS = c.window }))
				start := r.now
				for i, at := range c.times {
					e := r.event("k")
					if r.now = start + at*1000; named {
						r.now = start + 200_000_000
						seen(at)(e)
					}
					o := r.judged(c.want[i], e)
					if o.SeenAt != 1_000_000+at || o.Raised || o.WindowS != c.window {
						t.Fatalf("event %d: %+v", i, o)
					}
					if i > 0 && o.GapS != at-c.times[i-1] {
						t.Fatalf("event %d: gap %d", i, o.GapS)
					}
				}
			}
		})
	}
}

// TestWindowInForce: a key's own window goes before its source's, that before the policy's; each change counts from the next number on.
func TestWindowInForce(t *testing.T) {
	r := ruledRig(t, settle.Policy{BlockWindowS: 10}, with(func(s *gateway.Settings) { s.WindowS = 0 }))
	window := func(want int64, d gateway.Decision) {
		t.Helper()
		r.pass(15)
		if o := r.judged(d, r.event("k")); o.WindowS != want {
			t.Fatalf("window %d, want %d", o.WindowS, want)
		}
	}
	window(10, accept)
	window(10, accept)
	r.done(source(with(func(s *gateway.Settings) { s.WindowS = 20 })))
	window(20, done)
	r.done(&gateway.Register{Name: key("k"), Scope: settle.ScopeSchema, WindowS: 14, By: "ann"})
	window(14, accept)
	r.done(source(with(func(s *gateway.Settings) { s.WindowS = 30 })))
	window(14, accept)
	r.done(&gateway.Register{Name: key("k"), Scope: settle.ScopeSchema, By: "ann"})
	window(30, done)
	r.done(source(with(func(s *gateway.Settings) { s.WindowS = 0 })))
	window(10, accept)
}

// TestScopes: the event's word goes before its key's; where scopes are strict a repeat must have its predecessor's.
func TestScopes(t *testing.T) {
	none, schema, wire := settle.ScopeNone, settle.ScopeSchema, settle.ScopeWire
	for _, c := range []struct {
		name   string
		strict bool
		said   []settle.Scope // the key's own is schema
		want   []gateway.Decision
	}{
		{"loose", false, []settle.Scope{none, wire, schema}, []gateway.Decision{accept, done, done}},
		{"strict", true, []settle.Scope{none, schema, wire, none, none}, []gateway.Decision{accept, done, accept, accept, done}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ruledRig(t, settle.Policy{ScopeStrict: c.strict}, open)
			for i, said := range c.said {
				r.judged(c.want[i], r.event("k", scope(said)))
				rec := last[*gateway.EventRecord](r)
				judged := said
				if judged == none {
					judged = schema
				}
				if rec.Said != said || rec.Scope != judged {
					t.Fatalf("event %d: said %v, judged %v", i, rec.Said, rec.Scope)
				}
			}
		})
	}
}

// TestAnswerOfADedupe tells what it repeats, how far it is, and how many repeats came before.
func TestAnswerOfADedupe(t *testing.T) {
	r := newRig(t, open)
	first := r.judged(accept, r.event("k"))
	if first.RootID != "" || first.RootNumber != 0 || first.Repeats != 0 || first.ID != "ev_1" {
		t.Errorf("an accept: %+v", first)
	}
	for i := range int64(3) {
		r.pass(i)
		o := r.judged(done, r.event("k"))
		if o.RootID != first.ID || o.RootNumber != first.Number || o.Repeats != i || o.GapS != i || o.Differs {
			t.Errorf("repeat %d: %+v", i, o)
		}
	}
	r.pass(121)
	second := r.judged(accept, r.event("k"))
	if second.GapS != 121 || second.Repeats != 0 {
		t.Errorf("the next one: %+v", second)
	}
	if o := r.judged(done, r.event("k")); o.RootID != second.ID || o.Repeats != 0 {
		t.Errorf("a repeat of the second: %+v", o)
	}
	if k := r.key("k"); k.Accepted != 2 || k.Events != 6 || k.Repeats != 1 || k.Hits[0].Count != 4 {
		t.Errorf("key %+v", k)
	}
	if o := r.judged(accept, r.event("other")); o.GapS != 0 {
		t.Errorf("another key: %+v", o)
	}
}

// TestBadAmount: it is kept and counted, and takes no part in its key's history.
func TestBadAmount(t *testing.T) {
	r := newRig(t, open)
	r.judged(accept, r.event("k", amount("2.50", "USD")))
	r.pass(100)
	o := r.judged(gateway.BadAmount, r.event("k", amount("2,50", "USD")))
	rec := last[*gateway.EventRecord](r)
	if o.WindowS != 0 || rec.Amount != "2,50" || rec.AmountOK || rec.WindowS != 0 || rec.Scope != settle.ScopeNone || rec.Predecessor == 0 {
		t.Errorf("%+v, %+v", o, rec)
	}
	r.pass(100) // 200 s after the accepted one
	r.judged(accept, r.event("k", amount("1", "USD")))
	c := r.book("USD").Totals.Counts
	if c.BadAmount != 1 || c.Accept != 2 || c.Events() != 3 {
		t.Errorf("%+v", c)
	}
	total := r.book("USD").Tenant.Total
	if total.String() != "3.50" {
		t.Errorf("total %s", total.String())
	}
}

// TestChainOfLinks: the records of a key are found backwards from its last event, whatever their decisions.
func TestChainOfLinks(t *testing.T) {
	r := newRig(t, with(func(s *gateway.Settings) { s.Open = false }))
	n := []int64{r.judged(gateway.UnknownKey, r.event("k")).Number}
	r.done(&gateway.Register{Name: key("k"), Scope: settle.ScopeWire, By: "ann"})
	n = append(n, r.judged(accept, r.event("k")).Number)
	r.judged(gateway.UnknownKey, r.event("other"))
	n = append(n, r.judged(gateway.BadAmount, r.event("k", amount("x", "XXX"))).Number)
	n = append(n, r.judged(done, r.event("k")).Number)
	n = append(n, r.judged(gateway.Mismatch, r.event("k", amount("1", "USD"))).Number)
	n = append(n, r.judged(done, r.event("k")).Number)
	want := []struct{ prior, predecessor, root int64 }{
		{0, 0, 0}, {n[0], 0, 0}, {n[1], n[1], n[1]}, {n[2], n[1], n[1]}, {n[3], n[3], n[1]}, {n[4], n[3], n[1]},
	}
	at := r.key("k").LastEvent
	for i := len(n) - 1; i >= 0; i-- {
		if at != n[i] {
			t.Fatalf("event %d is %d, want %d", i, at, n[i])
		}
		rec := eventAt(r, at)
		if rec.Prior != want[i].prior || rec.Predecessor != want[i].predecessor || rec.Root != want[i].root {
			t.Errorf("event %d: prior %d, predecessor %d, root %d; want %+v", i, rec.Prior, rec.Predecessor, rec.Root, want[i])
		}
		at = rec.Prior
	}
	if at != 0 {
		t.Errorf("the chain goes on to %d", at)
	}
}
