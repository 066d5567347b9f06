package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"hapax/internal/config"
	"hapax/internal/engine"
	"hapax/internal/engine/intake"
	"hapax/internal/forward"
	"hapax/internal/gateway"
	"hapax/internal/prove"
	"hapax/internal/store"
	"hapax/internal/wire"
	"hapax/internal/wire/admin"
	"hapax/internal/wire/gatewayapi"
	"hapax/internal/wire/ingest"
	"hapax/protocol"
)

// gatewayHouse is the gateway's part of a server: ingest, management, forwarding, proof, over one intake.
type gatewayHouse struct {
	config  config.Gateway
	log     *slog.Logger
	clock   func() int64 // Unix ms
	clocks  engine.Clock // the same, with the one that only goes on
	intake  *intake.Intake
	ingest  *ingest.Server
	forward *forward.Service
	prover  *prove.Prover
	health  *admin.Health
	diskLow *atomic.Bool                 // nothing new is stored
	lost    atomic.Pointer[gateway.Loss] // what the log lost and nobody has accepted

	standing atomic.Pointer[plan] // what is in force
	serving  atomic.Bool          // a source is configured, or the log holds something
	begin    sync.Once

	// The forwarder ends before the intake, the prover after it: its last head is that of the last commit.
	forwarding, proving parts
}

// parts are goroutines that end together.
type parts struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
}

func newParts() parts {
	ctx, cancel := context.WithCancel(context.Background())
	return parts{ctx: ctx, cancel: cancel}
}

