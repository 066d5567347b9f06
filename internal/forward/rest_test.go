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

// A destination that is down gets rest that grows to an hour; rest uses up no tries, and one probe ends it.
func TestADestinationThatIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 6 })
		r.isDown(errDown)
		r.start()
		const rows = 100
		for i := range rows {
			r.event(fmt.Sprint("k", i))
		}
		pass(24 * time.Hour)
		all := r.sends()
		if n := len(all); n < 24+8 || n > 48+16 {
			t.Errorf("%d probes in a day", n)
		}
		tries := map[string]int{}
		for i, s := range all {
			tries[s.id]++
			if i > 0 && i < 12 {
				if gap, most := s.at-all[i-1].at, time.Second<<(i-1); gap < most/2 || gap > min(most, time.Hour)+10*time.Millisecond {
					t.Errorf("probe %d came %v after the one before", i+1, gap)
				}
			}
		}
		for id, n := range tries {
			if n > 1 {
				t.Errorf("%s was tried %d times while others weren't", id, n)
			}
		}
		if waiting, dead := r.outbox(); waiting != rows || dead != 0 {
			t.Errorf("%d waiting, %d dead", waiting, dead)
		}
		if stuck := r.service.Stuck(); len(stuck) != 1 || stuck[0].Held || stuck[0].Rests < 12 {
			t.Errorf("%+v", stuck)
		}
		r.isDown(nil)
		pass(time.Hour + time.Second)
		if waiting, dead := r.outbox(); waiting+dead != 0 {
			t.Errorf("%d waiting, %d dead after it came back", waiting, dead)
		}
		if stuck := r.service.Stuck(); len(stuck) != 0 {
			t.Errorf("%+v", stuck)
		}
	})
}

// Many that fail at once count as one rest, and a duplicate doesn't break it.
func TestARestIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.options.Rand = func() float64 { return 0.999 }
		r.start()
		r.event("first") // shows that it works
		synctest.Wait()
		r.answers(always(503))
		for i := range 20 {
			r.event(fmt.Sprint("k", i))
		}
		synctest.Wait()
		if n := len(r.sends()); n < 1+restAfter || n > 21 {
			t.Fatalf("%d sends", n)
		}
		before := len(r.sends())
		r.event("k0")
		pass(500 * time.Millisecond)
		if n := len(r.sends()); n != before {
			t.Errorf("%d sends during the rest", n-before)
		}
		pass(time.Second) // the rest of a second ends with one probe
		if n := len(r.sends()); n != before+1 {
			t.Errorf("%d probes, want one", n-before)
		}
	})
}

// Keys that always fail are no sign of a destination that is down, so long as others get through; nor do they grow its rests alone.
func TestPoisonIsNoReasonToRestForLong(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.answers(func(s sent, _ context.Context) (*http.Response, error) {
			switch s.id {
			case "ev_1", "ev_2", "ev_3":
				return status(500), nil
			}
			return status(200), nil
		})
		r.start()
		for i := range 3 {
			r.event(fmt.Sprint("poison", i))
		}
		pass(24 * time.Hour) // nothing else comes
		r.event("good")
		pass(2 * time.Second)
		all := r.sends()
		if last := all[len(all)-1]; last.id != "ev_4" {
			t.Errorf("a good event waits for poison: %+v", r.service.Stuck())
		}
	})
}

// 72 hours after it was accepted a failed try is the last, and its reason stays.
func TestTheEndOfTries(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.answers(always(502))
		r.start()
		o := r.event("a")
		pass(71 * time.Hour)
		if d := r.row(o.Number); d.State != gateway.Waiting {
			t.Fatalf("%+v", d)
		}
		pass(time.Hour)
		d := r.row(o.Number)
		if d.State != gateway.Dead || d.Reason != "status 502" {
			t.Errorf("%+v", d)
		}
		all := r.sends()
		if last := all[len(all)-1].at; last > 72*time.Hour || last < 70*time.Hour {
			t.Errorf("the last try was at %v", last)
		}
		for i := 14; i < len(all); i++ {
			if gap := all[i].at - all[i-1].at; gap < 30*time.Minute || gap > time.Hour+50*time.Millisecond {
				t.Errorf("try %d came %v after the one before", i+1, gap)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		says  string
		least time.Duration
		most  time.Duration
	}{
		{"120", 2 * time.Minute, 2 * time.Minute},
		{"Sat, 01 Jan 2000 00:10:00 GMT", 10 * time.Minute, 10 * time.Minute}, // a bubble begins at midnight of that day
		{"1000000", 24 * time.Hour, 24 * time.Hour},
		{"99999999999999999999", 24 * time.Hour, 24 * time.Hour},
		{"0", 0, time.Second},
		{"-5", 0, time.Second},
		{"1.5", 0, time.Second},
		{"soon", 0, time.Second},
		{"Fri, 31 Dec 1999 00:10:00 GMT", 0, time.Second},
	} {
		for _, code := range []int{429, 503} {
			bubble(t, func(t *testing.T, r *rig) {
				r.source("acme", "shop", nil)
				r.answers(func(sent, context.Context) (*http.Response, error) {
					return status(code, "Retry-After", c.says), nil
				})
				r.start()
				r.event("a")
				pass(c.most + time.Second)
				all := r.sends()
				if gap := all[1].at - all[0].at; gap < c.least || gap > c.most+50*time.Millisecond {
					t.Errorf("%d, Retry-After %q: the next try after %v", code, c.says, gap)
				}
			})
		}
	}
}

// Slow destinations keep their own slots and the pool busy; a quick one goes on, and requests stay bounded.
func TestSlowDestinationsHoldUpNobody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const slow, pool = 100, 20
		r.options.Pool = pool
		for i := range slow {
			r.source("acme", fmt.Sprint("slow", i), func(d *Destination) { d.Timeout = time.Minute })
		}
		r.source("acme", "quick", nil)
		r.answers(func(s sent, ctx context.Context) (*http.Response, error) {
			if s.url == "http://quick.acme.test/hook" || s.number == "1" && s.body == `{"key":"first"}` {
				return status(200), nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		r.start()
		for i := range slow {
			r.event("first", fmt.Sprint("slow", i))
		}
		synctest.Wait()
		for i := range slow {
			for j := range 10 {
				r.event(fmt.Sprint("k", j), fmt.Sprint("slow", i))
			}
		}
		synctest.Wait()
		before := len(r.sends())
		if under := before - slow; under < slow || under > slow+pool {
			t.Errorf("%d requests under way", under)
		}
		for j := range 50 {
			r.event(fmt.Sprint("k", j), "quick")
		}
		synctest.Wait()
		if n := len(r.sends()) - before; n != 50 {
			t.Errorf("%d of 50 went on", n)
		}
	})
}

// Nothing due costs no reading of rows: a look at the log a second, whatever the number of sources.
func TestIdleSourcesAreNotPolled(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for i := range 200 {
			r.source("acme", fmt.Sprint("s", i), nil)
		}
		r.start()
		for i := range 200 {
			r.event("a", fmt.Sprint("s", i))
		}
		pass(time.Minute)
		looks := r.books.looked()
		pass(time.Hour)
		if n := r.books.looked() - looks; n > 3600+2 {
			t.Errorf("%d readings in an idle hour", n)
		}
	})
}
