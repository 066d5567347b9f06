package forward

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"hapax/client/session"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

func TestAnAcceptedEventArrivesSigned(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) {
			d.Secrets = []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA"}
			d.Extra = []gateway.Header{{Name: "Authorization", Value: "Bearer x"}}
		})
		r.start()
		o := r.event("a")
		synctest.Wait()
		all := r.sends()
		if len(all) != 1 {
			t.Fatalf("%d requests", len(all))
		}
		s := all[0]
		if s.id != "ev_1" || s.attempt != "1" || s.number != "1" || s.body != `{"key":"a"}` || s.url != "http://shop.acme.test/hook" {
			t.Errorf("%+v", s)
		}
		if h := s.header; h.Get("Content-Type") != "application/json" || h.Get("Authorization") != "Bearer x" || h.Get("Webhook-Id") != "ev_1" {
			t.Errorf("%v", h)
		}
		if r.row(o.Number) != nil {
			t.Error("a delivered event is still in the outbox")
		}
		r.view(func(v intake.View) error {
			k, err := v.Key(gateway.Name{Tenant: "acme", Source: "shop", Key: "a"})
			if !k.Root.Delivered {
				t.Error("the key isn't done")
			}
			return err
		})
	})
}

// G19: a refusal is a dead letter at once; what may pass is tried max_tries times, also across a restart, by the delay law.
func TestG19FinalAndLastTries(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 4 })
		r.answers(always(403))
		r.start()
		o := r.event("a")
		synctest.Wait()
		if d := r.row(o.Number); len(r.sends()) != 1 || d == nil || d.State != gateway.Dead || d.Reason != "status 403" {
			t.Fatalf("%d requests, %+v", len(r.sends()), d)
		}
	})
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 4 })
		r.answers(always(503))
		r.start()
		o := r.event("a")
		for len(r.sends()) < 2 {
			pass(10 * time.Millisecond)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r.start()
		pass(time.Hour)
		all := r.sends()
		if len(all) != 4 {
			t.Fatalf("%d sends", len(all))
		}
		for i := 1; i < 4; i++ {
			gap, most := all[i].at-all[i-1].at, time.Second<<(i-1)
			if gap < most/2 || gap > most+50*time.Millisecond || all[i].id != all[0].id || all[i].attempt != string(rune('1'+i)) {
				t.Errorf("try %d came %v after the one before: %+v", i+1, gap, all[i])
			}
		}
		if d := r.row(o.Number); d == nil || d.State != gateway.Dead || d.Reason != "status 503" || d.Sends != 4 {
			t.Errorf("%+v", d)
		}
	})
}

// G11: a destination's 503 is no result: the event stays pending, and the upstream's next delivery has it tried at once.
func TestG11ADuplicateHastensAPendingEvent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.options.Rand = func() float64 { return 0.999 }
		r.answers(always(503))
		r.start()
		r.event("a")
		for range 6 { // until the next try is half a minute away
			pass(time.Duration(session.Delay(1000, 3_600_000, len(r.sends()), 1)) * time.Millisecond)
		}
		before := len(r.sends())
		pass(time.Second)
		if len(r.sends()) != before {
			t.Fatal("a try came early")
		}
		if o := r.event("a"); o.Decision != gateway.DuplicatePending {
			t.Fatalf("%+v", o)
		}
		synctest.Wait()
		if len(r.sends()) != before+1 {
			t.Fatalf("%d sends, want one more than %d", len(r.sends()), before)
		}
		r.answers(always(200))
		r.event("a")
		synctest.Wait()
		if o := r.event("a"); o.Decision != gateway.DuplicateDone {
			t.Fatalf("%+v", o)
		}
	})
}

// A dead letter that the upstream delivers again gets one more try, also where its tries are used up.
func TestADuplicateRevivesADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 2 })
		r.answers(always(500))
		r.start()
		o := r.event("a")
		pass(time.Minute)
		if _, dead := r.outbox(); dead != 1 || len(r.sends()) != 2 {
			t.Fatalf("%d dead after %d sends", dead, len(r.sends()))
		}
		r.event("a")
		synctest.Wait()
		if d := r.row(o.Number); len(r.sends()) != 3 || d == nil || d.State != gateway.Dead {
			t.Fatalf("%d sends, %+v", len(r.sends()), d)
		}
		r.answers(always(200))
		r.event("a")
		synctest.Wait()
		if waiting, dead := r.outbox(); waiting+dead != 0 || r.sends()[3].attempt != "4" {
			t.Fatalf("%d waiting, %d dead, %+v", waiting, dead, r.sends()[3])
		}
	})
}

// G20: each replay is one more send under the same id; one that the transport repeats is none.
func TestG20Replays(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.answers(always(404))
		r.start()
		r.event("a")
		synctest.Wait()
		for i, key := range []uint64{1, 2, 2} {
			o := r.enter(&gateway.Replay{Tenant: "acme", ID: "ev_1", Key: key, By: "ann"})
			if want := []gateway.Kind{gateway.Done, gateway.Done, gateway.Same}[i]; o.Kind != want {
				t.Errorf("replay %d: %v", i, o.Kind)
			}
			synctest.Wait()
		}
		all := r.sends()
		if len(all) != 3 || all[2].id != all[0].id || all[2].attempt != "3" || all[2].number != "1" {
			t.Errorf("%+v", all)
		}
	})
}

// G21: an event that always fails is set aside after its tries; all other keys go on, and its own key after it.
func TestG21AnEventThatAlwaysFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 5 })
		r.answers(func(s sent, _ context.Context) (*http.Response, error) {
			if s.id == "ev_1" {
				return status(500), nil
			}
			return status(200), nil
		})
		r.start()
		r.event("poison")
		pass(2 * time.Hour) // past the window: the next one is no repeat
		behind := r.event("poison")
		if r.row(behind.Number) != nil {
			synctest.Wait()
		}
		for i := range 20 {
			r.event(string(rune('a' + i)))
			synctest.Wait()
		}
		waiting, dead := r.outbox()
		if waiting != 0 || dead != 1 || len(r.sends()) != 5+1+20 {
			t.Fatalf("%d waiting, %d dead, %d sends", waiting, dead, len(r.sends()))
		}
	})
}

// G30: a try that times out and arrives late can be told by its lower number; all tries of an event have one id, and the next event of the
// key doesn't leave before.
func TestG30ALateTry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.Timeout = 10 * time.Second })
		first := true
		r.answers(func(_ sent, ctx context.Context) (*http.Response, error) {
			if first {
				first = false
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return status(200), nil
		})
		r.start()
		r.event("a")
		r.clock.move(2 * time.Hour) // another window
		if o := r.event("a"); o.Decision != gateway.Accept {
			t.Fatalf("%+v", o)
		}
		pass(9 * time.Second)
		if len(r.sends()) != 1 {
			t.Fatal("the second event left before the first was done")
		}
		pass(time.Minute)
		all := r.sends()
		if len(all) != 3 || all[0].id != all[1].id || all[0].number != "1" || all[1].number != "1" || all[2].id == all[0].id || all[2].number != "2" {
			t.Fatalf("%+v", all)
		}
	})
}
