package protocol

import (
	"strings"
	"unicode"
)

// checkValues judges the values of the members that the frame has and its type knows. Of several faults the first in this
// order is told; too_large comes last, so that it always speaks of an otherwise good command.
func (c *Command) checkValues(has fields, l *Limits) *Problem {
	switch {
	case len(c.Ref) > l.Ref:
		return refuse(BadRequest, "ref has at most %d bytes", l.Ref)
	case has.has(fToken) && c.Token == "":
		return refuse(BadRequest, "token is empty")
	case len(c.Client) > MaxName || strings.IndexFunc(c.Client, unicode.IsControl) >= 0:
		return refuse(BadRequest, "client has at most %d bytes and no control characters", MaxName)
	case has.has(fRoom) && (len(c.Room) > l.Room || !ValidRoom(c.Room)):
		return refuse(BadRequest, "room must be 1 to %d bytes without control characters", l.Room)
	case has.has(fClientMessageID) && (len(c.ClientMessageID) > l.ClientID || !ValidClientID(c.ClientMessageID)):
		return refuse(BadRequest, "clientMessageId must be %s", validIDRule)
	case has.has(fFollows) && (len(c.Follows) > l.ClientID || !ValidClientID(c.Follows)):
		return refuse(BadRequest, "follows must be %s", validIDRule)
	case has.has(fFollows) && c.Follows == c.ClientMessageID:
		return refuse(BadRequest, "follows names the message itself")
	case has.has(fSentAt) && c.SentAt < 1:
		return refuse(BadRequest, "sentAt must be a time in Unix milliseconds, above 0")
	case has.has(fCursor) && !c.Cursor.wellFormed():
		return refuse(BadRequest, "cursor must have an epoch, an after from 0 to 2^53 − 1 and a messageId")
	case has.has(fBefore) && c.Before < 0:
		return refuse(BadRequest, "before must not be negative")
	case has.has(fMaxBytes) && c.MaxBytes < 1:
		return refuse(BadRequest, "maxBytes must be a number of bytes, above 0")
	}
	if problem := c.checkLimit(has, l); problem != nil {
		return problem
	}
	if len(c.Text) > l.Text {
		return refuse(TooLarge, "text has at most %d bytes", l.Text)
	}
	if len(c.Data) > l.Data {
		return refuse(TooLarge, "data has at most %d bytes in canonical form", l.Data)
	}
	return nil
}

const validIDRule = "1 to 128 printable ASCII characters without \" and \\, and not 32 zeros"

func (c *Command) checkLimit(has fields, l *Limits) *Problem {
	if !has.has(fLimit) {
		return nil
	}
	least, most := 0, l.SnapshotRows
	if c.Type == TypeHistory {
		least, most = 1, l.PageRows // a page of no rows would tell nothing
	}
	if c.Limit < least || c.Limit > most {
		return refuse(BadRequest, "limit must be from %d to %d", least, most)
	}
	return nil
}
