package protocol

// settleRow moves what a message, an ack and an error call by the same names to where the event of its type keeps it.
func (e *Event) settleRow() {
	if e.Type == TypeMessage {
		e.Message.Room, e.Message.Epoch = e.Room, e.Epoch
		return
	}
	m := &e.Message
	e.MessageID, e.ClientMessageID, e.Seq, e.At = m.MessageID, m.ClientMessageID, m.Seq, m.At
}

// only returns the event with just those members that its type has.
func (e Event) only(t shape) Event {
	has := t.all()
	o := Event{Type: e.Type, Ref: e.Ref}
	if has.has(fRoom) {
		o.Room = e.Room
	}
	if has.has(fEpoch) {
		o.Epoch = e.Epoch
	}
	switch e.Type {
	case TypeWelcome:
		o.Session, o.Actor, o.Server, o.Features = e.Session, e.Message.Actor, e.Server, e.Features
		o.ServerTime, o.Limits, o.Retention = e.ServerTime, e.Limits, e.Retention
	case TypePong:
		o.ServerTime = e.ServerTime
	case TypeAck:
		o.ClientMessageID, o.MessageID, o.Seq, o.At, o.Duplicate = e.ClientMessageID, e.MessageID, e.Seq, e.At, e.Duplicate
	case TypeMessage:
		o.Message = e.Message
	case TypeSnapshot, TypeDelta, TypePage:
		o.Messages = e.Messages
		for i := range o.Messages {
			o.Messages[i].Room, o.Messages[i].Epoch = e.Room, e.Epoch
		}
		if has.has(fHead) {
			o.Head, o.HeadID = e.Head, e.HeadID
		}
		o.More = e.More && has.has(fMore)
	case TypeSubscribed:
		o.Live = e.Live
	case TypeUnsubscribed:
		o.Reason = e.Reason
	case TypeError:
		o.Code, o.Text, o.Retryable, o.RetryAfterMs = e.Code, e.Text, e.Retryable, e.RetryAfterMs
		o.ClientMessageID, o.MessageID = e.ClientMessageID, e.MessageID
	}
	return o
}

// checkValues refuses what no server of version 1 sends and what would put a client's cursor, clock or outbox wrong.
func (e *Event) checkValues() *Problem {
	if e.Room != "" && !ValidRoom(e.Room) || e.ClientMessageID != "" && !ValidClientID(e.ClientMessageID) {
		return refuse(BadRequest, "room or clientMessageId is not a valid name")
	}
	switch e.Type {
	case TypeWelcome:
		if e.Epoch == "" || e.Server == "" || !ValidActor(e.Actor) || e.ServerTime < 0 || e.Retention < 0 {
			return refuse(BadRequest, "welcome must name actor, server and epoch, a serverTime and dedupe.retentionMs")
		}
	case TypeAck:
		if e.Seq < 1 || e.Room == "" || e.Epoch == "" || e.MessageID == "" || e.ClientMessageID == "" {
			return refuse(BadRequest, "ack must have a seq above 0, a room, an epoch, a messageId and a clientMessageId")
		}
	case TypeSnapshot, TypeDelta:
		if e.Room == "" || !(Cursor{e.Epoch, e.Head, e.HeadID}).Valid() {
			return refuse(BadRequest, "there must be a room; epoch, head and headId must be a cursor")
		}
	case TypeSubscribed, TypeUnsubscribed:
		if e.Room == "" {
			return refuse(BadRequest, "%s must name a room", e.Type)
		}
	case TypeError:
		if e.Code == "" || e.RetryAfterMs < 0 {
			return refuse(BadRequest, "error must have a code, and no negative retryAfterMs")
		}
	}
	return e.checkRows()
}

func (e *Event) checkRows() *Problem {
	switch e.Type {
	case TypeMessage:
		return e.Message.checkValues()
	case TypePage:
		if e.Room == "" || e.Epoch == "" {
			return refuse(BadRequest, "page must name a room and an epoch")
		}
	}
	for i := range e.Messages {
		if problem := e.Messages[i].checkValues(); problem != nil {
			return problem
		}
	}
	return nil
}

func (m *Message) checkValues() *Problem {
	if m.Seq < 1 || m.MessageID == "" || m.Epoch == "" || m.Room == "" || !ValidActor(m.Actor) ||
		m.ClientMessageID != "" && !ValidClientID(m.ClientMessageID) {
		return refuse(BadRequest, "a row must have a seq above 0, a room, an epoch, a messageId and a valid actor")
	}
	return nil
}
