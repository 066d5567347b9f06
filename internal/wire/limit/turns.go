package limit

import (
	"context"
	"sync"
)

// Turns let a number work at once, in turn, and others wait. One actor has a quarter of the places at most, and waits for those in a queue of its
// own: however much it asks for, others find only so much of it before them.
type Turns struct {
	all  chan struct{} // nil: without bound
	each int

	mu     sync.Mutex
	actors map[string]*turn
}

type turn struct {
	own   chan struct{}
	users int // under Turns.mu
}

// NewTurns returns turns for total at once; 0 is without bound.
func NewTurns(total int) *Turns {
	t := &Turns{each: max(1, total/shareOf), actors: make(map[string]*turn)}
	if total > 0 {
		t.all = make(chan struct{}, total)
	}
	return t
}

// Take waits for the actor's turn, as long as ctx lasts. Who has it calls done.
func (t *Turns) Take(ctx context.Context, actor string) (done func(), err error) {
	if t.all == nil {
		return func() {}, nil
	}
	own := t.enter(actor)
	select {
	case own <- struct{}{}:
	case <-ctx.Done():
		t.leave(actor)
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
		return func() {
			<-t.all
			<-own
			t.leave(actor)
		}, nil
	case <-ctx.Done():
		<-own
		t.leave(actor)
		return nil, ctx.Err()
	}
}

func (t *Turns) enter(actor string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.actors[actor]
	if a == nil {
		a = &turn{own: make(chan struct{}, t.each)}
		t.actors[actor] = a
	}
	a.users++
	return a.own
}

func (t *Turns) leave(actor string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.actors[actor]
	if a.users--; a.users == 0 {
		delete(t.actors, actor)
	}
}
