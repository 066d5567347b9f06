package online

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// Medium is what outlives a store: it is opened, closed, and its power cut.
type Medium interface {
	Open() (Store, error)
	// Cut is the medium after a power cut at this moment: a store that is open on the old one is lost.
	Cut(r *rand.Rand) (Medium, error)
}

// Store is a store under test.
type Store interface {
	store.Books
	Close() error
}

// World is a gateway's store and all that happens to it. It is one seed's, and repeats exactly.
type World struct {
	rand   *rand.Rand
	medium Medium
	store  Store
	now    int64 // Unix ms
	ids    int
	acked  gateway.Head // what the last commit left that was told

	sources []source
	keys    []gateway.Name
	Seen    map[string]int // what happened, counted, so that a test can ask whether the stream has its aim
}

// NewWorld makes a world on an empty medium.
func NewWorld(seed uint64, medium Medium) (*World, error) {
	w := &World{rand: rand.New(rand.NewPCG(seed, 7)), medium: medium, now: 1_700_000_000_000, Seen: map[string]int{}}
	var err error
	if w.store, err = medium.Open(); err != nil {
		return nil, err
	}
	return w, w.begin()
}

// Store is the store as it is open now.
func (w *World) Store() Store { return w.store }

// Close ends the world.
func (w *World) Close() error { return w.store.Close() }

// enter commits commands and remembers what was told.
func (w *World) enter(commands ...gateway.Command) ([]gateway.Outcome, error) {
	outcomes, err := w.store.Enter(context.Background(), w.now, commands)
	if err != nil {
		return nil, err
	}
	err = w.view(func(v store.BooksView) error {
		w.acked = v.Head()
		return nil
	})
	return outcomes, err
}

func (w *World) view(f func(store.BooksView) error) error {
	return w.store.ViewBooks(context.Background(), f)
}

// restart closes and opens the store, or cuts its power; all that was told must still be there.
func (w *World) restart() error {
	if w.rand.IntN(2) == 0 {
		w.Seen["restart"]++
		if err := w.store.Close(); err != nil {
			return err
		}
	} else {
		w.Seen["power cut"]++
		after, err := w.medium.Cut(w.rand)
		if err != nil {
			return err
		}
		_ = w.store.Close() // the old one is lost
		w.medium = after
	}
	var err error
	if w.store, err = w.medium.Open(); err != nil {
		return err
	}
	return w.view(func(v store.BooksView) error {
		raw, err := v.Record(w.acked.Number)
		if err == nil && w.acked.Number > 0 && gateway.HashOf(raw) != w.acked.Hash {
			err = fmt.Errorf("record %d was told, and is another one after a restart", w.acked.Number)
		}
		return err
	})
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (w *World) chance(percent int) bool { return w.rand.IntN(100) < percent }
