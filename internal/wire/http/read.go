package http

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/wire"
	"hapax/protocol"
)

// byKey answers what is held of the actor's own key, as `status` does.
func (s *server) byKey(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	name := s.roomOf(w, r)
	if name == "" {
		return
	}
	id := r.PathValue("clientMessageId")
	if !protocol.ValidClientID(id) {
		s.refuse(w, wire.Error(protocol.BadRequest, "the client message id isn't one", 0))
		return
	}
	q := query{values: r.URL.Query()}
	sentAt := q.integer("sentAt", 0, 1)
	if q.fault != "" {
		s.refuse(w, wire.Error(protocol.BadRequest, q.fault, 0))
		return
	}
	key := idem.Key{Actor: session.Actor, Room: name, ID: id}
	ctx, cancel := context.WithTimeout(r.Context(), s.Door.Wait)
	defer cancel()
	o := s.Rooms.Status(ctx, key, sentAt)
	s.reply(w, o, key)
}

// read answers rows: those below before, those after a whole cursor, or the last ones.
func (s *server) read(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	name := s.roomOf(w, r)
	if name == "" {
		return
	}
	if !session.CanRead(name) {
		e := wire.Error(protocol.Forbidden, "no right to read this room", 0)
		e.Room = name
		s.refuse(w, e)
		return
	}
	q := query{values: r.URL.Query()}
	limit := int(q.integer("limit", int64(s.Protocol.PageRows), 1))
	maxBytes := int(min(q.integer("maxBytes", 0, 1), math.MaxInt32))
	before := q.integer("before", 0, 1)
	cursor := q.cursor()
	switch {
	case q.fault != "":
	case cursor != nil && before > 0:
		q.fault = "before and a cursor ask for different things"
	case limit > s.Protocol.PageRows:
		q.fault = fmt.Sprintf("limit is %d at most", s.Protocol.PageRows)
	}
	if q.fault != "" {
		s.refuse(w, wire.Error(protocol.BadRequest, q.fault, 0))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Door.Wait)
	defer cancel()
	epoch := s.Rooms.Identity().Epoch
	p := wire.Page(&s.Protocol, &protocol.Command{Room: name, MaxBytes: maxBytes}, limit, epoch)
	if before > 0 {
		s.page(ctx, w, name, before, p, session.Actor)
		return
	}
	s.caughtUp(ctx, w, name, cursor, p, session.Actor)
}

func (s *server) page(ctx context.Context, w http.ResponseWriter, name string, before int64, p engine.Page, actor string) {
	rows, more, err := s.Rooms.History(ctx, name, before, p)
	if err != nil {
		s.unavailable(w, "history", err)
		return
	}
	s.write(w, http.StatusOK, protocol.AppendEvent(nil, &protocol.Event{
		Type: protocol.TypePage, Room: name, Epoch: s.Rooms.Identity().Epoch, Messages: wire.Rows(rows, actor), More: more,
	}))
}

func (s *server) caughtUp(ctx context.Context, w http.ResponseWriter, name string, cursor *engine.Cursor, p engine.Page, actor string) {
	caught, err := s.Rooms.Read(ctx, name, cursor, p)
	if err != nil {
		s.unavailable(w, "read", err)
		return
	}
	if !caught.Reset && len(caught.Messages) > p.Rows {
		caught.Messages, caught.More = caught.Messages[:p.Rows], true
	}
	e := wire.Caught(name, caught, actor)
	body := protocol.AppendEvent(nil, &e)
	// The frame and one member more: whether the rows replace what the reader has.
	body = append(body[:len(body)-1], `,"reset":`...)
	s.write(w, http.StatusOK, append(strconv.AppendBool(body, caught.Reset), '}'))
}

func (s *server) unavailable(w http.ResponseWriter, what string, err error) {
	s.Door.Log.Warn("the store didn't answer", "command", what, "request", w.Header().Get(wire.RequestIDHeader), "error", err)
	s.refuse(w, wire.Error(protocol.Unavailable, "the store can't answer now", 0))
}

// query reads parameters and keeps the first fault.
type query struct {
	values url.Values
	fault  string
}

// text returns a parameter, and whether it is there. One given twice is a fault: which would count?
func (q *query) text(name string) (string, bool) {
	v, ok := q.values[name]
	if len(v) > 1 && q.fault == "" {
		q.fault = name + " stands more than once"
	}
	if !ok {
		return "", false
	}
	return v[0], true
}

func (q *query) integer(name string, absent, least int64) int64 {
	text, ok := q.text(name)
	if !ok {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || n < least || n > protocol.MaxSeq) && q.fault == "" {
		q.fault = fmt.Sprintf("%s must be a whole number from %d to 2^53 − 1", name, least)
	}
	return n
}

// cursor returns the cursor, nil where there is none. It is one value: all of it or nothing.
func (q *query) cursor() *engine.Cursor {
	epoch, hasEpoch := q.text("epoch")
	_, hasAfter := q.text("after")
	id, hasID := q.text("messageId")
	if !hasEpoch && !hasAfter && !hasID {
		return nil
	}
	c := &room.Cursor{Epoch: epoch, After: q.integer("after", 0, 0), MessageID: id}
	if (!hasEpoch || !hasAfter || !hasID || epoch == "" || len(epoch) > protocol.MaxName || len(id) > protocol.MaxName) && q.fault == "" {
		q.fault = "a cursor is whole only: epoch, after and messageId (empty where after is 0)"
	}
	return c
}
