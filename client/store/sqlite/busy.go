//go:build !js

package sqlite

import (
	"context"
	"math/rand/v2"
	"time"

	"hapax/client/session"
)

// waiting is what bounds the wait for a lock that another process holds.
type waiting struct {
	ctx    context.Context // of the method at work; nil while opening
	opened bool
	since  time.Time // while opening
}

// The wait for a lock goes by the delay law, in small steps, as nobody tells when the lock is free: transactions take milliseconds.
const (
	busyBase  = 2     // ms
	busyCap   = 1_000 // ms
	openLimit = 10 * time.Second
)

// waitForLocks has SQLite ask this handle, each time that it finds the lock taken, whether to try again: until the lock is free, the method's
// context ends or the handle is closed; while opening for 10 s at most.
func (s *Store) waitForLocks() error {
	s.busy.since = time.Now()
	return s.db.conn.BusyHandler(func(_ context.Context, tries int) bool {
		if !s.busy.opened && time.Since(s.busy.since) > openLimit {
			return false
		}
		var ended <-chan struct{}
		if s.busy.ctx != nil {
			ended = s.busy.ctx.Done()
		}
		t := time.NewTimer(time.Duration(session.Delay(busyBase, busyCap, tries+1, rand.Float64())) * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-ended:
			return false
		case <-s.closing:
			return false
		}
	})
}
