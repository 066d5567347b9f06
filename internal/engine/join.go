package engine

import (
	"context"
	"errors"
	"fmt"

	"hapax/internal/room"
	"hapax/internal/store"
)

var (
	// ErrUnavailable: the store can't go on, or the engine is closed. Nothing is known; ask again after a reconnect.
	ErrUnavailable = errors.New("engine: unavailable")
	// ErrUnsubscribed: the subscription ended (Unsubscribe, Leave, another Subscribe) before it had its answer.
	ErrUnsubscribed = errors.New("engine: unsubscribed meanwhile")
	// ErrBehind: the room grows faster than it can be read. Ask again.
	ErrBehind = errors.New("engine: the room grows faster than it can be read")
)

// joinTries is how often a joiner reads again because more than Options.JoinRows rows came while it read.
const joinTries = 5

// Subscribe implements Rooms. A joiner is registered first and its live rows wait; then it reads the room; so a
// row is in the answer, or waits, or both, and the seq tells which. deliver and sub's methods must not call the engine.
func (e *Engine) Subscribe(ctx context.Context, sub Subscriber, name string, c *Cursor, p Page, deliver func(Catchup)) error {
	if err := e.readable(); err != nil {
		return err
	}
	s := e.members.join(sub, name)
	for range joinTries {
		answer, fit, err := e.catchUp(ctx, name, c, p)
		if err == nil {
			err = e.acknowledged(ctx, name, ownRows(answer.Messages, s.actor))
		}
		if err != nil {
			e.members.leave(s)
			return err
		}
		if answer.More {
			e.members.leave(s)
			e.stats.resumed(fit)
			deliver(answer)
			return nil
		}
		again, gone := s.settle(answer.Head)
		if gone {
			return ErrUnsubscribed
		}
		if !again {
			e.stats.resumed(fit)
			deliver(answer)
			var to flushes
			s.release(&to)
			to.flush()
			return nil
		}
	}
	e.members.leave(s)
	return ErrBehind
}

// Read implements Rooms.
func (e *Engine) Read(ctx context.Context, name string, c *Cursor, p Page) (Catchup, error) {
	if err := e.readable(); err != nil {
		return Catchup{}, err
	}
	answer, fit, err := e.catchUp(ctx, name, c, p)
	if err == nil {
		e.stats.resumed(fit)
	}
	return answer, err
}

// Unsubscribe implements Rooms.
func (e *Engine) Unsubscribe(sub Subscriber, name string) { e.members.unsubscribe(sub, name) }

// Leave implements Rooms.
func (e *Engine) Leave(sub Subscriber) { e.members.leaveAll(sub) }

// catchUp answers a cursor from one consistent reading.
func (e *Engine) catchUp(ctx context.Context, name string, c *Cursor, p Page) (a Catchup, fit room.Fit, err error) {
	err = e.view(ctx, func(v store.View) error {
		a = Catchup{Epoch: e.store.Identity().Epoch}
		s, err := v.Room(name)
		if err != nil {
			return err
		}
		a.Head, a.HeadID = s.Head, s.HeadID
		if fit, err = e.fit(v, name, s, c); err != nil {
			return err
		}
		if fit == room.Fits {
			a.Messages, a.More, err = e.after(v, name, c.After, p.Bytes)
			return err
		}
		a.Reset, a.Alarm = true, fit.Alarm()
		if limit := bounded(p.Rows, e.o.SnapshotRows); limit > 0 {
			a.Messages, _, err = e.before(v, name, s.Head+1, limit, p.Bytes)
		}
		return err
	})
	return a, fit, err
}

// after reads rows that come after a seq, as many as fit into a page.
func (e *Engine) after(v store.View, name string, seq int64, bytes int) ([]room.Message, bool, error) {
	bytes = boundedBytes(bytes, e.o.PageBytes)
	rows, more, err := v.After(name, seq, e.o.DeltaRows, bytes)
	if n := e.o.Fit(rows, bytes, false); n < len(rows) {
		return rows[:n], true, err
	}
	return rows, more, err
}

// before reads the last rows below a seq, as many as fit into a page.
func (e *Engine) before(v store.View, name string, seq int64, limit, bytes int) ([]room.Message, bool, error) {
	bytes = boundedBytes(bytes, e.o.PageBytes)
	rows, more, err := v.Before(name, seq, limit, bytes)
	if n := e.o.Fit(rows, bytes, true); n < len(rows) {
		return rows[len(rows)-n:], true, err
	}
	return rows, more, err
}

func (e *Engine) fit(v store.View, name string, s room.State, c *Cursor) (room.Fit, error) {
	id, held := "", false
	if c != nil && c.After > s.Low && c.After < s.Head {
		var err error
		if id, held, err = v.MessageID(name, c.After); err != nil {
			return 0, fmt.Errorf("row %d: %w", c.After, err)
		}
	}
	return room.Resume(e.store.Identity().Epoch, s, c, id, held), nil
}

func bounded(limit, most int) int {
	if limit < 0 || limit > most {
		return most
	}
	return limit
}

func boundedBytes(bytes, most int) int {
	if bytes <= 0 || bytes > most {
		return most
	}
	return bytes
}

func ownRows(rows []room.Message, actor string) []room.Message {
	var own []room.Message
	for _, m := range rows {
		if m.Actor == actor {
			own = append(own, m)
		}
	}
	return own
}

// acknowledged waits, where the store already shows a row of the group under way, until that group has been answered: an
// author has its ack before its row. The row is synced by then, so this is short.
func (e *Engine) acknowledged(ctx context.Context, name string, rows []room.Message) error {
	told := e.queue.telling(name, rows)
	if told == nil {
		return nil
	}
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
