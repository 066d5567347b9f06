package client_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hapax/client/transport/memory"
	"hapax/protocol"
)

// server is a small room server over the memory transport: it keeps each key once, and can lose answers.
type server struct {
	net  *memory.Network
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	actor   string
	rooms   map[string][]protocol.Message
	results map[string]protocol.Event // room NUL id → first ack
	prints  map[string]protocol.Fingerprint
	conns   map[*peer]struct{}
	wire    map[string]int // id → how often it came
	hellos  int
	// faults
	mute    func(c protocol.Command) bool            // no answer to this command
	instead func(c protocol.Command) *protocol.Event // this answer
	limits  protocol.Limits
}

type peer struct {
	*memory.End
	subs map[string]bool
}

func newServer() *server {
	ctx, stop := context.WithCancel(context.Background())
	s := &server{
		net: memory.New(), stop: stop, actor: "ann", rooms: map[string][]protocol.Message{}, results: map[string]protocol.Event{},
		prints: map[string]protocol.Fingerprint{}, conns: map[*peer]struct{}{}, wire: map[string]int{}, limits: protocol.DefaultLimits,
	}
	s.done.Go(func() {
		for {
			end, err := s.net.Accept(ctx)
			if err != nil {
				return
			}
			p := &peer{End: end, subs: map[string]bool{}}
			s.mu.Lock()
			s.conns[p] = struct{}{}
			s.mu.Unlock()
			s.done.Go(func() { s.talk(ctx, p) })
		}
	})
	return s
}

// close ends the server and all its connections.
func (s *server) close() {
	s.stop()
	s.cut()
	s.done.Wait()
}

// cut ends all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.conns {
		_ = p.Close()
	}
}

func (s *server) talk(ctx context.Context, p *peer) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, p)
	}()
	for {
		b, err := p.Read(ctx)
		if err != nil {
			return
		}
		c, problem := protocol.DecodeCommand(b, &s.limits)
		if problem != nil {
			panic(problem)
		}
		s.mu.Lock()
		s.judge(ctx, p, c)
		s.mu.Unlock()
	}
}

func (p *peer) answer(ctx context.Context, e protocol.Event) {
	_ = p.Write(ctx, [][]byte{protocol.AppendEvent(nil, &e)})
}

func (s *server) judge(ctx context.Context, p *peer, c protocol.Command) {
	if c.Type == protocol.TypeSend {
		s.wire[c.ClientMessageID]++
	}
	mute := s.mute != nil && s.mute(c)
	if s.instead != nil {
		if e := s.instead(c); e != nil {
			e.Ref, e.Room, e.ClientMessageID = c.Ref, c.Room, c.ClientMessageID
			p.answer(ctx, *e)
			return
		}
	}
	var e protocol.Event
	switch c.Type {
	case protocol.TypeHello:
		s.hellos++
		e = protocol.Event{
			Type: protocol.TypeWelcome, Session: "s", Actor: s.actor, Server: "srv", Epoch: "e1", ServerTime: time.Now().UnixMilli(),
			Limits: &s.limits, Retention: 30 * 24 * 3600_000,
		}
	case protocol.TypeSubscribe:
		e = s.subscribe(p, c)
	case protocol.TypeUnsubscribe:
		delete(p.subs, c.Room)
		e = protocol.Event{Type: protocol.TypeUnsubscribed, Room: c.Room}
	case protocol.TypeSend:
		e = s.send(c)
	case protocol.TypeStatus:
		e = s.status(c)
	case protocol.TypeHistory:
		e = protocol.Event{Type: protocol.TypePage, Room: c.Room, Epoch: "e1"}
		for _, m := range s.rooms[c.Room] {
			if m.Seq < c.Before {
				e.Messages = append(e.Messages, m)
			}
		}
		e.Messages = e.Messages[max(0, len(e.Messages)-c.Limit):]
	case protocol.TypePing:
		e = protocol.Event{Type: protocol.TypePong, ServerTime: time.Now().UnixMilli()}
	}
	if e.Ref = c.Ref; !mute {
		p.answer(ctx, e)
	}
	if rows := s.rooms[c.Room]; e.Type == protocol.TypeAck && !e.Duplicate {
		s.tell(ctx, rows[len(rows)-1])
	}
}

