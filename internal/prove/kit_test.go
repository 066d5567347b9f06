package prove

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

// direct is an intake without a queue: each Enter is a commit.
type direct struct {
	store.Books
	fail   atomic.Pointer[error] // of the next views and commits
	twists atomic.Pointer[func(store.BooksView) store.BooksView]
}

// twist shows views otherwise than they are; nil: as they are.
func (d *direct) twist(f func(store.BooksView) store.BooksView) {
	if f == nil {
		d.twists.Store(nil)
		return
	}
	d.twists.Store(&f)
}

func (d *direct) failure() error {
	if err := d.fail.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *direct) Enter(ctx context.Context, commands ...gateway.Command) ([]gateway.Outcome, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	return d.Books.Enter(ctx, time.Now().UnixMilli(), commands)
}

func (d *direct) View(ctx context.Context, f func(intake.View) error) error {
	if err := d.failure(); err != nil {
		return err
	}
	return d.ViewBooks(ctx, func(v store.BooksView) error {
		if twist := d.twists.Load(); twist != nil {
			v = (*twist)(v)
		}
		return f(v)
	})
}

func (d *direct) Queued() <-chan struct{} { return nil }
func (d *direct) Failed() <-chan struct{} { return nil }

// filled makes a store with a policy, an open source that forwards, and n events of 3 keys.
func filled(t *testing.T, n int) *direct {
	t.Helper()
	d := &direct{Books: memory.New()}
	d.enter(t, &gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 100, LRUMinHits: 2}},
		&gateway.SetSource{Tenant: "a", Source: "s", Settings: gateway.Settings{Scope: settle.ScopeWire, LRUCapacity: 2, Open: true, Forward: true, Parts: 1}})
	for i := range n {
		d.enter(t, event(i))
	}
	return d
}

func event(i int) *gateway.Event {
	return &gateway.Event{
		Name: gateway.Name{Tenant: "a", Source: "s", Key: fmt.Sprint("k", i%3)}, ID: fmt.Sprintf("ev_%032d", i), Amount: "1.50", AmountOK: true,
		Value: settle.Amount{Whole: 1, Fraction: 50_000_000}, Currency: "USD", Body: &gateway.Body{},
	}
}

func (d *direct) enter(t *testing.T, commands ...gateway.Command) []gateway.Outcome {
	t.Helper()
	outcomes, err := d.Enter(t.Context(), commands...)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
