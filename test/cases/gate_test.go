package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"hapax/internal/room"
	"hapax/internal/store"
)

// gate is a store whose commits can be held and made to fail, and whose purges can be awaited.
type gate struct {
	store.Store
	mu     sync.Mutex
	held   chan struct{} // commits wait for its close; nil: they don't
	came   int64         // commits that are held
	change chan struct{} // closed and replaced when came or purges rises
	purges int64         // purges by age that have ended
	how    string        // how the next commits fail
	fails  int64         // how many of them
}

// gatedBooks is a gate that keeps a gateway too, past which that goes.
type gatedBooks struct {
	*gate
	store.Books
}

func newGate() *gate { return &gate{change: make(chan struct{})} }

func (g *gate) changed() {
	close(g.change)
	g.change = make(chan struct{})
}

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held, g.came = make(chan struct{}), 0
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != nil {
		close(g.held)
		g.held = nil
	}
}

// failWith lets the next n commits fail: "before" anything is stored, "after" all is stored and synced, both of which no store can
// go on from, or "again", as a store says that can.
func (g *gate) failWith(how string, n int64) error {
	if how != "before" && how != "after" && how != "again" {
		return fmt.Errorf("a commit can fail before, after or again, not %q", how)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.how, g.fails = how, max(1, n)
	return nil
}

// until returns a channel that is closed once the condition holds.
func (g *gate) until(holds func() bool) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			g.mu.Lock()
			now, change := holds(), g.change
			g.mu.Unlock()
			if now {
				return
			}
			<-change
		}
	}()
	return done
}

// arrived is closed once n commits are held at the same time.
func (g *gate) arrived(n int64) <-chan struct{} {
	return g.until(func() bool { return g.held != nil && g.came >= max(1, n) })
}

// purged is closed once a purge by age has run that began after now.
func (g *gate) purged() <-chan struct{} {
	g.mu.Lock()
	from := g.purges
	g.mu.Unlock()
	// The first to end may have begun before.
	return g.until(func() bool { return g.purges >= from+2 })
}

var errPlanted = errors.New("a planted failure")

// Commit implements store.Store.
func (g *gate) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	g.mu.Lock()
	held, how := g.held, ""
	if held != nil {
		g.came++
		g.changed()
	}
	g.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	g.mu.Lock()
	if g.fails > 0 {
		g.fails--
		how = g.how
	}
	g.mu.Unlock()
	switch how {
	case "before":
		return nil, fmt.Errorf("%w: %w", store.ErrBroken, errPlanted)
	case "again":
		return nil, fmt.Errorf("%w: %w", store.ErrAgain, errPlanted)
	}
	outcomes, err := g.Store.Commit(ctx, b)
	if how == "after" && err == nil {
		return nil, fmt.Errorf("%w: %w", store.ErrBroken, errPlanted)
	}
	return outcomes, err
}

// Purge implements store.Store.
func (g *gate) Purge(ctx context.Context, p store.Policy, now int64) (store.Purged, error) {
	dropped, err := g.Store.Purge(ctx, p, now)
	if p.ResultAgeMs > 0 && err == nil {
		g.mu.Lock()
		g.purges++
		g.changed()
		g.mu.Unlock()
	}
	return dropped, err
}

// Checkpoint copies the store beside commits, for a backup while the server runs.
func (g *gate) Checkpoint(ctx context.Context, dir string, mode os.FileMode) error {
	c, can := g.Store.(interface {
		Checkpoint(ctx context.Context, dir string, mode os.FileMode) error
	})
	if !can {
		return errors.New("this store can't be copied")
	}
	return c.Checkpoint(ctx, dir, mode)
}
