package client

import (
	"context"
	"fmt"

	"hapax/client/ids"
	"hapax/client/session"
	"hapax/protocol"
)

// Receipt is what the server made of a message.
type Receipt struct {
	MessageID string
	Seq       int64
	Epoch     string
	At        int64 // server time
	Duplicate bool  // it had the message already
}

// question is an Ask whose answer is awaited.
type question struct {
	session.Ask
	done chan session.Answer // buffered
}

// Status asks the server what became of a message of this actor. ErrNotFound: it knows none of that key. ErrUncertain: too long
// ago to tell. Without a connection it waits for one until ctx ends.
func (c *Client) Status(ctx context.Context, room, id string) (Receipt, error) {
	if err := checkRoom(room); err != nil {
		return Receipt{}, err
	}
	if err := ids.Check(id); err != nil {
		return Receipt{}, err
	}
	r, _, err := c.store.Find(ctx, Key{Room: room, ID: id})
	if err != nil {
		return Receipt{}, err
	}
	e, err := c.ask(ctx, protocol.Command{
		Type: protocol.TypeStatus, Room: room, ClientMessageID: id, SentAt: r.FirstSentAt, Limit: -1,
	})
	switch {
	case err != nil:
		return Receipt{}, err
	case e.Type == protocol.TypeAck:
		return Receipt{MessageID: e.MessageID, Seq: e.Seq, Epoch: e.Epoch, At: e.At, Duplicate: e.Duplicate}, nil
	case e.Code == protocol.NotFound:
		return Receipt{}, ErrNotFound
	case e.Code == protocol.OutcomeUnknown:
		return Receipt{}, ErrUncertain
	}
	return Receipt{}, serverError(e)
}

// History asks the server for rows of a room with a seq below before, the last limit (1 to 200) of them, by rising seq. Nothing of it
// is stored. before 0 means the newest. Without a connection it waits for one until ctx ends.
func (c *Client) History(ctx context.Context, room string, before int64, limit int) ([]protocol.Message, error) {
	if err := checkRoom(room); err != nil {
		return nil, err
	}
	if most := protocol.DefaultLimits.PageRows; limit < 1 || limit > most {
		return nil, fmt.Errorf("client: %d rows of history, not 1 to %d", limit, most)
	}
	if before == 0 {
		before = protocol.MaxSeq
	}
	e, err := c.ask(ctx, protocol.Command{Type: protocol.TypeHistory, Room: room, Before: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	if e.Type != protocol.TypePage {
		return nil, serverError(e)
	}
	return e.Messages, nil
}

func serverError(e protocol.Event) error {
	return &ServerError{Code: e.Code, Text: e.Text, Retryable: e.Retryable, RetryAfterMs: e.RetryAfterMs}
}

// ask puts a question and waits for its answer.
func (c *Client) ask(ctx context.Context, cmd protocol.Command) (protocol.Event, error) {
	if err := c.alive(ctx); err != nil {
		return protocol.Event{}, err
	}
	q := question{Ask: session.Ask{Ticket: c.ticket(), Command: cmd}, done: make(chan session.Answer, 1)}
	if !c.box.put(q) {
		return protocol.Event{}, ErrClosed
	}
	select {
	case a := <-q.done:
		return a.Event, a.Err
	case <-ctx.Done():
		c.box.put(session.Unask{Ticket: q.Ticket})
		return protocol.Event{}, ctx.Err()
	}
}

// Connect asks for a connection: after Options.Offline or Disconnect, after gave_up, at once while a delay runs, and
// after a failure of the store, which is opened anew.
func (c *Client) Connect() { c.box.put(session.Connect{}) }

// Disconnect ends the connection until Connect. Rows stay in the outbox.
func (c *Client) Disconnect() { c.box.put(session.Disconnect{}) }

// NewToken says that Options.Token has another token to give: the session is renewed with it, held rooms go on.
func (c *Client) NewToken() { c.box.put(session.NewToken{}) }

// Visible says that the app came to the front, or the network back: a wait to reconnect ends, no counter goes back, and a connection
// that is open has to prove itself within seconds.
func (c *Client) Visible() { c.box.put(session.Visible{}) }
