package engine

import (
	"errors"

	"hapax/internal/engine/trust"
	"hapax/internal/store"
)

// purges drops what the policy no longer keeps, in small steps beside commits.
func (e *Engine) purges() {
	var t trust.Watch
	t.Observe(e.o.Clock.Now())
	for e.pause(e.o.PurgeEvery) {
		wall, mono := e.o.Clock.Now()
		trusted, jumped := t.Observe(wall, mono)
		if jumped {
			e.stats.clockJumps.Add(1)
			e.o.Log.Warn("the wall clock was moved; nothing is dropped by age for an hour")
		}
		p := e.o.Policy
		if !trusted {
			p.ResultAgeMs, p.JournalAgeMs = 0, 0
		}
		if p == (store.Policy{}) || e.broken.Load() {
			continue
		}
		dropped, err := e.store.Purge(e.ctx, p, wall)
		e.stats.purgedResults.Add(uint64(dropped.Results))
		e.stats.purgedMessages.Add(uint64(dropped.Messages))
		switch {
		case err == nil || e.ctx.Err() != nil:
		case errors.Is(err, store.ErrBroken), errors.Is(err, store.ErrClosed):
			e.fail(err)
		default:
			e.stats.purgeErrors.Add(1)
			e.o.Log.Error("purging the store", "error", err)
		}
	}
}
