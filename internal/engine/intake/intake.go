package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// Intake carries commands to the books of a store. Make one with New; it is safe for all goroutines.
type Intake struct {
	o     Options
	books store.Books
	queue *queue
	stats counters

	queued   chan struct{}
	failed   chan struct{} // closed with the first failure that the store can't recover from
	failOnce sync.Once
	broken   atomic.Bool

	ctx       context.Context // ends a commit that won't end
	cancel    context.CancelFunc
	committed chan struct{} // closed when the committer has ended
}

var _ Books = (*Intake)(nil)

// New starts an intake on the books of an open store, which stays the caller's to close. End it with Close.
func New(books store.Books, o Options) (*Intake, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	i := &Intake{
		o: o, books: books, queue: newQueue(&o),
		queued: make(chan struct{}, 1), failed: make(chan struct{}), committed: make(chan struct{}),
	}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	go i.commits()
	return i, nil
}

// Enter implements Books.
func (i *Intake) Enter(ctx context.Context, commands ...gateway.Command) ([]gateway.Outcome, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i.broken.Load() {
		return nil, ErrUnavailable
	}
	t := &ticket{commands: commands, bytes: cost(commands), done: make(chan answer, 1)}
	if err := i.queue.push(t); err != nil {
		i.stats.turnedAway.Add(1)
		return nil, err
	}
	select {
	case a := <-t.done:
		return a.outcomes, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// View implements Books.
func (i *Intake) View(ctx context.Context, f func(View) error) error {
	// What f returns is the caller's own, and passes as it is: only what the store says of itself is translated.
	var inside error
	err := i.books.ViewBooks(ctx, func(v store.BooksView) error {
		inside = f(v)
		return inside
	})
	if err == nil || inside != nil && errors.Is(err, inside) && !broken(err) {
		return err
	}
	return i.unavailable(ctx, "reading", err)
}

// EraseBodies implements Books.
func (i *Intake) EraseBodies(ctx context.Context, tenant, source string, before int64) (int64, error) {
	n, err := i.books.EraseBodies(ctx, tenant, source, before)
	if err != nil {
		err = i.unavailable(ctx, "erasing bodies", err)
	}
	return n, err
}

// unavailable is what a caller gets for an error of the store. One after which the store can't go on fails the intake.
func (i *Intake) unavailable(ctx context.Context, doing string, err error) error {
	switch {
	case broken(err):
		i.fail(err)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		i.o.Log.Error("the store failed while "+doing, "error", err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func broken(err error) bool {
	return errors.Is(err, store.ErrBroken) || errors.Is(err, store.ErrClosed)
}

// Queued implements Books.
func (i *Intake) Queued() <-chan struct{} { return i.queued }

// Failed implements Books.
func (i *Intake) Failed() <-chan struct{} { return i.failed }

// Drain lets nothing more in: Enter returns ErrDraining. What is queued is still committed and answered. It returns at once.
func (i *Intake) Drain() { i.queue.drain() }

// Close drains, waits until all that was queued has been answered, and ends the committer. Where ctx ends first, the commit under way is
// given up: its callers get ErrUnavailable, though it may have been stored. The error is then ctx's.
func (i *Intake) Close(ctx context.Context) error {
	i.Drain()
	defer i.cancel()
	select {
	case <-i.committed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("intake: a commit is still under way: %w", ctx.Err())
	}
}

// fail notes that the store can't go on.
func (i *Intake) fail(err error) {
	i.failOnce.Do(func() {
		i.o.Log.Error("the store can't go on; nothing is acknowledged until it has been opened anew", "error", err)
		i.broken.Store(true)
		close(i.failed)
	})
}
