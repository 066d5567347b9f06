package protocol

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"
)

// DecodeCommand reads one frame from a client, strictly: exact names, no member twice anywhere, one document. Members that the
// frame's type doesn't have are ignored, once they are well-formed; a type of no command is bad_request.
//
// The command keeps nothing of frame. Its strings may share a copy of it, but none holds more than about 512 bytes beside
// its own. A Problem carries ref, room and clientMessageId as far as they could be read.
func DecodeCommand(frame []byte, l *Limits) (Command, *Problem) {
	if len(frame) > l.Frame {
		return Command{}, refuse(TooLarge, "a frame has at most %d bytes", l.Frame)
	}
	r := reader{scanner: scanner{s: string(frame)}}
	c := Command{Limit: -1}
	r.readCommand(&c)
	problem := r.document()
	if problem == nil {
		problem = c.judge(&r, l)
	} else {
		c = readOn(frame, c)
	}
	if problem != nil {
		problem.echo(&c, l)
		return Command{}, problem
	}
	c.unpin(len(frame))
	return c, nil
}

// readOn looks in a frame that isn't well-formed by our rules, but JSON, for what its answer repeats: the reading ended at the fault, and that may
// stand before them. What was read before it stands.
func readOn(frame []byte, c Command) Command {
	var members map[string]json.RawMessage
	if json.Unmarshal(frame, &members) != nil {
		return c
	}
	text := func(name, read string) string {
		if read != "" {
			return read
		}
		if json.Unmarshal(members[name], &read) != nil || strings.ContainsRune(read, utf8.RuneError) {
			return "" // no text, or not valid Unicode
		}
		return read
	}
	c.Ref, c.Room, c.ClientMessageID = text("ref", c.Ref), text("room", c.Room), text("clientMessageId", c.ClientMessageID)
	return c
}

// pinned is how many bytes of a frame may stay in memory for the sake of one short string out of it.
const pinned = 512

// unpin gives the strings memory of their own where the frame is large: a room's name may live as long as its room, and would
// hold on to a whole frame, most of which may be members that nobody reads.
func (c *Command) unpin(frame int) {
	if frame <= pinned {
		return
	}
	for _, s := range []*string{&c.Type, &c.Ref, &c.Room, &c.ClientMessageID, &c.Follows, &c.Client} {
		*s = strings.Clone(*s)
	}
	if frame > pinned+2*len(c.Text) {
		c.Text = strings.Clone(c.Text)
	}
	if c.Cursor != nil {
		c.Cursor.Epoch, c.Cursor.MessageID = strings.Clone(c.Cursor.Epoch), strings.Clone(c.Cursor.MessageID)
	}
}

// document ends the reading: what is wrong with the JSON as a whole.
func (r *reader) document() *Problem {
	r.end()
	switch {
	case !utf8.ValidString(r.s):
		return refuse(BadRequest, faultUTF8)
	case r.failed():
		return r.problem()
	}
	return nil
}

func (r *reader) readCommand(c *Command) {
	var limit, maxBytes int64
	r.expect('{')
	for {
		f, ok := r.member()
		if !ok {
			return
		}
		switch f {
		case fType:
			r.string(f, &c.Type)
		case fRef:
			r.string(f, &c.Ref)
		case fRoom:
			r.string(f, &c.Room)
		case fClientMessageID:
			r.string(f, &c.ClientMessageID)
		case fText:
			r.string(f, &c.Text)
		case fData:
			r.data(&c.Data)
		case fSentAt:
			r.int(f, &c.SentAt)
		case fFollows:
			r.string(f, &c.Follows)
		case fToken:
			r.string(f, &c.Token)
		case fClient:
			r.string(f, &c.Client)
		case fCursor:
			c.Cursor = r.cursor(f)
		case fLimit:
			r.int(f, &limit)
			c.Limit = narrow(limit)
		case fBefore:
			r.int(f, &c.Before)
		case fLive:
			live := false
			r.bool(f, &live)
			c.SendOnly = !live
		case fMaxBytes:
			r.int(f, &maxBytes)
			c.MaxBytes = narrow(maxBytes)
		default:
			r.passOver()
		}
	}
}

// narrow makes an int of a number where an int may have 32 bits only. No limit is near them.
func narrow(v int64) int { return int(min(max(v, math.MinInt32), math.MaxInt32)) }

func (r *reader) cursor(f field) *Cursor {
	c := new(Cursor)
	has := 0
	r.small(f, func(name string) bool {
		switch name {
		case "epoch":
			r.string(fEpoch, &c.Epoch)
		case "after":
			r.int(fSeq, &c.After)
		case "messageId":
			r.string(fMessageID, &c.MessageID)
		default:
			return false
		}
		has++
		return true
	})
	if has != 3 {
		r.note(f, "cursor must have epoch, after and messageId")
	}
	return c
}

// judge checks what was read against the type's shape and the limits, and drops what the type doesn't have.
func (c *Command) judge(r *reader, l *Limits) *Problem {
	t, known := commandShapes[c.Type]
	if !known {
		switch {
		case r.wrong.has(fType):
			return refuse(BadRequest, "type must be a string")
		case !r.seen.has(fType):
			return refuse(BadRequest, "type is missing")
		}
		return refuse(BadRequest, "type %.32q is not a command", c.Type)
	}
	if problem := r.check(t); problem != nil {
		return problem
	}
	c.keep(r.seen &^ t.all())
	return c.checkValues(r.seen&t.all(), l)
}

// keep clears members that the frame had but its type hasn't.
func (c *Command) keep(foreign fields) {
	for ; foreign != 0; foreign &= foreign - 1 {
		switch foreign.first() {
		case fRoom:
			c.Room = ""
		case fClientMessageID:
			c.ClientMessageID = ""
		case fText:
			c.Text = ""
		case fData:
			c.Data = nil
		case fSentAt:
			c.SentAt = 0
		case fFollows:
			c.Follows = ""
		case fToken:
			c.Token = ""
		case fClient:
			c.Client = ""
		case fCursor:
			c.Cursor = nil
		case fLimit:
			c.Limit = -1
		case fBefore:
			c.Before = 0
		case fLive:
			c.SendOnly = false
		case fMaxBytes:
			c.MaxBytes = 0
		}
	}
}

// echo puts into the problem what its answer repeats, where that is fit to be repeated.
func (p *Problem) echo(c *Command, l *Limits) {
	if len(c.Ref) <= l.Ref && utf8.ValidString(c.Ref) {
		p.Ref = c.Ref
	}
	if ValidRoom(c.Room) {
		p.Room = c.Room
	}
	if ValidClientID(c.ClientMessageID) {
		p.ClientMessageID = c.ClientMessageID
	}
}
