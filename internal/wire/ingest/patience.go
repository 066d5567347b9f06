package ingest

import (
	"context"
	"sync"
	"time"
)

// patience bounds how long deliveries wait for their commit. Those that come within a quarter of that time share one context: a timer for
// each would be a twentieth of what a delivery costs. That a sender has gone ends no wait, as the commit goes on all the same.
type patience struct {
	wait time.Duration

	mu     sync.Mutex
	shared context.Context
	end    context.CancelFunc
	renew  time.Time
}

// context returns a context that ends between once and 1¼ times wait from now.
func (p *patience) context() context.Context {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shared == nil || now.After(p.renew) {
		// The one before ends by its time: deliveries still wait by it.
		p.shared, p.end = context.WithTimeout(context.Background(), p.wait+p.wait/4)
		p.renew = now.Add(p.wait / 4)
	}
	return p.shared
}
