package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hapax/internal/fanout"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Engine carries commands to a store and rows to their readers. Make one with New; it is safe for all goroutines.
type Engine struct {
	o     Options
	store store.Store
	bus   fanout.Bus

	queue   *queue
	members members
	sends   *buckets // new messages of each actor
	looks   *buckets // look-ups of each actor
	loaders chan struct{}
	stats   counters
	turn    atomic.Uint64 // spreads the waiting times of those who are turned away

	failed   chan struct{} // closed with the first failure of the store
	failOnce sync.Once
	broken   atomic.Bool

	ctx       context.Context // ends all goroutines beside the committer, and a commit that won't end
	cancel    context.CancelFunc
	committed chan struct{} // closed when the committer has ended
	unlisten  func()
	life      sync.Mutex // guards closing and additions to others
	closing   bool
	others    sync.WaitGroup
}

var _ Rooms = (*Engine)(nil)

// New starts an engine on an open store and a bus. It closes neither of them. End it with Close.
func New(st store.Store, bus fanout.Bus, o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.Fit == nil {
		o.Fit = func(rows []room.Message, _ int, _ bool) int { return len(rows) }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		o: o, store: st, bus: bus,
		queue:     newQueue(&o),
		sends:     newBuckets(o.SendRate, o.SendBurst, o.RateActors),
		looks:     newBuckets(o.SendRate*lookFactor, o.SendBurst*lookFactor, o.RateActors),
		loaders:   make(chan struct{}, o.Loaders),
		failed:    make(chan struct{}),
		committed: make(chan struct{}),
	}
	e.members = members{rooms: map[string]*feed{}, of: map[Subscriber][]*subscription{}, e: e}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.unlisten = bus.Listen(e.hear)
	go e.commits()
	e.background(e.purges)
	if o.Poll > 0 {
		e.background(e.poll)
	}
	return e, nil
}

// Identity implements Rooms.
func (e *Engine) Identity() Identity { return e.store.Identity() }

// Failed implements Rooms.
func (e *Engine) Failed() <-chan struct{} { return e.failed }

// Drain lets no new command in: they are answered Draining. What is queued is still committed and answered, and readers
// go on. It returns at once.
func (e *Engine) Drain() { e.queue.drain() }

// Close drains, waits until all that was queued has been answered, and ends the engine's goroutines. Where ctx ends first, the
// commit under way is given up: its commands are answered Unavailable, though it may have been stored. The error is then
// ctx's. The store and the bus are the caller's to close, afterwards.
func (e *Engine) Close(ctx context.Context) error {
	e.Drain()
	var err error
	select {
	case <-e.committed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.life.Lock()
	e.closing = true
	e.life.Unlock()
	e.unlisten()
	e.cancel()
	if err != nil {
		return fmt.Errorf("engine: a commit is still under way: %w", err)
	}
	ended := make(chan struct{})
	go func() { e.others.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("engine: a reading or a purge is still under way: %w", ctx.Err())
	}
}

// background runs f beside, unless the engine closes.
func (e *Engine) background(f func()) bool {
	e.life.Lock()
	defer e.life.Unlock()
	if e.closing {
		return false
	}
	e.others.Go(f)
	return true
}

// fail notes that the store can't go on.
func (e *Engine) fail(err error) {
	e.failOnce.Do(func() {
		e.o.Log.Error("the store can't go on; nothing is acknowledged until it has been opened anew", "error", err)
		e.broken.Store(true)
		close(e.failed)
	})
}

// readable returns ErrUnavailable once the store can't go on or the engine is closed.
func (e *Engine) readable() error {
	if e.broken.Load() || e.ctx.Err() != nil {
		return ErrUnavailable
	}
	return nil
}

// view reads from the store. A store that can't go on fails the engine.
func (e *Engine) view(ctx context.Context, f func(store.View) error) error {
	err := e.store.View(ctx, f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrBroken), errors.Is(err, store.ErrClosed):
		e.fail(err)
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		e.stats.readErrors.Add(1)
		e.o.Log.Error("reading from the store", "error", err)
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

// turnedAway is the outcome of a command that isn't taken. Waiting times are spread evenly between once and twice
// RetryAfter, so that those turned away together don't come back together.
func (e *Engine) turnedAway(k room.Kind) room.Outcome {
	base := max(1, e.o.RetryAfter.Milliseconds())
	const step = 0.6180339887 // golden ratio: consecutive turns fall far from each other
	turn := float64(e.turn.Add(1)) * step
	return room.Outcome{Kind: k, RetryAfterMs: base + int64((turn-float64(int64(turn)))*float64(base))}
}

func milliseconds(d time.Duration) int64 {
	return max(1, int64((d+time.Millisecond-1)/time.Millisecond))
}
