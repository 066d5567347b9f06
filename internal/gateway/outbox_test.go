package gateway_test

import (
	"fmt"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// expect compares an outbox row's moving parts.
func (r *rig) expect(number int64, state gateway.DeliveryState, due int64, attempts int, sends int64) {
	r.t.Helper()
	d := r.delivery(number)
	if d == nil || d.State != state || d.Due != due || d.Attempts != attempts || d.Sends != sends {
		r.t.Fatalf("row %d: %+v, want state %d, due %d, %d attempts, %d sends", number, d, state, due, attempts, sends)
	}
}

// outboxRig has one event to be sent.
func outboxRig(t *testing.T) (r *rig, number int64, id string) {
	r = newRig(t, forwarded)
	o := r.judged(accept, r.event("k"))
	r.expect(o.Number, gateway.Waiting, r.now, 0, 0)
	return r, o.Number, o.ID
}

// TestTries follows one event's way: an attempt before its request leaves, its failure, a request that never left, and the end.
func TestTries(t *testing.T) {
	r, n, id := outboxRig(t)
	began := r.now
	r.pass(1)
	r.done(&gateway.Attempt{Number: n, IntervalMs: 500})
	r.expect(n, gateway.Waiting, r.now+500, 1, 1) // should the server die now, it is tried again
	tried := r.now
	r.pass(2)
	r.done(&gateway.Failed{Number: n, Reason: "503"})
	r.expect(n, gateway.Waiting, tried+500, 1, 1)
	if d := r.delivery(n); d.Reason != "503" || d.LastMs != tried || d.IntervalMs != 500 || d.Since != began || d.ID != id || d.Ordinal != 1 {
		t.Errorf("%+v", d)
	}
	r.done(&gateway.Attempt{Number: n, IntervalMs: 700})
	r.done(&gateway.Failed{Number: n, Reason: "429", RetryAtMs: r.now + 9_000}) // later than the schedule
	r.expect(n, gateway.Waiting, r.now+9_000, 2, 2)
	r.done(&gateway.Attempt{Number: n, IntervalMs: 900})
	r.done(&gateway.Failed{Number: n, Reason: "429", RetryAtMs: r.now + 100}) // earlier
	r.expect(n, gateway.Waiting, r.now+900, 3, 3)
	before := *r.delivery(n)
	r.done(&gateway.Attempt{Number: n, IntervalMs: 900})
	tried = r.now
	r.pass(60)
	r.done(&gateway.Failed{Number: n, Reason: "503", TookMs: 2000}) // the pause counts from the answer
	r.expect(n, gateway.Waiting, tried+2900, 4, 4)
	if d := r.delivery(n); d.LastMs != tried+2000 {
		t.Errorf("%+v", d)
	}
	before = *r.delivery(n)
	r.done(&gateway.Attempt{Number: n, IntervalMs: 1100})
	r.done(&gateway.Untried{Number: n, IntervalMs: before.IntervalMs, LastMs: before.LastMs})
	r.expect(n, gateway.Waiting, r.now, 4, 4)
	if d := r.delivery(n); d.LastMs != before.LastMs || d.IntervalMs != before.IntervalMs {
		t.Errorf("%+v", d)
	}
	head := r.head().Number
	r.done(&gateway.Attempt{Number: n, IntervalMs: 1100})
	if r.head().Number != head {
		t.Error("an attempt is a record")
	}
	if o := r.done(&gateway.Settled{Number: n, OK: true}); o.Number != head+1 {
		t.Errorf("%+v", o)
	}
	if got := *last[*gateway.DeliveryRecord](r); got != (gateway.DeliveryRecord{Event: n, What: gateway.Delivered, Sends: 5, Origin: gateway.OriginForward}) {
		t.Errorf("%+v", got)
	}
	for _, c := range []gateway.Command{
		&gateway.Attempt{Number: n}, &gateway.Untried{Number: n}, &gateway.Failed{Number: n}, &gateway.Settled{Number: n}, &gateway.Settled{Number: n, OK: true},
		&gateway.Replay{Tenant: "t", ID: id, Key: 1}, &gateway.Discard{Tenant: "t", ID: id},
	} {
		r.want(gateway.NoRow, c)
	}
}

// TestOrdinals rise per key by one: what a destination orders a key's events by (G30).
func TestOrdinals(t *testing.T) {
	r := newRig(t, forwarded)
	for i := range int64(3) {
		for _, k := range []string{"a", "b"} {
			if o := r.judged(accept, r.event(k)); r.delivery(o.Number).Ordinal != i+1 {
				t.Errorf("%+v", r.delivery(o.Number))
			}
			r.judged(waiting, r.event(k)) // gets none
		}
		r.pass(121)
	}
}

// TestDeadLetter: it keeps its reason, takes no try, and lets its key go on.
func TestDeadLetter(t *testing.T) {
	r, n, id := outboxRig(t)
	r.pass(121)
	next := r.judged(accept, r.event("k")).Number
	r.expect(next, gateway.Waiting, gateway.Held, 0, 0)
	r.done(&gateway.Attempt{Number: n, IntervalMs: 5})
	r.done(&gateway.Settled{Number: n, Reason: "404"})
	r.expect(n, gateway.Dead, gateway.Held, 1, 1)
	r.expect(next, gateway.Waiting, r.now, 0, 0)
	if got := *last[*gateway.DeliveryRecord](r); got != (gateway.DeliveryRecord{Event: n, What: gateway.Died, Reason: "404", Sends: 1, Origin: gateway.OriginForward}) {
		t.Errorf("%+v", got)
	}
	if d := r.delivery(n); d.Reason != "404" {
		t.Errorf("%+v", d)
	}
	for _, c := range []gateway.Command{&gateway.Attempt{Number: n}, &gateway.Untried{Number: n}, &gateway.Failed{Number: n}, &gateway.Settled{Number: n, OK: true}} {
		r.want(gateway.NoRow, c)
	}
	r.want(gateway.NoRow, &gateway.Discard{Tenant: "other", ID: id})
	r.want(gateway.NoRow, &gateway.Discard{Tenant: "t", ID: "ev_none"})
	r.done(&gateway.Discard{Tenant: "t", ID: id, By: "ann"})
	if got := *last[*gateway.DeliveryRecord](r); got != (gateway.DeliveryRecord{Event: n, What: gateway.Discarded, Origin: gateway.OriginAPI, By: "ann"}) || r.delivery(n) != nil {
		t.Errorf("%+v", got)
	}
	r.want(gateway.NoRow, &gateway.Discard{Tenant: "t", ID: id, By: "ann"})
}

// TestHeldOrder: one event of a key is to be sent at a time, the lowest number first; other keys don't wait.
func TestHeldOrder(t *testing.T) {
	r := newRig(t, forwarded)
	var n []int64
	for range 4 {
		n = append(n, r.judged(accept, r.event("k")).Number)
		r.pass(121)
	}
	free := r.judged(accept, r.event("free")).Number
	r.expect(free, gateway.Waiting, r.now, 0, 0)
	for _, held := range n[1:] {
		r.expect(held, gateway.Waiting, gateway.Held, 0, 0)
		for _, c := range []gateway.Command{&gateway.Attempt{Number: held}, &gateway.Untried{Number: held}, &gateway.Failed{Number: held}, &gateway.Settled{Number: held}, &gateway.Settled{Number: held, OK: true}} {
			r.want(gateway.NoRow, c)
		}
	}
	r.done(&gateway.Settled{Number: n[0], OK: true})
	r.expect(n[1], gateway.Waiting, r.now, 0, 0)
	r.expect(n[2], gateway.Waiting, gateway.Held, 0, 0)
	r.done(&gateway.Settled{Number: n[1], Reason: "410"})
	r.expect(n[2], gateway.Waiting, r.now, 0, 0)
	r.done(&gateway.Replay{Tenant: "t", ID: r.delivery(n[1]).ID, Key: 1, By: "ann"}) // one is being sent: it waits
	r.expect(n[1], gateway.Waiting, gateway.Held, 0, 0)
	r.done(&gateway.Settled{Number: n[2], OK: true})
	r.expect(n[1], gateway.Waiting, r.now, 0, 0) // before the one that came after it
	r.expect(n[3], gateway.Waiting, gateway.Held, 0, 0)
	r.done(&gateway.Settled{Number: n[1], Reason: "410"})
	r.expect(n[3], gateway.Waiting, r.now, 0, 0)
	r.done(&gateway.Discard{Tenant: "t", ID: r.delivery(n[1]).ID, By: "ann"})
	r.done(&gateway.Settled{Number: n[3], OK: true})
	if k := r.key("k"); k.Waiting != 0 {
		t.Errorf("%+v", k)
	}
	r.expect(r.judged(accept, r.event("k")).Number, gateway.Waiting, r.now, 0, 0)
}

// TestReplay (G20): a dead letter goes again with its tries counted anew; the same request again does nothing, another one sends again.
func TestReplay(t *testing.T) {
	r, n, id := outboxRig(t)
	r.want(gateway.NotDead, &gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
	die := func() {
		t.Helper()
		r.done(&gateway.Attempt{Number: n, IntervalMs: 5})
		r.done(&gateway.Settled{Number: n, Reason: "404"})
	}
	die()
	r.want(gateway.NoRow, &gateway.Replay{Tenant: "other", ID: id, Key: 1})
	r.pass(60)
	r.done(&gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
	r.expect(n, gateway.Waiting, r.now, 0, 1)
	if d := r.delivery(n); d.Since != r.now || d.Reason != "" || d.IntervalMs != 0 || d.ID != id || d.Ordinal != 1 {
		t.Errorf("%+v", d)
	}
	if got := *last[*gateway.DeliveryRecord](r); got != (gateway.DeliveryRecord{Event: n, What: gateway.Revived, Origin: gateway.OriginAPI, By: "ann"}) {
		t.Errorf("%+v", got)
	}
	r.want(gateway.Same, &gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
	r.want(gateway.NotDead, &gateway.Replay{Tenant: "t", ID: id, Key: 2, By: "ann"})
	die()
	r.want(gateway.Same, &gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
	r.expect(n, gateway.Dead, gateway.Held, 1, 2)
	for key := range uint64(16) { // as many as are remembered push the first one out
		r.done(&gateway.Replay{Tenant: "t", ID: id, Key: 100 + key, By: "ann"})
		die()
	}
	r.want(gateway.Same, &gateway.Replay{Tenant: "t", ID: id, Key: 100, By: "ann"})
	if d := r.delivery(n); len(d.Replays) != 16 || d.Sends != 18 {
		t.Errorf("%+v", d)
	}
	r.done(&gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
}

// TestADecisionThatComesAgainIsTheSameForADay: of a delivery that is gone the requests about it are remembered, for its own tenant.
func TestADecisionThatComesAgainIsTheSameForADay(t *testing.T) {
	r, n, id := outboxRig(t)
	r.done(&gateway.Settled{Number: n, Reason: "404"})
	r.done(&gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
	r.done(&gateway.Settled{Number: n, Reason: "404"})
	r.done(&gateway.Discard{Tenant: "t", ID: id, Key: 2, By: "ann"})
	for range 2 {
		r.want(gateway.Same, &gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
		r.want(gateway.Same, &gateway.Discard{Tenant: "t", ID: id, Key: 2, By: "ann"})
		r.want(gateway.NoRow, &gateway.Discard{Tenant: "t", ID: id, Key: 3, By: "ann"})
		r.want(gateway.NoRow, &gateway.Replay{Tenant: "other", ID: id, Key: 1, By: "ann"})
		r.want(gateway.NoRow, &gateway.Discard{Tenant: "other", ID: id, Key: 2, By: "ann"})
		r.pass(gateway.AskedMs/1000 - 1)
	}
	r.want(gateway.NoRow, &gateway.Replay{Tenant: "t", ID: id, Key: 1, By: "ann"})
	r.want(gateway.NoRow, &gateway.Discard{Tenant: "t", ID: id, Key: 2, By: "ann"})
}

// TestHasten (G11): a duplicate of an event that is still to be sent makes it due at once; a dead one gets another try.
func TestHasten(t *testing.T) {
	r, n, _ := outboxRig(t)
	r.done(&gateway.Attempt{Number: n, IntervalMs: 60_000})
	r.done(&gateway.Failed{Number: n, Reason: "503"})
	r.pass(10)
	r.judged(waiting, r.event("k"))
	r.expect(n, gateway.Waiting, r.now, 1, 1)
	r.pass(10)
	due := r.now - 10_000
	r.judged(waiting, r.event("k"))
	r.expect(n, gateway.Waiting, due, 1, 1) // it is due already
	r.judged(gateway.Mismatch, r.event("k", content("other"), strict))
	r.judged(gateway.BadAmount, r.event("k", amount("", "XXX")))
	r.expect(n, gateway.Waiting, due, 1, 1)
	r.done(&gateway.Settled{Number: n, Reason: "410"})
	r.judged(gateway.Mismatch, r.event("k", content("other"), strict))
	r.expect(n, gateway.Dead, gateway.Held, 1, 1) // only a repeat revives it
	o := r.judged(waiting, r.event("k"))
	r.expect(n, gateway.Waiting, r.now, 1, 1)
	if got := *last[*gateway.DeliveryRecord](r); got != (gateway.DeliveryRecord{Event: n, What: gateway.Revived, Origin: gateway.OriginDuplicate}) || r.head().Number != o.Number+1 {
		t.Errorf("%+v", got)
	}
	if d := r.delivery(n); d.Since != r.now || len(d.Replays) != 0 {
		t.Errorf("%+v", d)
	}
	r.done(&gateway.Settled{Number: n, OK: true})
	r.judged(done, r.event("k"))
	if r.delivery(n) != nil {
		t.Error("a repeat brought a delivered event back")
	}
}

// TestHastenKeepsTheOrder: a duplicate of a held event doesn't send it before its turn, nor does one of a dead one beside another.
func TestHastenKeepsTheOrder(t *testing.T) {
	r, first, _ := outboxRig(t)
	r.pass(121)
	second := r.judged(accept, r.event("k")).Number
	r.judged(waiting, r.event("k"))
	r.expect(second, gateway.Waiting, gateway.Held, 0, 0)
	r.expect(first, gateway.Waiting, r.now-121_000, 0, 0)
	r.done(&gateway.Settled{Number: first, Reason: "410"})
	r.done(&gateway.Settled{Number: second, Reason: "410"})
	r.done(&gateway.Replay{Tenant: "t", ID: r.delivery(first).ID, Key: 1, By: "ann"})
	r.judged(waiting, r.event("k")) // revives the second while the first is being sent
	r.expect(second, gateway.Waiting, gateway.Held, 0, 0)
	r.done(&gateway.Settled{Number: first, OK: true})
	r.expect(second, gateway.Waiting, r.now, 0, 0)
}

// TestDeadEventsOfOneBatch: what one commit does to several rows, each once.
func TestDeadEventsOfOneBatch(t *testing.T) {
	r := newRig(t, forwarded)
	var events []gateway.Command
	for i := range 3 {
		events = append(events, r.event(fmt.Sprint(i)))
	}
	out := r.enter(events...)
	r.enter(
		&gateway.Settled{Number: out[0].Number, Reason: "a"}, &gateway.Settled{Number: out[1].Number, Reason: "b"},
		&gateway.Replay{Tenant: "t", ID: out[0].ID, Key: 1, By: "ann"}, &gateway.Discard{Tenant: "t", ID: out[1].ID, By: "ann"},
		&gateway.Settled{Number: out[2].Number, OK: true},
	)
	r.expect(out[0].Number, gateway.Waiting, r.now, 0, 0)
	r.view(func(v store.BooksView) {
		counts, _ := v.Outbox()
		if len(counts) != 1 || counts[0] != (store.OutboxCount{Tenant: "t", Source: "s", Waiting: 1}) {
			t.Errorf("%+v", counts)
		}
	})
}
