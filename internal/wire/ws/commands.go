package ws

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// handle takes one frame through the first steps of docs/spec/protocol.md, Judging: form and limits, session, rights. What it returns
// ends the connection.
func (c *conn) handle(frame []byte) error {
	cmd, problem := protocol.DecodeCommand(frame, &c.server.Protocol)
	if problem != nil {
		if !utf8.Valid(frame) {
			return faultUTF8
		}
		e := problem.Event()
		if c.session == nil {
			return c.noHello(&e)
		}
		c.tell(&e)
		return nil
	}
	if cmd.Type == protocol.TypeHello {
		return c.hello(&cmd)
	}
	if c.session == nil {
		e := wire.Error(protocol.SessionInvalid, "say hello first", 0)
		e.Ref, e.Room, e.ClientMessageID = cmd.Ref, cmd.Room, cmd.ClientMessageID
		return c.noHello(&e)
	}
	if !c.session.ValidAt(time.Now()) {
		return c.refuse(&cmd, protocol.SessionInvalid, "the token has expired; say hello with a new one")
	}
	switch cmd.Type {
	case protocol.TypeSend:
		return c.send(&cmd)
	case protocol.TypeSubscribe:
		return c.subscribe(&cmd)
	case protocol.TypeUnsubscribe:
		return c.unsubscribe(&cmd)
	case protocol.TypeStatus:
		return c.status(&cmd)
	case protocol.TypeHistory:
		return c.history(&cmd)
	case protocol.TypePing:
		c.tell(&protocol.Event{Type: protocol.TypePong, Ref: cmd.Ref, ServerTime: c.server.now()})
		return nil
	}
	return c.refuse(&cmd, protocol.BadRequest, "unknown type")
}

// refuse answers a command with a code. The connection goes on.
func (c *conn) refuse(cmd *protocol.Command, code protocol.Code, text string) error {
	e := wire.Error(code, text, 0)
	e.Ref, e.Room, e.ClientMessageID = cmd.Ref, cmd.Room, cmd.ClientMessageID
	c.tell(&e)
	return nil
}

func (c *conn) send(cmd *protocol.Command) error {
	if !c.session.CanWrite(cmd.Room) {
		return c.refuse(cmd, protocol.Forbidden, "no right to write to this room")
	}
	if _, subscribed := c.rooms[cmd.Room]; !subscribed && c.session.CanRead(cmd.Room) {
		return c.refuse(cmd, protocol.NotSubscribed, "subscribe to the room first")
	}
	c.mu.Lock()
	drained := c.drained
	if !drained {
		c.inFlight++
	}
	c.mu.Unlock()
	if drained {
		return c.refuse(cmd, protocol.Draining, "the server is going down")
	}
	command := wire.Command(c.actor, cmd)
	c.server.Rooms.Send(command, &pending{conn: c, key: command.Key, ref: cmd.Ref})
	return nil
}

// pending is a send that waits for its outcome.
type pending struct {
	conn *conn
	key  idem.Key
	ref  string
}

// Complete implements engine.Completion. It runs between two commits, so it takes the lock once.
func (p *pending) Complete(o room.Outcome) {
	c := p.conn
	e := wire.Answer(o, p.key)
	e.Ref = p.ref
	if e.Type == protocol.TypeError {
		c.server.Metrics.Refused(e.Code, "ws")
	}
	c.mu.Lock()
	fits := c.appendLocked(func(b []byte) []byte {
		return appendText(b, func(b []byte) []byte { return protocol.AppendEvent(b, &e) })
	})
	c.inFlight--
	last := c.drained && c.inFlight == 0
	c.changed.Signal()
	c.mu.Unlock()
	if !fits {
		c.cut()
	}
	if last {
		c.abort()
	}
}

// Flusher implements engine.Flusher: the answers of a commit leave together.
func (p *pending) Flusher() engine.Subscriber { return p.conn }

func (c *conn) subscribe(cmd *protocol.Command) error {
	if cmd.SendOnly {
		return c.subscribeToSend(cmd)
	}
	if !c.session.CanRead(cmd.Room) {
		return c.refuse(cmd, protocol.Forbidden, "no right to read this room")
	}
	live := c.rooms[cmd.Room]
	if !live && c.live >= c.server.Limits.Subscriptions {
		return c.refuse(cmd, protocol.RateLimited, "as many rooms are subscribed as one connection may read live; unsubscribe from one")
	}
	leave, err := c.page(cmd)
	if leave == nil {
		return err
	}
	defer leave.end()
	if !live && c.server.Admission.Rooms.Take(limit.ByActor(c.actor)) != "" {
		return c.refuse(cmd, protocol.RateLimited, "as many rooms are subscribed as this actor may read live, over all its connections; unsubscribe from one")
	}
	name := strings.Clone(cmd.Room) // the command's strings share one copy of the whole frame
	page := wire.Page(&c.server.Protocol, cmd, cmd.Limit, c.server.Rooms.Identity().Epoch)
	err = c.server.Rooms.Subscribe(c.ctx, c, name, cursorOf(cmd.Cursor), page, func(caught engine.Catchup) {
		e := wire.Caught(name, caught, c.actor)
		e.Ref = cmd.Ref
		leave.made()
		c.tell(&e)
	})
	if err == nil {
		c.note(name, true)
		return nil
	}
	if !live {
		c.giveRooms(1)
	}
	if live, subscribed := c.rooms[name]; subscribed && (!live || !c.fullOfSending()) {
		c.note(name, false) // its rows have stopped; what it sends is taken as before
	} else {
		c.drop(name)
	}
	return c.unavailable(cmd, "subscribe", err)
}

