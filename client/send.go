package client

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// sending is a Send whose answer from the store is awaited.
type sending struct {
	key         Key
	body        Body
	fingerprint string
	done        chan added // buffered, so that the loop never waits
}

type added struct {
	row store.Added
	err error
}

// Send stores a message, synced, and returns; the client sends it as soon as it may, also after kill -9. id must come from
// NextMessageID of this client, each for one Send. Data is any JSON, or nil.
//
// A refusal leaves no trace: ErrZeroID, ErrNotIssued, ErrBadRoom, ErrBadBody, ErrTooLarge, ErrFull (the id may be used again
// after the last four), ErrBroken, ErrClosed. ctx is looked at before anything is stored, never after. Any other error means
// that the store failed in the act, and Resend with the same id tells whether the row is there.
func (c *Client) Send(ctx context.Context, room string, id ID, body Body) error {
	if id.IsZero() {
		return ErrZeroID
	}
	key := Key{Room: room, ID: id.String()}
	body, fp, err := c.check(key, body)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.issuer.Use(id); err != nil {
		return err
	}
	s := sending{key: key, body: body, fingerprint: fp, done: make(chan added, 1)}
	in := session.Send{Ticket: c.ticket(), Key: key, Fingerprint: fp, Size: len(body.Text) + len(body.Data)}
	if !c.box.put(post{Send: in, sending: s}) {
		return ErrClosed
	}
	a := <-s.done
	switch {
	case a.err != nil:
		return a.err
	case a.row.Outcome == store.Full:
		c.issuer.GiveBack(id)
		return ErrFull
	case a.row.Outcome == store.Conflict:
		return ErrConflict
	}
	return nil
}

// SendWait is Send, but where the outbox is full it waits until there is room or ctx ends.
func (c *Client) SendWait(ctx context.Context, room string, id ID, body Body) error {
	var number int64
	for again := false; ; again = true {
		t := c.waits.enter(number) // before the attempt, so that no turn is missed
		number = t.number
		err := c.Send(ctx, room, id, body)
		if !errors.Is(err, ErrFull) {
			c.waits.leave(t)
			if again {
				c.waits.free() // there may be room for more than one
			}
			return err
		}
		select {
		case <-t.come:
		case <-ctx.Done():
			c.waits.leave(t)
			return ctx.Err()
		case <-c.ctx.Done():
			c.waits.leave(t)
			return ErrClosed
		}
	}
}

// Resend is the way for an id that NextMessageID of this client didn't give: after a crash between storing and
// returning, or for ids from elsewhere. Where a row of that key and content is in the outbox it becomes due now; with other content:
// ErrConflict; else a new row is stored. Errors else as of Send.
func (c *Client) Resend(ctx context.Context, room, id string, body Body) error {
	if err := ids.Check(id); err != nil {
		return err
	}
	key := Key{Room: room, ID: id}
	body, fp, err := c.check(key, body)
	if err != nil {
		return err
	}
	if err := c.alive(ctx); err != nil {
		return err
	}
	a, err := c.store.Add(ctx, 0, []store.Entry{{
		Key: key, Body: body, Fingerprint: fp, QueuedAt: c.opts.Now().Wall, State: store.Queued, DueNow: true,
	}})
	if err != nil {
		return err
	}
	switch a[0].Outcome {
	case store.Full:
		return ErrFull
	case store.Conflict:
		return ErrConflict
	}
	c.box.put(session.RowIs{Row: a[0].Row})
	return nil
}

// alive reports whether the client still works.
func (c *Client) alive(ctx context.Context) error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	c.shared.mu.Lock()
	broken := c.shared.broken
	c.shared.mu.Unlock()
	if broken != nil {
		return fmt.Errorf("%w: %w", ErrBroken, broken)
	}
	return ctx.Err()
}

// check refuses what the server would, and returns the body in canonical form with its fingerprint.
func (c *Client) check(k Key, b Body) (Body, string, error) {
	if err := checkRoom(k.Room); err != nil {
		return b, "", err
	}
	if !utf8.ValidString(b.Text) {
		return b, "", fmt.Errorf("%w: the text isn't UTF-8", ErrBadBody)
	}
	if len(b.Data) > 0 {
		data, err := protocol.Canonical(nil, b.Data)
		if err != nil {
			return b, "", fmt.Errorf("%w: data: %w", ErrBadBody, err)
		}
		b.Data = data
		if string(data) == "null" {
			b.Data = nil
		}
	}
	l := c.Limits()
	if len(b.Text) > l.Text || len(b.Data) > l.Data {
		return b, "", fmt.Errorf("%w: %d bytes of text (limit %d), %d of data (limit %d)", ErrTooLarge, len(b.Text), l.Text, len(b.Data), l.Data)
	}
	if n := len(protocol.AppendCommand(nil, largest(k, b))); n > l.Frame {
		return b, "", fmt.Errorf("%w: a frame of %d bytes (limit %d)", ErrTooLarge, n, l.Frame)
	}
	return b, protocol.FingerprintOf(b.Text, b.Data).String(), nil
}

// largest returns the send command of a row with all that can ever stand in it.
func largest(k Key, b Body) *protocol.Command {
	const longest = "ssssssssssssss"
	follows := make([]byte, ids.MaxLength)
	for i := range follows {
		follows[i] = '~'
	}
	return &protocol.Command{
		Type: protocol.TypeSend, Ref: longest, Room: k.Room, ClientMessageID: k.ID, Text: b.Text, Data: b.Data,
		SentAt: protocol.MaxSeq, Follows: string(follows),
	}
}

func checkRoom(room string) error {
	if !protocol.ValidRoom(room) {
		return fmt.Errorf("%w: %.200q", ErrBadRoom, room)
	}
	return nil
}
