package client

import (
	"context"
	"iter"

	"hapax/client/session"
	"hapax/client/store"
)

// outboxPage is how many rows are read at once, so that reading the outbox never copies it whole.
const outboxPage = 256

// Outbox returns the rows by the order in which they were sent, without their bodies.
func (c *Client) Outbox(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		after := int64(0)
		for {
			rows, err := c.store.List(ctx, after, outboxPage)
			if err != nil {
				yield(Row{}, err)
				return
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
				after = r.Position
			}
			if len(rows) < outboxPage {
				return
			}
		}
	}
}

// Export calls f with every row of the outbox and its body, as of one moment. f must not call the client.
func (c *Client) Export(ctx context.Context, f func(Row, Body) error) error {
	return c.store.Export(ctx, f)
}

// Counts returns figures of the outbox.
func (c *Client) Counts(ctx context.Context) (store.Counts, error) { return c.store.Counts(ctx) }

// Row returns a row of the outbox; ErrNoRow where there is none.
func (c *Client) Row(ctx context.Context, room, id string) (Row, error) {
	r, ok, err := c.store.Find(ctx, Key{Room: room, ID: id})
	if err == nil && !ok {
		err = ErrNoRow
	}
	return r, err
}

// Retry puts a parked, uncertain, held or waiting row back in line, due now, with the same id and no attempts. For an
// uncertain one the caller accepts a possible second copy. ErrNoRow, ErrInFlight.
func (c *Client) Retry(ctx context.Context, room, id string) error {
	if err := c.alive(ctx); err != nil {
		return err
	}
	r, err := c.store.Retry(ctx, Key{Room: room, ID: id}, c.serverTime())
	if err == nil {
		c.box.put(session.RowIs{Row: r})
	}
	return err
}

// Cancel removes a row that was never sent. ErrMayHaveBeenSent changes nothing.
func (c *Client) Cancel(ctx context.Context, room, id string) error {
	return c.remove(ctx, Key{Room: room, ID: id}, c.store.Cancel)
}

// Discard removes a row in whatever state. It may have been accepted, or be accepted still.
func (c *Client) Discard(ctx context.Context, room, id string) error {
	return c.remove(ctx, Key{Room: room, ID: id}, c.store.Discard)
}

func (c *Client) remove(ctx context.Context, k Key, by func(context.Context, Key) (Row, error)) error {
	if err := c.alive(ctx); err != nil {
		return err
	}
	r, err := by(ctx, k)
	if err == nil {
		c.box.put(session.RowGone{Row: r})
		c.waits.gone(k)
	}
	return err
}

// TryNow lifts the waiting times of one room's rows. Attempts, and what holds the room, stay.
func (c *Client) TryNow(room string) { c.box.put(session.TryNow{Room: room}) }
