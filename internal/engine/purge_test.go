package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine"
	"hapax/internal/store"
)

// skewed is the bubble's clock with a wall clock that a test moves.
type skewed struct {
	engine.Clock
	mu   sync.Mutex
	skew time.Duration
}

func (c *skewed) Now() (int64, time.Duration) {
	wall, mono := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	return wall + c.skew.Milliseconds(), mono
}

func (c *skewed) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += d
}

// A server whose clock jumps 50 years ahead drops nothing by age; by number it needs no clock.
func TestPurgeBelievesAClockOnlyAfterAnHour(t *testing.T) {
	const years = 50 * 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		clock := &skewed{Clock: engine.SystemClock()}
		o := options()
		o.Clock = clock
		o.Policy = store.Policy{ResultAgeMs: o.RetentionMs, JournalAgeMs: o.RetentionMs, JournalRows: 8}
		r := start(t, nil, o)
		defer r.stop()
		r.fill("ann", "r", 10)
		clock.move(years)
		time.Sleep(o.PurgeEvery + time.Second)
		if n := len(r.log("r")); n != 8 {
			t.Errorf("%d rows are left, want 8: by number", n)
		}
		time.Sleep(50 * time.Minute)
		if s := r.Stats(); s.PurgedResults != 0 || s.PurgedMessages != 2 || s.ClockJumps != 1 {
			t.Errorf("%d results and %d messages purged, %d jumps", s.PurgedResults, s.PurgedMessages, s.ClockJumps)
		}
		clock.move(-years)
		time.Sleep(2 * time.Hour)
		if s := r.Stats(); s.PurgedResults != 0 || s.ClockJumps != 2 {
			t.Errorf("%d results purged, %d jumps", s.PurgedResults, s.ClockJumps)
		}
		time.Sleep(time.Duration(o.RetentionMs) * time.Millisecond)
		if s := r.Stats(); s.PurgedResults != 10 || s.PurgedMessages != 10 {
			t.Errorf("after the retention: %d results and %d messages purged", s.PurgedResults, s.PurgedMessages)
		}
	})
}

type purgeFails struct {
	*faults
	err error
}

func (p *purgeFails) Purge(context.Context, store.Policy, int64) (store.Purged, error) {
	return store.Purged{}, p.err
}

func TestPurgeThatFails(t *testing.T) {
	for err, broken := range map[error]bool{errors.New("an unreadable block"): false, store.ErrBroken: true} {
		synctest.Test(t, func(t *testing.T) {
			o := options()
			o.Policy.JournalRows = 1
			r := start(t, nil, options())
			e, err2 := engine.New(&purgeFails{r.store, err}, r.bus, o)
			if err2 != nil {
				t.Fatal(err2)
			}
			time.Sleep(3*o.PurgeEvery + time.Second)
			s := e.Stats()
			if s.Failed != broken || !broken && s.PurgeErrors != 3 {
				t.Errorf("%v: failed %v, %d errors", err, s.Failed, s.PurgeErrors)
			}
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
			r.stop()
		})
	}
}
