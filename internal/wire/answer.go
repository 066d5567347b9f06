package wire

import (
	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/protocol"
)

// RetryAfterMs is told with a retryable code where the engine says nothing: a second is the client's own first delay.
const RetryAfterMs = 1000

type refusal struct {
	code protocol.Code
	text string
}

var refusals = map[room.Kind]refusal{
	room.Conflict:       {protocol.IDConflict, "the id names another message"},
	room.OutcomeUnknown: {protocol.OutcomeUnknown, "first tried too long ago to tell whether it was stored; nothing is stored now"},
	room.OutOfOrder:     {protocol.OutOfOrder, "the message that it follows isn't stored"},
	room.RateLimited:    {protocol.RateLimited, "too many messages"},
	room.InProgress:     {protocol.InProgress, "the same message is being stored; ask again with the same id"},
	room.Unavailable:    {protocol.Unavailable, "the store can't answer now"},
	room.NotFound:       {protocol.NotFound, "no message of this id"},
	room.Full:           {protocol.TooLarge, "the room has reached its last seq"},
	room.BadName:        {protocol.BadRequest, "no room is made whose name ends in * or is ., .. or /; choose another name"},
	room.Draining:       {protocol.Draining, "the server is going down"},
}

// Answer is the ack or the error that answers a send or a status. The caller adds its ref.
func Answer(o room.Outcome, key idem.Key) protocol.Event {
	if o.Kind == room.Accepted || o.Kind == room.Duplicate {
		return protocol.Event{
			Type: protocol.TypeAck, ClientMessageID: key.ID, Room: key.Room, MessageID: o.Result.MessageID, Seq: o.Result.Seq,
			Epoch: o.Result.Epoch, At: o.Result.At, Duplicate: o.Kind == room.Duplicate,
		}
	}
	r, ok := refusals[o.Kind]
	if !ok {
		r = refusals[room.Unavailable]
	}
	e := Error(r.code, r.text, o.RetryAfterMs)
	e.ClientMessageID, e.Room = key.ID, key.Room
	if o.Kind == room.Conflict {
		e.MessageID = o.Result.MessageID
	}
	return e
}

// Error is an error frame. retryAfterMs is told for retryable codes only; 0 means RetryAfterMs.
func Error(code protocol.Code, text string, retryAfterMs int64) protocol.Event {
	e := protocol.ErrorEvent(code, text)
	if e.Retryable {
		e.RetryAfterMs = retryAfterMs
		if retryAfterMs <= 0 {
			e.RetryAfterMs = RetryAfterMs
		}
	}
	return e
}

// Rows are messages as actor sees them: with the clientMessageId on the actor's own only.
func Rows(rows []room.Message, actor string) []protocol.Message {
	out := make([]protocol.Message, len(rows))
	for i := range rows {
		m := &rows[i]
		out[i] = protocol.Message{Seq: m.Seq, MessageID: m.MessageID, Actor: m.Actor, Text: m.Text, Data: m.Data, At: m.At}
		if m.Actor == actor {
			out[i].ClientMessageID = m.ID
		}
	}
	return out
}

// Caught is the snapshot or delta that answers a cursor.
func Caught(name string, c engine.Catchup, actor string) protocol.Event {
	e := protocol.Event{Type: protocol.TypeDelta, Room: name, Epoch: c.Epoch, Head: c.Head, HeadID: c.HeadID, Messages: Rows(c.Messages, actor), More: c.More}
	if c.Reset {
		e.Type = protocol.TypeSnapshot
	}
	return e
}

// Command is the engine's command of a well-formed send.
func Command(actor string, c *protocol.Command) room.Command {
	return room.Command{
		Key: idem.Key{Actor: actor, Room: c.Room, ID: c.ClientMessageID}, Fingerprint: idem.Fingerprint(protocol.FingerprintOf(c.Text, c.Data)),
		Text: c.Text, Data: c.Data, SentAt: c.SentAt, Follows: c.Follows,
	}
}
