package sim

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	"hapax/client/session"
	"hapax/internal/wire"
	"hapax/protocol"
)

// grant is what a token says.
type grant struct {
	actor   string
	expires int64 // the server's clock
	rights  map[string]string
}

func (t *grant) may(right, room string) bool {
	r := t.rights[room]
	return r == "rw" || r == right
}

// tokens are those ever given out, and the rights that the next ones carry.
type tokens struct {
	given  map[string]*grant
	rights map[string]map[string]string // actor → room → r, w, rw or ""
	count  int
}

// issue makes a token for an actor.
func (w *World) issue(actor string) string {
	w.tokens.count++
	t := &grant{actor: actor, expires: w.server.now() + w.TokenLife, rights: maps.Clone(w.tokens.rights[actor])}
	switch {
	case w.calm:
		t.expires = w.server.now() + day
	case w.chance(w.BadToken):
		t.expires = w.server.now() - 1
	}
	// Clients read when it expires, and verify nothing.
	claims := fmt.Appendf(nil, `{"jti":"token%d","exp":%d.%03d}`, w.tokens.count, t.expires/1000, t.expires%1000)
	name := "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".x"
	if w.Opaque {
		name = fmt.Sprintf("token%d", w.tokens.count)
	}
	w.tokens.given[name] = t
	return name
}

// changeRights gives or takes a right of an actor; the tokens issued from now on say so.
func (w *World) changeRights(actor string) {
	room := w.roomName(w.rnd.IntN(w.Rooms))
	right := []string{"", "r", "w", "rw", "rw"}[w.rnd.IntN(5)]
	w.tokens.rights[actor][room] = right
	w.say("people", "%s has %q in %s", actor, right, room)
	if w.luck(500) {
		for _, c := range w.clients {
			if c.actor == actor && c.running {
				c.put(session.NewToken{})
			}
		}
	}
}

// receive is a frame's arrival.
func (s *server) receive(l *link, frame []byte) {
	if !s.up || !l.serverOpen {
		return
	}
	if !l.clientOpen {
		s.w.seen["frame of an ended connection"]++
	}
	p := l.peer
	s.w.say("server", "from %s.%d %s", l.c.name, l.n, frame)
	cmd, problem := protocol.DecodeCommand(frame, &protocol.DefaultLimits)
	if problem != nil {
		s.w.wrong("%s wrote a frame that can't be decoded: %v: %s", l.c.name, problem, frame)
		return
	}
	switch {
	case cmd.Type == protocol.TypeHello:
		s.hello(p, &cmd)
	case p.session == nil || s.now() >= p.session.expires:
		s.refuse(p, &cmd, protocol.SessionInvalid)
	case cmd.Type == protocol.TypeSend:
		s.send(p, &cmd)
	case cmd.Type == protocol.TypeSubscribe:
		s.subscribe(p, &cmd)
	case cmd.Type == protocol.TypeUnsubscribe:
		delete(p.rooms, cmd.Room)
		p.tell(&protocol.Event{Type: protocol.TypeUnsubscribed, Ref: cmd.Ref, Room: cmd.Room})
	case cmd.Type == protocol.TypeStatus:
		s.status(p, &cmd)
	case cmd.Type == protocol.TypeHistory:
		s.history(p, &cmd)
	case cmd.Type == protocol.TypePing:
		p.tell(&protocol.Event{Type: protocol.TypePong, Ref: cmd.Ref, ServerTime: s.now()})
	}
}

func (s *server) refuse(p *peer, cmd *protocol.Command, code protocol.Code) {
	s.w.seen["refused "+string(code)]++
	e := wire.Error(code, "", 1+s.w.up(4*second))
	e.Ref, e.Room, e.ClientMessageID = cmd.Ref, cmd.Room, cmd.ClientMessageID
	p.tell(&e)
}

// hello opens a session or renews it. A first one that fails ends the connection.
func (s *server) hello(p *peer, cmd *protocol.Command) {
	t := s.w.tokens.given[cmd.Token]
	if t == nil || s.now() >= t.expires {
		e := wire.Error(protocol.SessionInvalid, "", 0)
		e.Ref = cmd.Ref
		if p.session != nil {
			p.tell(&e)
			return
		}
		s.hangUp(p, &e)
		return
	}
	p.session = t
	id := s.st.Identity()
	limits, features := protocol.DefaultLimits, protocol.Features()
	if limits.SendRooms = sendRooms; s.w.Old {
		features = nil
	}
	p.tell(&protocol.Event{
		Type: protocol.TypeWelcome, Ref: cmd.Ref, Session: "s", Actor: t.actor, Server: id.Server, Epoch: id.Epoch,
		ServerTime: s.now(), Retention: s.w.Retention, Limits: &limits, Features: features,
	})
	for _, name := range sortedKeys(p.rooms) {
		if l := p.rooms[name]; l.only && !t.may("w", name) || !l.only && !t.may("r", name) {
			delete(p.rooms, name)
			p.tell(&protocol.Event{Type: protocol.TypeUnsubscribed, Room: name, Reason: string(protocol.Forbidden)})
		}
	}
	s.w.after(max(0, t.expires-s.now())+30*second, func() {
		if p.link.serverOpen && p.session == t {
			s.w.seen["session ran out"]++
			e := wire.Error(protocol.SessionInvalid, "", 0)
			s.hangUp(p, &e)
		}
	})
}

var errNoToken = errors.New("sim: no token to be had")

// askToken is the app's answer to the machine's wish for a token; it takes its time.
func (c *client) askToken() {
	c.w.after(c.w.up(300), c.onLife(func() {
		if c.w.chance(c.w.BadToken) {
			c.put(session.Token{Err: errNoToken})
			return
		}
		c.put(session.Token{Token: c.w.issue(c.actor)})
	}))
}
