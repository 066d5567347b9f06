package gateway_test

import (
	"testing"

	"hapax/internal/gateway"
)

// TestGuard: the same body under another key is a mismatch of a source that rejects it; it doesn't make the rightful key's next delivery one.
func TestGuard(t *testing.T) {
	r := newRig(t, with(func(s *gateway.Settings) { s.Guard, s.GuardS, s.WindowS = gateway.GuardReject, 600, 10 }))
	body := func(k string) *gateway.Event {
		return r.event(k, func(e *gateway.Event) { e.Digest = gateway.HashOf([]byte("signed once")) })
	}
	first := r.judged(accept, body("k"))
	for _, key := range []string{"m", "n", "m"} {
		o := r.judged(gateway.Mismatch, body(key))
		if o.TwinNumber != first.Number || o.TwinID != first.ID || o.RootID != "" {
			t.Errorf("%+v", o)
		}
	}
	if got := last[*gateway.EventRecord](r); got.Twin != first.Number || got.Decision != gateway.Mismatch {
		t.Errorf("%+v", got)
	}
	if o := r.judged(done, body("k")); o.TwinNumber != 0 {
		t.Errorf("a repeat: %+v", o)
	}
	r.pass(20) // beyond the key's own window
	if o := r.judged(accept, body("k")); o.TwinNumber != 0 {
		t.Errorf("the same key: %+v", o)
	}
	if c := r.book("XXX"); c.Mismatches != 3 || c.Totals.Counts.Accept != 2 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []func(*gateway.Settings){
		func(s *gateway.Settings) { s.Guard = gateway.GuardFlag }, func(s *gateway.Settings) { s.GuardS = 5 }, func(s *gateway.Settings) { s.Guard, s.GuardS = 3, 5 },
	} {
		r.want(gateway.Invalid, source(with(bad)))
	}
}
