package forward

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/gateway"
)

// slowly answers after a while.
func slowly(after time.Duration, code int, header ...string) func(sent, context.Context) (*http.Response, error) {
	return func(_ sent, ctx context.Context) (*http.Response, error) {
		select {
		case <-time.After(after):
			return status(code, header...), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// B6: a destination's wish to wait counts from its answer, whenever that came.
func TestRetryAfterCountsFromTheAnswer(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		says  string
		most  time.Duration // between an answer and the next request
	}{
		{6 * time.Second, "5", 5 * time.Second}, {14 * time.Second, "1", time.Second}, {time.Second, "60", time.Minute},
		{6 * time.Second, "Sat, 01 Jan 2000 00:00:11 GMT", 5 * time.Second}, // a bubble begins at midnight of that day
	} {
		bubble(t, func(t *testing.T, r *rig) {
			r.source("acme", "shop", nil)
			r.answers(slowly(c.after, 503, "Retry-After", c.says))
			r.start()
			r.event("a")
			pass(2*c.after + c.most + time.Second)
			all := r.sends()
			if len(all) != 2 || all[1].at < c.after+c.most || all[1].at > c.after+c.most+time.Second {
				t.Errorf("%v, Retry-After %s: %v", c.after, c.says, all)
			}
		})
	}
}

// B6: a destination that hangs, or answers late, is left a pause each time: that of the delay law, from the end of the try.
func TestADestinationThatHangsIsNotHitWithoutPause(t *testing.T) {
	for name, answer := range map[string]func(sent, context.Context) (*http.Response, error){
		"hangs": slowly(time.Hour, 200), "late": slowly(4*time.Second, 500), "late 429": slowly(4*time.Second, 429, "Retry-After", "1"),
	} {
		bubble(t, func(t *testing.T, r *rig) {
			r.source("acme", "shop", func(d *Destination) { d.Timeout = 5 * time.Second })
			r.options.Rand = func() float64 { return 0.01 } // the least pauses
			var ends []time.Duration
			r.answers(func(s sent, ctx context.Context) (*http.Response, error) {
				defer func() {
					r.mu.Lock()
					defer r.mu.Unlock()
					ends = append(ends, time.Since(r.begun))
				}()
				return answer(s, ctx)
			})
			r.start()
			r.event("a")
			pass(10 * time.Minute)
			all := r.sends()
			if len(all) < 5 {
				t.Fatalf("%s: %d tries", name, len(all))
			}
			for i := 1; i < len(all); i++ {
				least := min(time.Second<<(i-1), time.Hour) / 2
				if pause := all[i].at - ends[i-1]; pause < least {
					t.Errorf("%s: try %d came %v after the one before had ended", name, i+1, pause)
				}
			}
		})
	}
}

// B6: duplicates of a waiting event give no try before the destination's wish, and none beyond max_tries.
func TestDuplicatesOfAWaitingEvent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 3 })
		r.answers(func(sent, context.Context) (*http.Response, error) { return status(429, "Retry-After", "100"), nil })
		r.start()
		o := r.event("a")
		for i := range 250 {
			pass(time.Second)
			if d := r.row(o.Number); d.State == gateway.Dead {
				if i < 198 {
					t.Fatalf("dead after %d s", i)
				}
				break
			}
			if e := r.event("a"); e.Decision != gateway.DuplicatePending {
				t.Fatalf("%+v", e)
			}
		}
		all := r.sends()
		if len(all) != 3 {
			t.Fatalf("%d tries", len(all))
		}
		for i := 1; i < 3; i++ {
			if gap := all[i].at - all[i-1].at; gap < 100*time.Second || gap > 102*time.Second {
				t.Errorf("try %d came after %v", i+1, gap)
			}
		}
	})
}

// B6: a duplicate of a dead letter gives one further try, not before the destination's wish, however it died.
func TestADuplicateOfADeadLetterGivesOneTry(t *testing.T) {
	for _, code := range []int{400, 429, 503} {
		for _, maxTries := range []int{0, 1} {
			for _, again := range []int{400, 503} {
				t.Run(fmt.Sprint(code, maxTries, again), func(t *testing.T) {
					bubble(t, func(t *testing.T, r *rig) {
						r.source("acme", "shop", func(d *Destination) { d.MaxTries, d.MaxAge = maxTries, 45*time.Minute })
						r.answers(always(502))
						r.start()
						pass(61 * time.Minute) // until the clock is trusted
						r.answers(func(sent, context.Context) (*http.Response, error) { return status(code, "Retry-After", "600"), nil })
						o := r.event("a")
						for r.row(o.Number).State != gateway.Dead {
							pass(time.Minute)
						}
						before := r.sends()
						last := before[len(before)-1].at
						r.answers(always(again))
						for time.Since(r.begun) < last+599*time.Second { // a duplicate a second
							pass(time.Second)
							r.event("a")
						}
						if n := len(r.sends()) - len(before); n != 0 {
							t.Fatalf("%d tries before the destination's wish", n)
						}
						pass(time.Hour)
						if n := len(r.sends()) - len(before); n != 1 {
							t.Fatalf("%d further tries", n)
						}
						if d := r.row(o.Number); d.State != gateway.Dead {
							t.Fatalf("%+v", d)
						}
						r.enter(&gateway.Replay{Tenant: "acme", ID: o.ID, Key: 1, By: "ann"})
						synctest.Wait()
						if n := len(r.sends()) - len(before); n != 2 {
							t.Errorf("a replay by hand: %d further tries", n)
						}
					})
				})
			}
		}
	}
}

// B8: a clock that stands years ahead ends nothing; tries go on by their intervals, and when it is right again.
func TestAWrongClockEndsNoTries(t *testing.T) {
	for _, when := range []string{"at the start", "while it runs", "in the past at the start"} {
		bubble(t, func(t *testing.T, r *rig) {
			r.source("acme", "shop", nil)
			r.answers(always(503))
			by := 20 * 365 * 24 * time.Hour
			if when == "in the past at the start" {
				by = -by
			}
			o := r.event("a")
			if when != "while it runs" {
				r.clock.move(by)
			}
			r.start()
			pass(2 * time.Minute)
			if when == "while it runs" {
				r.clock.move(by)
			}
			for range 50 { // less than the hour of trust
				tries := len(r.sends())
				if pass(time.Minute); len(r.sends()) > tries+10 {
					t.Errorf("%s: a burst of %d", when, len(r.sends())-tries)
				}
			}
			if d := r.row(o.Number); d == nil || d.State != gateway.Waiting || len(r.sends()) < 8 {
				t.Fatalf("%s: %d sends, %+v", when, len(r.sends()), d)
			}
			r.clock.move(-by) // somebody sets it right
			tries := len(r.sends())
			pass(70 * time.Minute)
			if n := len(r.sends()) - tries; n < 1 || n > 4 {
				t.Errorf("%s: %d tries in the 70 minutes after", when, n)
			}
			if d := r.row(o.Number); d == nil || d.State != gateway.Waiting {
				t.Errorf("%s: %+v", when, d)
			}
			pass(72 * time.Hour)
			if d := r.row(o.Number); d == nil || d.State != gateway.Dead {
				t.Errorf("%s: tries go on for ever: %+v", when, d)
			}
		})
	}
}
