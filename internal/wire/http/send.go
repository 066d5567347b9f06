package http

import (
	"errors"
	"io"
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
	cmd, problem := s.readSend(w, r, name)
	if problem != nil {
		s.refuse(w, problem.Event())
		return
	}
	if !session.CanWrite(name) {
		e := wire.Error(protocol.Forbidden, "no right to write to this room", 0)
		e.Room, e.ClientMessageID = name, cmd.ClientMessageID
		s.refuse(w, e)
		return
	}
	command := wire.Command(session.Actor, &cmd)
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

// readSend reads key and body. Of several faults the first is told.
func (s *server) readSend(w http.ResponseWriter, r *http.Request, name string) (protocol.Command, *protocol.Problem) {
	id, problem := protocol.ParseIdempotencyKey(r.Header.Values(protocol.HeaderKey))
	if problem != nil {
		problem.Room = name
		return protocol.Command{}, problem
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.Protocol.Frame)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return protocol.Command{}, &protocol.Problem{Code: protocol.TooLarge, Message: "the body is larger than a frame may be", Room: name, ClientMessageID: id}
	case err != nil:
		return protocol.Command{}, &protocol.Problem{Code: protocol.BadRequest, Message: "the body did not arrive whole", Room: name, ClientMessageID: id}
	}
	return protocol.DecodePost(body, name, id, &s.Protocol)
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
