package protocol

import "unicode/utf8"

// DecodeCommand reads one frame from a client, strictly: exact names, no member twice anywhere, one document. Members that the
// frame's type doesn't have are ignored, once they are well-formed; a type of no command is bad_request.
//
// The command keeps nothing of frame. Its strings share one copy of it: whoever keeps one for long clones it. A Problem
// carries ref, room and clientMessageId as far as they could be read.
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
	}
	if problem != nil {
		problem.echo(&c, l)
		return Command{}, problem
	}
	return c, nil
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
	var limit int64
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
			c.Limit = int(limit)
		case fBefore:
			r.int(f, &c.Before)
		default:
			r.skip()
		}
	}
}

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
