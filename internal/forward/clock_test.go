package forward

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/gateway"
)

// The clock goes back by half a day while rows wait, one for its next try, one for its first: neither waits for hours, nor is there a
// burst.
func TestTheClockGoesBack(t *testing.T) {
	for _, restart := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			r.source("acme", "shop", nil)
			r.options.Rand = func() float64 { return 0.999 }
			r.answers(always(503))
			r.start()
			tried := r.event("a")
			for len(r.sends()) < 7 {
				pass(100 * time.Millisecond)
			}
			if restart {
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
			}
			before := len(r.sends())
			interval := time.Duration(r.row(tried.Number).IntervalMs) * time.Millisecond
			r.clock.move(-12 * time.Hour)
			if restart {
				r.start()
			}
			pass(interval / 4)
			if n := len(r.sends()); n != before {
				t.Errorf("restart %v: a burst of %d", restart, n-before)
			}
			pass(interval)
			if n := len(r.sends()); n != before+1 {
				t.Errorf("restart %v: %d tries within the interval", restart, n-before)
			}
		})
	}
}

// An event accepted just before the clock went back is sent at once after it.
func TestAcceptedAheadOfTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		o := r.event("a")
		r.clock.move(-time.Hour)
		r.start()
		pass(2 * time.Second)
		if len(r.sends()) != 1 || r.row(o.Number) != nil {
			t.Errorf("%d sends, %+v", len(r.sends()), r.row(o.Number))
		}
	})
}

// A clock that a person moves on makes rows due within a second, though all timers were set by the old one.
func TestTheClockGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.answers(always(503))
		r.start()
		r.event("a")
		pass(10 * time.Minute)
		before := len(r.sends())
		r.clock.move(time.Hour)
		pass(1100 * time.Millisecond)
		if n := len(r.sends()); n != before+1 {
			t.Errorf("%d tries", n-before)
		}
	})
}

// A row that a crash cut off in its last try isn't tried once more than it may.
func TestCutOffInTheLastTry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 1 })
		o := r.event("a")
		r.enter(&gateway.Attempt{Number: o.Number, IntervalMs: 800}) // and then kill -9
		r.start()
		pass(time.Minute)
		if d := r.row(o.Number); len(r.sends()) != 0 || d.State != gateway.Dead || d.Reason != "interrupted" {
			t.Errorf("%d sends, %+v", len(r.sends()), d)
		}
	})
	// Where tries are left, it goes again when the schedule says so, and says that it isn't the first.
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		o := r.event("a")
		r.enter(&gateway.Attempt{Number: o.Number, IntervalMs: 800})
		r.start()
		pass(700 * time.Millisecond)
		if len(r.sends()) != 0 {
			t.Error("it went early")
		}
		pass(200 * time.Millisecond)
		if all := r.sends(); len(all) != 1 || all[0].attempt != "2" {
			t.Errorf("%+v", all)
		}
		synctest.Wait()
	})
}

// mended counts what was mended.
type mended struct {
	noMetrics
	events atomic.Int64
}

func (m *mended) Mended(events int) { m.events.Add(int64(events)) }

// TestADueTimeBeyondAnyRuleIsMendedAndCounted: a row that was put off by a thousand years behind the server's back, alone or behind others of its source,
// goes out by the delay law.
func TestADueTimeBeyondAnyRuleIsMendedAndCounted(t *testing.T) {
	const years = 1000 * 365 * 24 * int64(time.Hour/time.Millisecond)
	for _, others := range []int{0, 3} {
		bubble(t, func(t *testing.T, r *rig) {
			counted := &mended{}
			r.options.Metrics = counted
			r.source("acme", "shop", nil)
			r.answers(always(200))
			n := r.event("a").Number
			now, _ := r.clock.Now()
			r.enter(&gateway.Attempt{Number: n, IntervalMs: 500})
			r.enter(&gateway.Failed{Number: n, Reason: "status 503", RetryAtMs: now + years})
			r.event("day")
			day := r.event("waits as long as a destination may wish").Number
			r.enter(&gateway.Attempt{Number: day, IntervalMs: 500})
			r.enter(&gateway.Failed{Number: day, Reason: "status 503", RetryAtMs: now + maxRetryAfter.Milliseconds()})
			for i := range others {
				r.event(fmt.Sprint("other ", i))
			}
			r.start()
			pass(10 * time.Second)
			if r.row(n) != nil || len(r.sends()) != 2+others || counted.events.Load() != 1 {
				t.Errorf("beside %d others: %+v, %d sends, %d counted", others, r.row(n), len(r.sends()), counted.events.Load())
			}
			if r.row(day) == nil {
				t.Error("what a destination wished wasn't kept to")
			}
		})
	}
}
