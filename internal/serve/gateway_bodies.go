package serve

import (
	"context"
	"time"

	"hapax/internal/engine/trust"
)

// eraseEvery is how often bodies are looked for that have outlived their retention. A body may so be kept an hour longer,
// and two after a start or after the clock was set: a wrong clock must erase nothing.
const eraseEvery = time.Hour

// eraseBodies erases the bodies that their source no longer keeps, until ctx ends.
func (g *gatewayHouse) eraseBodies(ctx context.Context) {
	var watch trust.Watch
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wall, mono := g.clocks.Now()
		if trusted, _ := watch.Observe(wall, mono); trusted {
			g.eraseAsOf(ctx, wall)
		}
		timer.Reset(eraseEvery)
	}
}

func (g *gatewayHouse) eraseAsOf(ctx context.Context, now int64) {
	for _, r := range g.standing.Load().retentions {
		n, err := g.intake.EraseBodies(ctx, r.tenant, r.source, now-r.keep.Milliseconds())
		if err != nil && ctx.Err() == nil {
			g.log.Warn("bodies could not be erased", "tenant", r.tenant, "source", r.source, "error", err)
		}
		if n > 0 {
			g.log.Info("bodies were erased", "tenant", r.tenant, "source", r.source, "bodies", n)
		}
	}
}
