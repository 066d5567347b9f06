package protocol

import (
	"strconv"
	"strings"
)

// Headers and media types of the HTTP binding (docs/spec/protocol.md, Over HTTP).
const (
	HeaderKey      = "Idempotency-Key"      // the client message id
	HeaderReplayed = "Idempotency-Replayed" // "true" with the answer to a duplicate
	MediaProblem   = "application/problem+json"
	MediaJSON      = "application/json"
)

// ParseIdempotencyKey reads the client message id from all values of the Idempotency-Key header: bare, or in quotes as the IETF
// draft has it (a structured field's string). Either way it is one key. None, several, or one that is no valid id is bad_request.
func ParseIdempotencyKey(values []string) (string, *Problem) {
	switch len(values) {
	case 0:
		return "", refuse(BadRequest, "the %s header is missing", HeaderKey)
	case 1:
	default:
		return "", refuse(BadRequest, "the %s header stands %d times", HeaderKey, len(values))
	}
	id := strings.Trim(values[0], " \t")
	if len(id) >= 2 && id[0] == '"' && id[len(id)-1] == '"' {
		// What a structured string would escape, `"` and `\`, no id has: so there is nothing to unescape.
		id = id[1 : len(id)-1]
	}
	if !ValidClientID(id) {
		return "", refuse(BadRequest, "%s must be one key, bare or in quotes: %s", HeaderKey, validIDRule)
	}
	return id, nil
}

// DecodePost reads the body of a POSTed message into a send of the room and id that its path and header name, as strictly as
// DecodeCommand and under the same limits. Members that a body doesn't have, `room` for one, are ignored.
func DecodePost(body []byte, room, clientMessageID string, l *Limits) (Command, *Problem) {
	c := Command{Limit: -1}
	problem := c.readPost(body, room, clientMessageID, l)
	if problem != nil {
		problem.echo(&c, l)
		return Command{}, problem
	}
	return c, nil
}

func (c *Command) readPost(body []byte, room, clientMessageID string, l *Limits) *Problem {
	c.Room, c.ClientMessageID = room, clientMessageID
	if len(body) > l.Frame {
		return refuse(TooLarge, "a body has at most %d bytes", l.Frame)
	}
	r := reader{scanner: scanner{s: string(body)}}
	r.readCommand(c)
	problem := r.document()
	if problem == nil {
		problem = r.check(bodyShape)
	}
	c.keep((r.seen | setOf(fRoom, fClientMessageID)) &^ bodyShape.all())
	c.Type, c.Ref, c.Room, c.ClientMessageID = TypeSend, "", room, clientMessageID
	if problem != nil {
		return problem
	}
	return c.checkValues(r.seen&bodyShape.all()|setOf(fRoom, fClientMessageID), l)
}

// AppendPost appends the body of a send for the HTTP binding to dst; its room goes into the path, its id into the header.
func AppendPost(dst []byte, c *Command) []byte {
	from := len(dst)
	dst = append(c.appendContent(dst), '}')
	dst[from] = '{' // where a member that isn't the first has its comma
	return dst
}

// AppendProblem appends an error event to dst as an RFC 9457 problem document, and returns the HTTP status that goes with it.
func AppendProblem(dst []byte, e *Event) (body []byte, status int) {
	status = e.Code.Rule().Status
	return AppendProblemStatus(dst, e, status), status
}

// AppendProblemStatus is AppendProblem for an answer whose HTTP status isn't the code's own, like 405.
func AppendProblemStatus(dst []byte, e *Event, status int) []byte {
	rule := e.Code.Rule()
	dst = appendString(append(dst, `{"type":`...), rule.Type())
	dst = appendMember(dst, "title", rule.Title)
	dst = appendInt(dst, "status", int64(status))
	dst = appendMember(dst, "detail", e.Text)
	dst = appendMember(dst, "code", string(e.Code))
	dst = appendBool(dst, "retryable", e.Retryable)
	if e.RetryAfterMs > 0 {
		dst = appendInt(dst, "retryAfterMs", e.RetryAfterMs)
	}
	return append(e.appendSubject(dst), '}')
}

// DecodeProblem reads a problem document as the error event that it stands for: its detail is the event's text. A body that is
// no problem document of Hapax (a proxy's, say) is bad_request.
func DecodeProblem(body []byte) (Event, *Problem) {
	r := reader{scanner: scanner{s: string(body)}}
	e := Event{Type: TypeError}
	r.readProblem(&e)
	if problem := r.document(); problem != nil {
		return Event{}, problem
	}
	if problem := r.check(problemShape); problem != nil {
		return Event{}, problem
	}
	if problem := e.checkValues(); problem != nil {
		return Event{}, problem
	}
	return e, nil
}

func (r *reader) readProblem(e *Event) {
	r.expect('{')
	for {
		f, ok := r.member()
		if !ok {
			return
		}
		switch f {
		case fCode:
			r.string(f, (*string)(&e.Code))
		case fDetail:
			r.string(f, &e.Text)
		case fRetryable:
			r.bool(f, &e.Retryable)
		case fRetryAfter:
			r.int(f, &e.RetryAfterMs)
		case fClientMessageID:
			r.string(f, &e.ClientMessageID)
		case fRoom:
			r.string(f, &e.Room)
		case fMessageID:
			r.string(f, &e.MessageID)
		default:
			r.passOver()
		}
	}
}

// RetryAfter is the value of an HTTP Retry-After header: whole seconds, rounded up so that nobody comes too early.
func RetryAfter(ms int64) string {
	return strconv.FormatInt((max(ms, 0)+999)/1000, 10)
}
