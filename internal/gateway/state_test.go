package gateway_test

import (
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// TestSaidState: without a destination a state is what the source says of the predecessor.
func TestSaidState(t *testing.T) {
	r := newRig(t, open)
	r.judged(accept, r.event("k", pending))
	r.judged(waiting, r.event("k")) // which is done itself
	r.judged(done, r.event("k", pending))
	r.judged(gateway.BadAmount, r.event("k", amount("", "XXX"))) // no predecessor
	r.judged(waiting, r.event("k"))
	if rec := last[*gateway.EventRecord](r); rec.PredecessorState != settle.StatePending || rec.State != settle.StateDone || rec.Forwarded {
		t.Errorf("%+v", rec)
	}
}

// TestForwardedState (G28): with a destination an event is pending until its root was taken, whatever the source says; from then on done.
func TestForwardedState(t *testing.T) {
	r := newRig(t, forwarded)
	a := r.judged(accept, r.event("k"))
	if rec := last[*gateway.EventRecord](r); !rec.Forwarded {
		t.Errorf("%+v", rec)
	}
	r.judged(waiting, r.event("k")) // B
	if rec := last[*gateway.EventRecord](r); rec.Forwarded || rec.PredecessorState != settle.StatePending {
		t.Errorf("%+v", rec)
	}
	r.done(&gateway.Settled{Number: a.Number, OK: true})
	r.judged(done, r.event("k", pending)) // C
	r.judged(done, r.event("k"))          // what the source said of C counts nothing
	c := r.book("XXX").Totals.Counts
	if c.DuplicatePending != 1 || c.DuplicateDone != 2 {
		t.Errorf("%+v", c)
	}
}

// TestDeadAndDiscardedStayPending: only a 2xx ends it.
func TestDeadAndDiscardedStayPending(t *testing.T) {
	r := newRig(t, forwarded)
	a := r.judged(accept, r.event("k"))
	r.done(&gateway.Settled{Number: a.Number, Reason: "404"})
	r.judged(waiting, r.event("k"))
	r.done(&gateway.Settled{Number: a.Number, Reason: "404"}) // the repeat had revived it
	r.done(&gateway.Discard{Tenant: "t", ID: a.ID, By: "ann"})
	r.judged(waiting, r.event("k"))
	if r.delivery(a.Number) != nil {
		t.Error("a repeat brought a discarded event back")
	}
	r.want(gateway.NoRow, &gateway.Settled{Number: a.Number, OK: true})
	r.judged(waiting, r.event("k"))
}

// TestNewRootIsPending: an accept begins a chain of its own; the end of an earlier root's delivery doesn't touch it.
func TestNewRootIsPending(t *testing.T) {
	r := newRig(t, forwarded)
	a := r.judged(accept, r.event("k"))
	r.pass(121)
	b := r.judged(accept, r.event("k"))
	r.done(&gateway.Settled{Number: a.Number, OK: true})
	r.judged(waiting, r.event("k"))
	r.done(&gateway.Settled{Number: b.Number, OK: true})
	r.judged(done, r.event("k"))
}

// TestDestinationChanged: whether a chain has a destination was decided by its root.
func TestDestinationChanged(t *testing.T) {
	r := newRig(t, open)
	r.judged(accept, r.event("k", pending))
	r.done(source(forwarded))
	r.judged(waiting, r.event("k"))
	r.judged(done, r.event("k"))
	r.pass(121)
	b := r.judged(accept, r.event("k"))
	r.done(source(open))
	r.judged(waiting, r.event("k"))
	r.judged(waiting, r.event("k"))
	r.done(&gateway.Settled{Number: b.Number, OK: true})
	r.judged(done, r.event("k", pending))
	r.judged(done, r.event("k"))
}
