package serve

import (
	"context"
	"time"
)

// eraseEvery is how often bodies are looked for that have outlived their retention. A body may so be kept an hour longer.
const eraseEvery = time.Hour

// eraseBodies erases the bodies that their source no longer keeps, until ctx ends.
func (g *gatewayHouse) eraseBodies(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		for _, r := range g.standing.Load().retentions {
			n, err := g.intake.EraseBodies(ctx, r.tenant, r.source, g.clock()-r.keep.Milliseconds())
			if err != nil && ctx.Err() == nil {
				g.log.Warn("bodies could not be erased", "tenant", r.tenant, "source", r.source, "error", err)
			}
			if n > 0 {
				g.log.Info("bodies were erased", "tenant", r.tenant, "source", r.source, "bodies", n)
			}
		}
		timer.Reset(eraseEvery)
	}
}