// end ends them and waits as long as ctx lasts.
func (p *parts) end(ctx context.Context, what string) error {
	p.cancel()
	done := make(chan struct{})
	go func() { p.group.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
}

// errNoBooks says that a store without a gateway's half was given one to serve.
var errNoBooks = errors.New("this store keeps no gateway")

// openGateway opens the gateway over the store and lets the configuration stand. It serves nothing before start.
func (s *server) openGateway(ctx context.Context) error {
	books, can := s.store.(store.Books)
	if !can {
		if s.config.Gateway.Configured() {
			return fmt.Errorf("%w: gateway: %w", ErrConfig, errNoBooks)
		}
		return nil
	}
	p, err := planGateway(&s.config.Gateway)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	g := &gatewayHouse{config: s.config.Gateway, log: s.log, health: &s.health, diskLow: &s.diskLow, clock: s.wall, clocks: s.host.Clock, forwarding: newParts(), proving: newParts()}
	options := intake.DefaultOptions()
	options.Log, options.Now = s.log, func() time.Time { return time.UnixMilli(s.wall()) }
	if g.intake, err = intake.New(books, options); err != nil {
		return err
	}
	s.gateway = g
	if err := g.hold(ctx); err != nil {
		return err
	}
	if err := g.settle(ctx, p); err != nil {
		return err
	}
	// Before the first delivery: an event of a key in a file must not be rejected as unknown.
	if err := g.register(ctx, p.registries); err != nil {
		return err
	}
	return g.build(s, p)
}

func (s *server) wall() int64 {
	at, _ := s.host.Clock.Now()
	return at
}

// build makes the parts and puts their routes into the door.
func (g *gatewayHouse) build(s *server, p *plan) (err error) {
	l, t := s.config.Gateway.Limits, s.config.Timeouts
	g.prover = prove.New(prove.Options{
		Books: g.intake, Log: s.log, Every: g.config.Proof.Every, Pace: g.config.Proof.Pace, Anchor: g.config.Anchor,
		Changed: func(reason string, blocked bool) {
			if blocked {
				s.health.Down("proof", reason)
			} else {
				s.health.Up("proof")
			}
		},
	})
	g.ingest, err = ingest.New(ingest.Options{
		Books: g.intake, Metrics: s.metrics, Log: s.log, Blocked: g.closed,
		Now: func() time.Time { return time.UnixMilli(s.wall()) }, Wait: t.Send, RetryAfter: time.Second, Requests: l.Requests,
		ReadTime: t.Body, Rate: l.UnsignedRate, Burst: l.UnsignedBurst, MaxBody: l.Body,
		Clients: s.admission.Proxies, Bodies: s.admission.Bodies,
	})
	if err != nil {
		return err
	}
	g.forward = forward.New(g.intake, forward.Options{Clock: s.host.Clock, Log: s.log, Metrics: forward.NewMetrics(s.metrics.Registry())})
	if err := g.stand(p); err != nil {
		return err
	}
	s.metrics.Registry().MustRegister(&gatewayFigures{gateway: g, log: s.log})
	s.door.Mount(ingest.Route, g.whileServing(s.door, g.ingest))
	gatewayapi.Open(s.door, gatewayapi.Options{Books: g.intake, Log: s.log, Scan: l.Scan, Now: s.wall, Serving: g.serving.Load, Stuck: g.stuck})
	return nil
}

// stuck tells of the sources whose events don't leave.
func (g *gatewayHouse) stuck() (all []gatewayapi.Stuck) {
	for _, s := range g.forward.Stuck() {
		all = append(all, gatewayapi.Stuck{Tenant: s.Tenant, Source: s.Source, Held: s.Held, RestsUntil: s.Until})
	}
	return all
}

// whileServing answers like an address where there is nothing, as long as no gateway is configured.
func (g *gatewayHouse) whileServing(door *wire.Door, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.serving.Load() {
			door.Refuse(w, wire.Error(protocol.NotFound, "there is nothing at this address", 0))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// stand lets a plan whose settings have been entered be what deliveries are read and forwarded by.
func (g *gatewayHouse) stand(p *plan) error {
	if err := g.forward.Set(p.destinations); err != nil {
		return err
	}
	g.ingest.Set(p.sources)
	g.standing.Store(p)
	return nil
}

// start sets the goroutines off: the proof, forwarding, the erasing of bodies, the registry files. Without a gateway it does nothing, until
// a reload brings one.
func (g *gatewayHouse) start() {
	if g == nil || !g.serving.Load() {
		return
	}
	g.begin.Do(func() {
		g.prover.Tell()
		g.proving.group.Go(func() { g.prover.Run(g.proving.ctx) })
		g.forwarding.group.Go(func() {
			if err := g.forward.Run(g.forwarding.ctx); err != nil {
				g.log.Error("forwarding ended", "error", err)
			}
		})
		g.forwarding.group.Go(func() { g.eraseBodies(g.forwarding.ctx) })
	})
}

// failed is closed once the intake's store can't go on; nil, which never is, without a gateway.
func (g *gatewayHouse) failed() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.intake.Failed()
}

// drain lets no more deliveries in, and sets no more requests off to destinations.
func (g *gatewayHouse) drain(spreadMs int64) {
	if g != nil {
		g.ingest.Drain(spreadMs)
		g.forwarding.cancel()
	}
}

// closeWait bounds how long the parts may take to end once all requests have: the forwarder's grace and a few commits.
const closeWait = forward.DefaultGrace + 5*time.Second

// close ends the parts in order: what is sent is entered, what was entered is committed, the last head is noted. It has a time of its own:
// that of the drain may have gone to slow clients.
func (g *gatewayHouse) close(ctx context.Context) error {
	if g == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	return errors.Join(g.forwarding.end(ctx, "ending the forwarder"), g.checkLast(ctx), g.intake.Close(ctx), g.proving.end(ctx, "ending the proof"))
}

// unproved tells whether the last proof of the log failed.
func (g *gatewayHouse) unproved() bool { return g != nil && g.prover != nil && g.prover.Failed() }

// checkLast notes that the log is checked up to its end, so that the next start has nothing to look at. What can't be checked in time, it will.
func (g *gatewayHouse) checkLast(ctx context.Context) error {
	if g.prover == nil || !g.serving.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeWait/2)
	defer cancel()
	if err := g.prover.Check(ctx); err != nil {
		g.log.Warn("the log's last records could not be checked; the next start does so", "error", err)
	}
	return nil
}