// giveRooms gives places among the rooms that the actor may read live back.
func (c *conn) giveRooms(n int) {
	for range n {
		c.server.Admission.Rooms.Give(limit.ByActor(c.actor))
	}
}

// subscribeToSend lets the connection send to a room. It costs an entry here, and nothing in the engine.
func (c *conn) subscribeToSend(cmd *protocol.Command) error {
	if !c.session.CanWrite(cmd.Room) {
		return c.refuse(cmd, protocol.Forbidden, "no right to write to this room")
	}
	live, subscribed := c.rooms[cmd.Room]
	if live || !subscribed {
		if c.fullOfSending() {
			return c.refuse(cmd, protocol.RateLimited, "as many rooms are subscribed for sending as one connection may have; unsubscribe from one")
		}
		if live {
			c.server.Rooms.Unsubscribe(c, cmd.Room)
		}
		c.note(strings.Clone(cmd.Room), false)
	}
	c.tell(&protocol.Event{Type: protocol.TypeSubscribed, Ref: cmd.Ref, Room: cmd.Room})
	return nil
}

func (c *conn) fullOfSending() bool { return len(c.rooms)-c.live >= c.server.Limits.SendRooms }

// note remembers how a room is subscribed.
func (c *conn) note(name string, live bool) {
	if c.rooms == nil {
		c.rooms = make(map[string]bool)
	}
	if c.rooms[name] {
		c.live--
		if !live {
			c.giveRooms(1)
		}
	}
	if live {
		c.live++ // its place was taken before
	}
	c.rooms[name] = live
}

func cursorOf(c *protocol.Cursor) *engine.Cursor {
	if c == nil {
		return nil
	}
	return &engine.Cursor{Epoch: c.Epoch, After: c.After, MessageID: c.MessageID}
}

func (c *conn) unsubscribe(cmd *protocol.Command) error {
	c.drop(cmd.Room)
	c.tell(&protocol.Event{Type: protocol.TypeUnsubscribed, Ref: cmd.Ref, Room: cmd.Room})
	return nil
}

func (c *conn) drop(name string) {
	if c.rooms[name] {
		c.server.Rooms.Unsubscribe(c, name)
		c.live--
		c.giveRooms(1)
	}
	delete(c.rooms, name)
}

func (c *conn) status(cmd *protocol.Command) error {
	key := idem.Key{Actor: c.actor, Room: cmd.Room, ID: cmd.ClientMessageID}
	c.flush()
	soon, cancel := context.WithTimeout(c.ctx, statusSoon)
	o := c.server.Rooms.Status(soon, key, cmd.SentAt)
	cancel()
	if o.Kind != room.InProgress {
		e := wire.Answer(o, key)
		e.Ref = cmd.Ref
		c.tell(&e)
		return nil
	}
	c.mu.Lock()
	c.inFlight++
	c.mu.Unlock()
	waiting := &pending{conn: c, key: key, ref: cmd.Ref}
	c.asking.Go(func() {
		waiting.Complete(c.server.Rooms.Status(c.ctx, key, cmd.SentAt))
		c.flush()
	})
	return nil
}

// statusSoon is how long a question about a send that is under way may hold up what the client says next. One that takes longer waits beside:
// a disk that stalls must not make a connection look dead, whose pings wait behind its questions.
const statusSoon = 20 * time.Millisecond

func (c *conn) history(cmd *protocol.Command) error {
	if !c.session.CanRead(cmd.Room) {
		return c.refuse(cmd, protocol.Forbidden, "no right to read this room")
	}
	leave, err := c.page(cmd)
	if leave == nil {
		return err
	}
	defer leave.end()
	epoch := c.server.Rooms.Identity().Epoch
	rows, more, err := c.server.Rooms.History(c.ctx, cmd.Room, cmd.Before, wire.Page(&c.server.Protocol, cmd, cmd.Limit, epoch))
	if err != nil {
		return c.unavailable(cmd, "history", err)
	}
	leave.made()
	c.tell(&protocol.Event{
		Type: protocol.TypePage, Ref: cmd.Ref, Room: cmd.Room, Epoch: epoch, Messages: wire.Rows(rows, c.actor), More: more,
	})
	return nil
}

func (c *conn) unavailable(cmd *protocol.Command, what string, err error) error {
	c.server.Log.Warn("the store didn't answer", "command", what, "error", err)
	return c.refuse(cmd, protocol.Unavailable, "the store can't answer now")
}
