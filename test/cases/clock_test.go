package cases

import (
	"sync"
	"time"

	"hapax/internal/engine"
)

// clock is the machine's, moved by orders. Either half can be moved alone: so a wall clock that somebody sets differs from time
// that passes. It can be made to stand, for what is right or wrong by a second.
type clock struct {
	mu         sync.Mutex
	system     engine.Clock
	wall, mono int64 // ms
	stands     int64 // Unix ms at which the wall clock stands; 0: it goes
}

// Now implements engine.Clock.
func (c *clock) Now() (int64, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.system == nil {
		c.system = engine.SystemClock()
	}
	wall, mono := c.system.Now()
	if c.stands != 0 {
		wall = c.stands
	}
	return wall + c.wall, mono + time.Duration(c.mono)*time.Millisecond
}

func (c *clock) shift(o order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += o.Wall
	c.mono += o.Mono
	if o.Stand != 0 {
		c.stands, c.wall = o.Stand, o.Wall
	}
}
