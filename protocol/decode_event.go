package protocol

import "fmt"

// DecodeEvent reads one frame from a server, as strictly as DecodeCommand. A frame of a type that version 1 doesn't
// know gives an Event with nothing but its Type and Ref, for which Known is false: it moves nothing.
//
// The event keeps nothing of frame; its strings share one copy of it, which is the whole page for a row of one. Whoever keeps a
// row for long clones what it keeps. The caller bounds the size of a frame.
func DecodeEvent(frame []byte) (Event, *Problem) {
	r := reader{scanner: scanner{s: string(frame)}}
	var e Event
	r.readEvent(&e)
	if problem := r.document(); problem != nil {
		return Event{}, problem
	}
	t, known := eventShapes[e.Type]
	if !known {
		if !r.seen.has(fType) || r.wrong.has(fType) {
			return Event{}, refuse(BadRequest, "type must be a string")
		}
		return Event{Type: e.Type, Ref: e.Ref}, nil
	}
	if problem := r.check(t); problem != nil {
		return Event{}, problem
	}
	if e.Type == TypeMessage || e.Type == TypeAck || e.Type == TypeError {
		e.settleRow()
	}
	e = e.only(t)
	if problem := e.checkValues(); problem != nil {
		return Event{}, problem
	}
	return e, nil
}

// Known says whether version 1 has events of this type.
func (e *Event) Known() bool {
	_, known := eventShapes[e.Type]
	return known
}

func (r *reader) readEvent(e *Event) {
	r.expect('{')
	for {
		f, ok := r.member()
		if !ok {
			break
		}
		if r.readRowMember(f, &e.Message) {
			continue
		}
		switch f {
		case fType:
			r.string(f, &e.Type)
		case fRef:
			r.string(f, &e.Ref)
		case fRoom:
			r.string(f, &e.Room)
		case fEpoch:
			r.string(f, &e.Epoch)
		case fDuplicate:
			r.bool(f, &e.Duplicate)
		case fHead:
			r.int(f, &e.Head)
		case fHeadID:
			r.string(f, &e.HeadID)
		case fMessages:
			r.rows(f, e)
		case fMore:
			r.bool(f, &e.More)
		case fReason:
			r.string(f, &e.Reason)
		case fCode:
			r.string(f, (*string)(&e.Code))
		case fRetryable:
			r.bool(f, &e.Retryable)
		case fRetryAfter:
			r.int(f, &e.RetryAfterMs)
		default:
			r.readWelcomeMember(f, e)
		}
	}
}

// readWelcomeMember reads what stands once in a connection, and `message`, which only an error has.
func (r *reader) readWelcomeMember(f field, e *Event) {
	switch f {
	case fSession:
		r.string(f, &e.Session)
	case fServer:
		r.string(f, &e.Server)
	case fServerTime:
		r.int(f, &e.ServerTime)
	case fLimits:
		e.Limits = r.limits(f)
	case fDedupe:
		e.Retention = -1
		r.small(f, func(name string) bool {
			if name != "retentionMs" {
				return false
			}
			r.int(fSeq, &e.Retention)
			return true
		})
	case fFeatures:
		e.Features = r.features(f)
	case fLive:
		r.bool(f, &e.Live)
	case fMessage:
		r.string(f, &e.Text)
	default:
		r.passOver()
	}
}

// features reads what the server announces. A name that no client can know is passed over, as is one too many.
func (r *reader) features(f field) (list []string) {
	if r.peek() != '[' {
		r.mismatch(f)
		return nil
	}
	outer := r.enter()
	odd := false
	for n := 0; r.next(']', n); n++ {
		var name string
		r.string(fUnknown, &name)
		odd = odd || r.wrong != 0
		if name != "" && len(name) <= maxFeature && len(list) < maxFeatures {
			list = append(list, name)
		}
	}
	r.leave(outer)
	if odd {
		r.note(f, "features must be an array of names")
	}
	return list
}

// limits reads those that the server announces; one that it doesn't name is version 1's own.
func (r *reader) limits(f field) *Limits {
	l := DefaultLimits
	r.small(f, func(name string) bool {
		for _, m := range l.members() {
			if m.name == name {
				var v int64
				r.int(fSeq, &v)
				*m.value = narrow(v)
				return true
			}
		}
		return false
	})
	return &l
}

// readRowMember reads a member that a row has, and says whether f is one.
func (r *reader) readRowMember(f field, m *Message) bool {
	switch f {
	case fSeq:
		r.int(f, &m.Seq)
	case fMessageID:
		r.string(f, &m.MessageID)
	case fActor:
		r.string(f, &m.Actor)
	case fClientMessageID:
		r.string(f, &m.ClientMessageID)
	case fText:
		r.string(f, &m.Text)
	case fData:
		r.data(&m.Data)
	case fAt:
		r.int(f, &m.At)
	default:
		return false
	}
	return true
}

func (r *reader) rows(f field, e *Event) {
	if r.peek() != '[' {
		r.mismatch(f)
		return
	}
	outer := r.enter()
	fault := ""
	for n := 0; r.next(']', n); n++ {
		m, why := r.row()
		if why != "" && fault == "" {
			fault = fmt.Sprintf("messages[%d]: %s", n, why)
		}
		e.Messages = append(e.Messages, m)
	}
	r.leave(outer)
	if fault != "" {
		r.note(f, "%s", fault)
	}
}

// row reads one row, and says what is wrong with it.
func (r *reader) row() (m Message, why string) {
	if r.peek() != '{' {
		r.passOver()
		return m, "must be an object"
	}
	outer := r.enter()
	defer r.leave(outer)
	for {
		f, ok := r.member()
		if !ok {
			break
		}
		if !r.readRowMember(f, &m) {
			r.passOver()
		}
	}
	if problem := r.check(rowShape); problem != nil {
		why = problem.Message
	}
	return m, why
}
