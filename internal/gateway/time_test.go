package gateway_test

import (
	"testing"

	"hapax/internal/gateway"
)

// TestTimes (G22): a time before the predecessor's is raised to it and judged so; both are kept. One too far ahead is refused.
func TestTimes(t *testing.T) {
	r := newRig(t, open)
	r.judged(accept, r.event("k", seen(100)))
	for _, c := range []struct {
		name   string
		at     int64
		judged int64
		want   gateway.Decision
	}{
		{"late by hours", -9_000, 100, done},
		{"late by a second", 99, 100, done},
		{"the same", 100, 100, done},
		{"in order", 210, 210, done}, // within 120 s of the predecessor, not of the first
		{"late again", 0, 210, done},
		{"as far ahead as may be", 300, 300, done},
	} {
		o := r.judged(c.want, r.event("k", seen(c.at)))
		rec := last[*gateway.EventRecord](r)
		if o.SeenAt != 1_000_000+c.judged || o.Raised != (c.at < c.judged) {
			t.Errorf("%s: %+v", c.name, o)
		}
		if !rec.Named || rec.NamedAt != 1_000_000+c.at || rec.SeenAt != 1_000_000+c.judged {
			t.Errorf("%s: record %+v", c.name, rec)
		}
	}
	before := r.key("k")
	for _, at := range []int64{301, 31_536_000_000} { // the second: the year 3000
		r.want(gateway.Ahead, r.event("k", seen(at)))
		r.want(gateway.Ahead, r.event("new", seen(at)))
	}
	if k := r.key("k"); k.Events != before.Events || k.Last != before.Last {
		t.Errorf("a refused event left %+v, before %+v", k, before)
	}
	if k := r.key("new"); k.Registered {
		t.Errorf("a refused event registered its key: %+v", k)
	}
	r.now += 999 // the bound is in whole seconds of the server
	r.want(gateway.Ahead, r.event("k", seen(301)))
	r.now++
	r.judged(done, r.event("k", seen(301)))
}

// TestClockBack: the server's own clock goes back, or the predecessor was named ahead of it.
func TestClockBack(t *testing.T) {
	r := newRig(t, open)
	r.judged(accept, r.event("k"))
	r.pass(-500)
	o := r.judged(done, r.event("k"))
	if rec := last[*gateway.EventRecord](r); o.SeenAt != 1_000_000 || !o.Raised || o.GapS != 0 || rec.Named || rec.NamedAt != 0 || rec.SeenAt != 1_000_000 {
		t.Errorf("%+v, %+v", o, rec)
	}
	r.judged(accept, r.event("other")) // a key of its own time
	if rec := last[*gateway.EventRecord](r); rec.SeenAt != 999_500 {
		t.Errorf("another key at %d", rec.SeenAt)
	}
}

// TestRejectedTimesCountNothing: a rejected event is raised like others, and raises none.
func TestRejectedTimesCountNothing(t *testing.T) {
	r := newRig(t, open)
	r.judged(gateway.BadAmount, r.event("k", amount("", "XXX"), seen(250)))
	r.judged(accept, r.event("k", seen(10)))
	if o := r.judged(gateway.BadAmount, r.event("k", amount("", "XXX"), seen(5))); !o.Raised || o.SeenAt != 1_000_010 {
		t.Errorf("%+v", o)
	}
	r.judged(gateway.Mismatch, r.event("k", amount("1", "USD"), seen(100)))
	if o := r.judged(done, r.event("k", seen(90))); o.Raised || o.SeenAt != 1_000_090 {
		t.Errorf("%+v", o)
	}
}
