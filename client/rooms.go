package client

import (
	"context"
	"fmt"
	"iter"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// feedPage is how many rows of a room are read from the store at once.
const feedPage = 256

// Subscribe keeps a room's rows coming into the store, now and after each reconnect, until Unsubscribe. It doesn't wait.
// A room that the token doesn't let read is told by a RoomDenied event.
func (c *Client) Subscribe(room string) error { return c.SubscribeRows(room, -1) }

// SubscribeRows is Subscribe with the number of rows (0 to 200) that a view begins with; -1 leaves it to the server.
func (c *Client) SubscribeRows(room string, rows int) error {
	if err := checkRoom(room); err != nil {
		return err
	}
	if most := protocol.DefaultLimits.SnapshotRows; rows < -1 || rows > most {
		return fmt.Errorf("client: %d rows of a snapshot, not -1 to %d", rows, most)
	}
	if !c.box.put(session.Subscribe{Room: room, Limit: rows}) {
		return ErrClosed
	}
	return nil
}

// Unsubscribe ends it. What the store holds of the room stays.
func (c *Client) Unsubscribe(room string) { c.box.put(session.Unsubscribe{Room: room}) }

// Forget drops a room's rows from the store together with its cursor. A room still subscribed begins anew.
func (c *Client) Forget(ctx context.Context, room string) error {
	if err := c.alive(ctx); err != nil {
		return err
	}
	err := c.store.Forget(ctx, room)
	if err == nil {
		c.box.put(session.Forgot{Room: room})
	}
	return err
}

// Messages returns rows that the store holds of a room (of all, for "") with a position after the given one, rising, at
// most limit. An app keeps the position of the last row that it has dealt with, and so misses none. A *TrimmedError comes with rows that
// are good: it names others behind that position which the store's bound has dropped, and which History has.
func (c *Client) Messages(ctx context.Context, room string, after int64, limit int) ([]Message, error) {
	rows, trimmed, err := c.store.Feed(ctx, room, after, limit)
	if err == nil && len(trimmed) > 0 {
		err = &TrimmedError{trimmed[0]}
	}
	return rows, err
}

// View returns the last rows that the store holds of a room with a seq below before (0: the last of all), by rising seq. It has
// rows that only an ack has told of, too; their position is 0.
func (c *Client) View(ctx context.Context, room string, before int64, limit int) ([]Message, error) {
	return c.store.View(ctx, room, before, limit)
}

// Room returns what the store holds of a room as a whole, false where nothing.
func (c *Client) Room(ctx context.Context, room string) (store.Room, bool, error) {
	return c.store.Room(ctx, room)
}

// Follow returns the rows of a room (of all, for "") with a position after the given one, and then those that come, until ctx or the
// client ends. It subscribes nothing. Leaving the loop, by panic too, loses nothing: follow again from the last row dealt with.
// A *TrimmedError names rows that the store's bound dropped before this loop had them; the loop may go on, with the rows after those.
func (c *Client) Follow(ctx context.Context, room string, after int64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		at := make(map[string]int64) // room → the last seq given, or told as dropped
		for {
			more := c.hub.changes(room)
			rows, trimmed, err := c.store.Feed(ctx, room, after, feedPage)
			if err != nil {
				if ctx.Err() == nil && c.ctx.Err() == nil {
					yield(Message{}, err)
				}
				return
			}
			for _, t := range trimmed {
				t.From = max(t.From, at[t.Room]+1)
				at[t.Room] = max(at[t.Room], t.To)
				if t.From <= t.To && !yield(Message{}, &TrimmedError{t}) {
					return
				}
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
				after, at[r.Room] = r.Position, r.Seq
			}
			if len(rows) > 0 {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			case <-c.ctx.Done():
				return
			}
		}
	}
}

// Deliver is Follow by callback: f gets each row once while Deliver runs. A row at which f panics is told by a Panicked event, and
// the next ones still come. It returns when ctx or the client ends (nil), f's first error, or a *TrimmedError.
func (c *Client) Deliver(ctx context.Context, room string, after int64, f func(Message) error) error {
	for m, err := range c.Follow(ctx, room, after) {
		if err != nil {
			return err
		}
		if v := protect(func() { err = f(m) }); v != nil {
			c.hub.emit(session.Panicked{Value: v})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