func (s *server) subscribe(p *peer, c protocol.Command) protocol.Event {
	p.subs[c.Room] = true
	rows := s.rooms[c.Room]
	e := protocol.Event{Type: protocol.TypeSnapshot, Room: c.Room, Epoch: "e1", Head: int64(len(rows)), Messages: rows}
	if len(rows) > 0 {
		e.HeadID = rows[len(rows)-1].MessageID
	}
	if c.Cursor != nil && c.Cursor.After <= e.Head {
		e.Type, e.Messages = protocol.TypeDelta, rows[c.Cursor.After:]
	} else if c.Limit >= 0 {
		e.Messages = rows[max(0, len(rows)-c.Limit):]
	}
	return e
}

func (s *server) send(c protocol.Command) protocol.Event {
	key, print := c.Room+"\x00"+c.ClientMessageID, protocol.FingerprintOf(c.Text, c.Data)
	if ack, known := s.results[key]; known {
		if s.prints[key] != print {
			return refusal(c, protocol.IDConflict)
		}
		ack.Duplicate = true
		return ack
	}
	if c.Follows != "" {
		if _, there := s.results[c.Room+"\x00"+c.Follows]; !there {
			return refusal(c, protocol.OutOfOrder)
		}
	}
	seq := int64(len(s.rooms[c.Room])) + 1
	m := protocol.Message{
		Room: c.Room, Epoch: "e1", Seq: seq, MessageID: fmt.Sprintf("%s/%d", c.Room, seq), Actor: s.actor,
		ClientMessageID: c.ClientMessageID, Text: c.Text, Data: c.Data, At: time.Now().UnixMilli(),
	}
	s.rooms[c.Room] = append(s.rooms[c.Room], m)
	s.results[key] = protocol.Event{
		Type: protocol.TypeAck, Room: c.Room, ClientMessageID: c.ClientMessageID, MessageID: m.MessageID, Seq: seq, Epoch: "e1", At: m.At,
	}
	s.prints[key] = print
	return s.results[key]
}

// tell gives a row to a room's subscribers.
func (s *server) tell(ctx context.Context, m protocol.Message) {
	for p := range s.conns {
		if p.subs[m.Room] {
			p.answer(ctx, protocol.Event{Type: protocol.TypeMessage, Room: m.Room, Message: m})
		}
	}
}

// say stores a row of another actor.
func (s *server) say(room, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq := int64(len(s.rooms[room])) + 1
	m := protocol.Message{Room: room, Epoch: "e1", Seq: seq, MessageID: fmt.Sprintf("%s/%d", room, seq), Actor: "bob", Text: text, At: 1}
	s.rooms[room] = append(s.rooms[room], m)
	s.tell(context.Background(), m)
}

func (s *server) status(c protocol.Command) protocol.Event {
	ack, known := s.results[c.Room+"\x00"+c.ClientMessageID]
	if !known {
		return refusal(c, protocol.NotFound)
	}
	ack.Duplicate = true
	return ack
}

func refusal(c protocol.Command, code protocol.Code) protocol.Event {
	return protocol.Event{
		Type: protocol.TypeError, Room: c.Room, ClientMessageID: c.ClientMessageID, Code: code, Retryable: code.Rule().Retryable,
	}
}

// set changes a fault under the server's lock.
func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// texts returns what a room holds.
func (s *server) texts(room string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.rooms[room] {
		out = append(out, m.Text)
	}
	return out
}

// times returns how often an id came over the wire.
func (s *server) times(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wire[id]
}
