package client

import (
	"context"
	"sync"

	"hapax/client/session"
)

// waits are the callers that wait for a row's end, or for room in the outbox.
type waits struct {
	mu    sync.Mutex
	rows  map[Key][]chan outcome
	freed chan struct{} // closed and replaced when a row leaves the queue
}

type outcome struct {
	receipt Receipt
	err     error
}

func (w *waits) init() {
	w.rows = make(map[Key][]chan outcome)
	w.freed = make(chan struct{})
}

func (w *waits) space() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.freed
}

func (w *waits) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.freed)
	w.freed = make(chan struct{})
}

func (w *waits) add(k Key) chan outcome {
	ch := make(chan outcome, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[k] = append(w.rows[k], ch)
	return ch
}

func (w *waits) remove(k Key, ch chan outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, o := range w.rows[k] {
		if o == ch {
			w.rows[k] = append(w.rows[k][:i:i], w.rows[k][i+1:]...)
		}
	}
	if len(w.rows[k]) == 0 {
		delete(w.rows, k)
	}
}

func (w *waits) tell(k Key, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.rows[k] {
		ch <- o // each is told once
	}
	delete(w.rows, k)
}

func (w *waits) gone(k Key) {
	w.tell(k, outcome{err: ErrGone})
	w.free()
}

// hear tells the waiting what an event means to them.
func (w *waits) hear(e Event) {
	switch e := e.(type) {
	case session.RowConfirmed:
		w.tell(e.Key, outcome{receipt: Receipt{MessageID: e.MessageID, Seq: e.Seq, Epoch: e.Epoch, At: e.At, Duplicate: e.Duplicate}})
		w.free()
	case session.RowChanged:
		if stuck(e.Row) {
			w.tell(e.Row.Key, outcome{err: &RowError{Row: e.Row}})
			w.free()
		}
	case session.RowEvicted:
		w.gone(e.Row.Key)
	}
}

// stuck reports whether a row will not be confirmed without the app's word.
func stuck(r Row) bool { return r.Aside() || r.Reason != "" }

// WaitAck waits until a row of the outbox is confirmed and returns what the server made of it. It ends with a *RowError
// (ErrParked, ErrUncertain) where the row steps aside or its room is held, ErrGone where it is removed, ErrNoRow where there is
// no such row, and none confirmed among the newest of its room in the store.
func (c *Client) WaitAck(ctx context.Context, room, id string) (Receipt, error) {
	k := Key{Room: room, ID: id}
	ch := c.waits.add(k)
	defer func() { c.waits.remove(k, ch) }()
	seen := false
	for {
		changed := c.hub.changes()
		r, there, err := c.store.Find(ctx, k)
		switch {
		case err != nil:
			return Receipt{}, err
		case there && stuck(r):
			return Receipt{}, &RowError{Row: r}
		case !there:
			return c.confirmed(ctx, k, seen, ch)
		}
		seen = true
		select {
		case o := <-ch:
			return o.receipt, o.err
		case <-changed: // perhaps by another process, which tells nobody here
		case <-ctx.Done():
			return Receipt{}, ctx.Err()
		case <-c.ctx.Done():
			return Receipt{}, ErrClosed
		}
	}
}

// recentRows is how many of a room's newest rows are searched for a message that left the outbox.
const recentRows = 1000

// confirmed finds out what became of a row that is not in the outbox.
func (c *Client) confirmed(ctx context.Context, k Key, seen bool, ch chan outcome) (Receipt, error) {
	select {
	case o := <-ch:
		return o.receipt, o.err
	default:
	}
	rows, err := c.store.View(ctx, k.Room, 0, recentRows)
	if err != nil {
		return Receipt{}, err
	}
	owner, err := c.store.Owner(ctx)
	if err != nil {
		return Receipt{}, err
	}
	for _, m := range rows {
		if m.ClientMessageID == k.ID && m.Actor == owner.Actor {
			return Receipt{MessageID: m.MessageID, Seq: m.Seq, Epoch: m.Epoch, At: m.At}, nil
		}
	}
	if seen {
		return Receipt{}, ErrGone
	}
	return Receipt{}, ErrNoRow
}
