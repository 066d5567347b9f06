package protocol

import "strconv"

func appendMember(dst []byte, name, value string) []byte {
	return appendString(appendName(dst, name), value)
}

func appendInt(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(appendName(dst, name), v, 10)
}

func appendBool(dst []byte, name string, v bool) []byte {
	return strconv.AppendBool(appendName(dst, name), v)
}

// appendName starts a member that isn't the first of its object. name needs no escapes.
func appendName(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendType starts a frame.
func appendType(dst []byte, name, ref string) []byte {
	dst = appendString(append(dst, `{"type":`...), name)
	if ref != "" {
		dst = appendMember(dst, "ref", ref)
	}
	return dst
}

// AppendCommand appends the frame of a command to dst: those fields that its Type has. It doesn't judge them.
func AppendCommand(dst []byte, c *Command) []byte {
	dst = appendType(dst, c.Type, c.Ref)
	switch c.Type {
	case TypeHello:
		dst = appendMember(dst, "token", c.Token)
		if c.Client != "" {
			dst = appendMember(dst, "client", c.Client)
		}
	case TypeSubscribe:
		dst = appendMember(dst, "room", c.Room)
		if c.SendOnly {
			dst = appendBool(dst, "live", false)
		}
		if c.Cursor != nil {
			dst = append(dst, `,"cursor":`...)
			dst = c.Cursor.append(dst)
		}
		if c.Limit >= 0 {
			dst = appendInt(dst, "limit", int64(c.Limit))
		}
		dst = c.appendMaxBytes(dst)
	case TypeUnsubscribe:
		dst = appendMember(dst, "room", c.Room)
	case TypeSend:
		dst = appendMember(dst, "room", c.Room)
		dst = appendMember(dst, "clientMessageId", c.ClientMessageID)
		dst = c.appendContent(dst)
	case TypeStatus:
		dst = appendMember(dst, "room", c.Room)
		dst = appendMember(dst, "clientMessageId", c.ClientMessageID)
		if c.SentAt != 0 {
			dst = appendInt(dst, "sentAt", c.SentAt)
		}
	case TypeHistory:
		dst = appendMember(dst, "room", c.Room)
		dst = appendInt(dst, "before", c.Before)
		dst = appendInt(dst, "limit", int64(c.Limit))
		dst = c.appendMaxBytes(dst)
	}
	return append(dst, '}')
}

func (c *Command) appendMaxBytes(dst []byte) []byte {
	if c.MaxBytes > 0 {
		dst = appendInt(dst, "maxBytes", int64(c.MaxBytes))
	}
	return dst
}

// appendContent appends what a send and a POST body have in common.
func (c *Command) appendContent(dst []byte) []byte {
	dst = appendMember(dst, "text", c.Text)
	if len(c.Data) > 0 {
		dst = append(appendName(dst, "data"), c.Data...)
	}
	if c.SentAt != 0 {
		dst = appendInt(dst, "sentAt", c.SentAt)
	}
	if c.Follows != "" {
		dst = appendMember(dst, "follows", c.Follows)
	}
	return dst
}

func (c *Cursor) append(dst []byte) []byte {
	dst = appendString(append(dst, `{"epoch":`...), c.Epoch)
	dst = appendInt(dst, "after", c.After)
	dst = appendMember(dst, "messageId", c.MessageID)
	return append(dst, '}')
}
