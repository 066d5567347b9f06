package http

import (
	"net/http"
	"time"

	"hapax/internal/auth"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/wire"
	"hapax/protocol"
)

// answer takes a send's outcome to the request that waits for it.
type answer chan room.Outcome

// Complete implements engine.Completion. The channel has room for the one outcome, so nobody is ever waited for.
func (a answer) Complete(o room.Outcome) { a <- o }

func (s *server) send(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	name := s.roomOf(w, r)
	if name == "" {
		return
	}
	id, problem := protocol.ParseIdempotencyKey(r.Header.Values(protocol.HeaderKey))
	if problem != nil {
		problem.Room = name
		s.refuse(w, problem.Event())
		return
	}
	// Before the body: who may not write here makes the server hold nothing.
	if !session.CanWrite(name) {
		e := wire.Error(protocol.Forbidden, "no right to write to this room", 0)
		e.Room, e.ClientMessageID = name, id
		s.refuse(w, e)
		return
	}
	body, release, ok := s.Door.Body(w, r, int64(s.Protocol.Frame), session.Actor)
	defer release()
	if !ok {
		return
	}
	cmd, problem := protocol.DecodePost(body, name, id, &s.Protocol)
	if problem != nil {
		s.refuse(w, problem.Event())
		return
	}
	s.Door.Work(w, session.Actor, func(w http.ResponseWriter) { s.store(w, r, session.Actor, &cmd) })
}

// store gives a command to the engine and answers its outcome.
func (s *server) store(w http.ResponseWriter, r *http.Request, actor string, cmd *protocol.Command) {
	command := wire.Command(actor, cmd)
	done := make(answer, 1)
	s.Rooms.Send(command, done)
	timer := time.NewTimer(s.SendWait)
	defer timer.Stop()
	var o room.Outcome
	select {
	case o = <-done:
	case <-timer.C:
		// The commit goes on; the same key finds its result.
		o = room.Outcome{Kind: room.InProgress}
	case <-r.Context().Done():
		return
	}
	s.reply(w, o, command.Key)
}

// reply answers with an ack as the body, 201 for a first send and 200 for a repeat, or with the outcome's problem.
func (s *server) reply(w http.ResponseWriter, o room.Outcome, key idem.Key) {
	e := wire.Answer(o, key)
	if e.Type == protocol.TypeError {
		s.refuse(w, e)
		return
	}
	status := http.StatusCreated
	if e.Duplicate {
		status = http.StatusOK
		w.Header().Set(protocol.HeaderReplayed, "true")
	}
	s.write(w, status, protocol.AppendEvent(nil, &e))
}
