package protocol

import "strconv"

// AppendMessage appends a `message` frame to dst. clientMessageID is left out where it is "" (copies for others than the author),
// data where it is empty; data is canonical JSON. at is in Unix milliseconds.
func AppendMessage(dst []byte, room, epoch string, seq int64, messageID, actor, clientMessageID, text string, data []byte, at int64) []byte {
	dst = append(dst, `{"type":"message","room":`...)
	dst = appendString(dst, room)
	dst = appendMember(dst, "epoch", epoch)
	dst = append(dst, ',')
	return append(appendRow(dst, seq, messageID, actor, clientMessageID, text, data, at), '}')
}

// appendRow appends a row's members without braces.
func appendRow(dst []byte, seq int64, messageID, actor, clientMessageID, text string, data []byte, at int64) []byte {
	dst = append(dst, `"seq":`...)
	dst = strconv.AppendInt(dst, seq, 10)
	dst = appendMember(dst, "messageId", messageID)
	dst = appendMember(dst, "actor", actor)
	if clientMessageID != "" {
		dst = appendMember(dst, "clientMessageId", clientMessageID)
	}
	dst = appendMember(dst, "text", text)
	if len(data) > 0 {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return appendInt(dst, "at", at)
}

// AppendEvent appends the frame of an event to dst: those fields that its Type has. Rows in snapshot, delta and page leave out
// room and epoch, which are the frame's.
func AppendEvent(dst []byte, e *Event) []byte {
	if m := &e.Message; e.Type == TypeMessage && e.Ref == "" {
		return AppendMessage(dst, m.Room, m.Epoch, m.Seq, m.MessageID, m.Actor, m.ClientMessageID, m.Text, m.Data, m.At)
	}
	dst = appendType(dst, e.Type, e.Ref)
	switch e.Type {
	case TypeWelcome:
		dst = e.appendWelcome(dst)
	case TypeAck:
		dst = e.appendAck(dst)
	case TypeMessage:
		m := &e.Message
		dst = appendMember(dst, "room", m.Room)
		dst = append(appendMember(dst, "epoch", m.Epoch), ',')
		dst = appendRow(dst, m.Seq, m.MessageID, m.Actor, m.ClientMessageID, m.Text, m.Data, m.At)
	case TypeSnapshot, TypeDelta, TypePage:
		dst = e.appendRows(dst)
	case TypeSubscribed:
		dst = appendBool(appendMember(dst, "room", e.Room), "live", e.Live)
	case TypeUnsubscribed:
		dst = appendMember(dst, "room", e.Room)
		if e.Reason != "" {
			dst = appendMember(dst, "reason", e.Reason)
		}
	case TypePong:
		dst = appendInt(dst, "serverTime", e.ServerTime)
	case TypeError:
		dst = e.appendError(dst)
	}
	return append(dst, '}')
}

func (e *Event) appendWelcome(dst []byte) []byte {
	dst = appendMember(dst, "session", e.Session)
	dst = appendMember(dst, "actor", e.Actor)
	dst = appendMember(dst, "server", e.Server)
	dst = appendMember(dst, "epoch", e.Epoch)
	dst = appendInt(dst, "serverTime", e.ServerTime)
	l := DefaultLimits
	if e.Limits != nil {
		l = *e.Limits
	}
	dst = append(dst, `,"limits":`...)
	separator := byte('{')
	for _, m := range l.members() {
		at := len(dst)
		dst = appendInt(dst, m.name, int64(*m.value))
		dst[at], separator = separator, ','
	}
	dst = append(dst, '}')
	if len(e.Features) > 0 {
		dst = append(dst, `,"features":`...)
		separator = '['
		for _, f := range e.Features {
			dst = appendString(append(dst, separator), f)
			separator = ','
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"dedupe":{"retentionMs":`...)
	return append(strconv.AppendInt(dst, e.Retention, 10), '}')
}

func (e *Event) appendAck(dst []byte) []byte {
	dst = appendMember(dst, "clientMessageId", e.ClientMessageID)
	dst = appendMember(dst, "room", e.Room)
	dst = appendMember(dst, "messageId", e.MessageID)
	dst = appendInt(dst, "seq", e.Seq)
	dst = appendMember(dst, "epoch", e.Epoch)
	dst = appendInt(dst, "at", e.At)
	return appendBool(dst, "duplicate", e.Duplicate)
}

func (e *Event) appendRows(dst []byte) []byte {
	dst = appendMember(dst, "room", e.Room)
	dst = appendMember(dst, "epoch", e.Epoch)
	if e.Type != TypePage {
		dst = appendInt(dst, "head", e.Head)
		dst = appendMember(dst, "headId", e.HeadID)
	}
	dst = append(dst, `,"messages":[`...)
	for i := range e.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := &e.Messages[i]
		dst = appendRow(append(dst, '{'), m.Seq, m.MessageID, m.Actor, m.ClientMessageID, m.Text, m.Data, m.At)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if e.Type != TypeSnapshot {
		dst = appendBool(dst, "more", e.More)
	}
	return dst
}

func (e *Event) appendError(dst []byte) []byte {
	dst = appendMember(dst, "code", string(e.Code))
	dst = appendMember(dst, "message", e.Text)
	dst = appendBool(dst, "retryable", e.Retryable)
	if e.RetryAfterMs > 0 {
		dst = appendInt(dst, "retryAfterMs", e.RetryAfterMs)
	}
	return e.appendSubject(dst)
}

// appendSubject appends what an error speaks of, as far as it is known.
func (e *Event) appendSubject(dst []byte) []byte {
	if e.ClientMessageID != "" {
		dst = appendMember(dst, "clientMessageId", e.ClientMessageID)
	}
	if e.Room != "" {
		dst = appendMember(dst, "room", e.Room)
	}
	if e.MessageID != "" {
		dst = appendMember(dst, "messageId", e.MessageID)
	}
	return dst
}
