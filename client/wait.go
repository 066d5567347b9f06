package client

import (
	"context"
	"slices"
	"sync"

	"hapax/client/session"
	"hapax/client/store"
)

// waits are the callers that wait for a row's end, or for room in the outbox. However many wait, an event finds those that it concerns
// by their key, and what no event told of is looked for once for all of them.
type waits struct {
	mu   sync.Mutex
	rows map[Key][]*wait
	line []*turn // for room in the outbox, first come first served
	last int64   // number of a place in line
}

// wait is one who waits for a row's end.
type wait struct {
	done chan outcome // buffered
	seen bool         // its row was seen in the outbox
}

type outcome struct {
	receipt Receipt
	err     error
}

func (w *waits) init() { w.rows = make(map[Key][]*wait) }

func (w *waits) add(k Key) *wait {
	one := &wait{done: make(chan outcome, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[k] = append(w.rows[k], one)
	return one
}

func (w *waits) remove(k Key, one *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.DeleteFunc(w.rows[k], func(o *wait) bool { return o == one })
	if len(rest) == 0 {
		delete(w.rows, k)
		return
	}
	w.rows[k] = rest
}

func (w *waits) saw(one *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.seen = true
}

func (w *waits) tell(k Key, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.rows[k] {
		one.done <- o // each is told once
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

// pending returns the keys whose rows were seen and are waited for.
func (w *waits) pending() (keys []Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, all := range w.rows {
		if slices.ContainsFunc(all, func(o *wait) bool { return o.seen }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// look tells those who wait for the rows of keys what another process did without a word, by the outbox as it was read since.
func (w *waits) look(ctx context.Context, s store.Store, keys []Key, rows []store.Row) {
	if len(keys) > 0 {
		there := make(map[Key]*store.Row, len(rows))
		for i := range rows {
			there[rows[i].Key] = &rows[i]
		}
		for _, k := range keys {
			if r := there[k]; r != nil {
				if stuck(*r) {
					w.tell(k, outcome{err: &RowError{Row: *r}})
				}
				continue
			}
			r, ok, err := s.Receipt(ctx, k)
			switch {
			case err != nil:
				return // told of by what needs the store
			case ok:
				w.tell(k, outcome{receipt: receiptOf(r)})
			default:
				w.tell(k, outcome{err: ErrGone})
			}
		}
	}
	w.free()
}

// turn is a place in line for room in the outbox.
type turn struct {
	number int64
	come   chan struct{} // closed when a row left the queue and nobody before it waits
}

// enter gets in line, back in its place with the number that it had.
func (w *waits) enter(number int64) *turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if number == 0 {
		w.last++
		number = w.last
	}
	t := &turn{number: number, come: make(chan struct{})}
	i, _ := slices.BinarySearchFunc(w.line, number, func(o *turn, n int64) int { return int(o.number - n) })
	w.line = slices.Insert(w.line, i, t)
	return t
}

// leave ends the waiting. A turn that came already goes to the next.
func (w *waits) leave(t *turn) {
	w.mu.Lock()
	i := slices.Index(w.line, t)
	if i >= 0 {
		w.line = slices.Delete(w.line, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 {
		w.free()
	}
}

// free gives the turn to the first in line, who passes it on once its row is stored, or when it gives up.
func (w *waits) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		close(w.line[0].come)
		w.line = w.line[1:]
	}
}

// stuck reports whether a row will not be confirmed without the app's word.
func stuck(r Row) bool { return r.Aside() || r.Reason != "" }

func receiptOf(r store.Receipt) Receipt {
	return Receipt{MessageID: r.MessageID, Seq: r.Seq, Epoch: r.Epoch, At: r.At}
}

// WaitAck waits until a row of the outbox is confirmed and returns what the server made of it, also where the message itself isn't held:
// the store keeps the receipts of the last rows (store.Limits.Receipts). It ends with a *RowError
// (ErrParked, ErrUncertain) where the row steps aside or its room is held, ErrGone where it is removed, ErrNoRow where there is
// no such row and no receipt of one. The store is asked twice at most, however long it takes.
func (c *Client) WaitAck(ctx context.Context, room, id string) (Receipt, error) {
	k := Key{Room: room, ID: id}
	w := c.waits.add(k)
	defer c.waits.remove(k, w)
	r, there, err := c.store.Find(ctx, k)
	switch {
	case err != nil:
		return Receipt{}, err
	case there && stuck(r):
		return Receipt{}, &RowError{Row: r}
	case !there:
		return c.outcomeOf(ctx, k, w)
	}
	c.waits.saw(w)
	select {
	case o := <-w.done:
		return o.receipt, o.err
	case <-ctx.Done():
		return Receipt{}, ctx.Err()
	case <-c.ctx.Done():
		return Receipt{}, ErrClosed
	}
}

// outcomeOf finds out what became of a row that is not in the outbox: told of meanwhile, or ended before anybody waited.
func (c *Client) outcomeOf(ctx context.Context, k Key, w *wait) (Receipt, error) {
	r, ok, err := c.store.Receipt(ctx, k)
	select {
	case o := <-w.done:
		return o.receipt, o.err
	default:
	}
	switch {
	case err != nil:
		return Receipt{}, err
	case ok:
		return receiptOf(r), nil
	}
	return Receipt{}, ErrNoRow
}
