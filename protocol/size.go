package protocol

import "strconv"

// One unit for both ends (docs/spec/protocol.md, Sizes): bytes as encoded.

// RowSize is how many bytes a row takes in a snapshot, delta or page, with the comma before the next one. It is exact for a
// row with a clientMessageId, and a few bytes too much where that is left out.
func RowSize(m *Message) int {
	const members = len(`{"seq":,"messageId":,"actor":,"clientMessageId":,"text":,"at":},`)
	n := members + digits(m.Seq) + digits(m.At) + stringSize(m.MessageID) + stringSize(m.Actor) +
		stringSize(m.ClientMessageID) + stringSize(m.Text)
	if len(m.Data) > 0 {
		n += len(`,"data":`) + len(m.Data)
	}
	return n
}

// MostRowSize bounds RowSize from above by the lengths alone, so that most pages need no look at their bytes: a byte of a string is
// at most six, data stands as it is.
func MostRowSize(m *Message) int {
	const rest = len(`{"seq":,"messageId":"","actor":"","clientMessageId":"","text":"","data":,"at":},`) + 2*len("9007199254740991")
	return rest + 6*(len(m.MessageID)+len(m.Actor)+len(m.ClientMessageID)+len(m.Text)) + len(m.Data)
}

// EnvelopeSize is how many bytes a snapshot, delta or page has beside its rows, with the longest head that there is.
func EnvelopeSize(ref, room, epoch string) int {
	const rest = len(`{"type":"snapshot","ref":,"room":,"epoch":,"head":,"headId":"","messages":[],"more":false,"reset":false}`)
	return rest + len("9007199254740991") + 6*MaxName + stringSize(ref) + stringSize(room) + stringSize(epoch)
}

// LargestFrame is serverFrame for these limits: the frame of the largest row, or of the longest delta.
func (l *Limits) LargestFrame() int {
	row := Message{MessageID: long(MaxName), Actor: long(MaxName), ClientMessageID: long(l.ClientID), Text: long(l.Text)}
	envelope := 6*(l.Ref+l.Room+2*MaxName) + 256
	return max(l.DeltaBytes, MostRowSize(&row)+l.Data+envelope)
}

// long is a string of so many bytes, of which only the length counts.
func long(n int) string { return string(make([]byte, n)) }

func digits(v int64) int {
	var room [20]byte
	return len(strconv.AppendInt(room[:0], v, 10))
}

// stringSize is how many bytes appendString appends.
func stringSize(s string) int {
	n := 2 + len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x20 && c != '"' && c != '\\':
		case c >= 0x20, c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		default:
			n += 5
		}
	}
	return n
}
