package wire

import (
	"hapax/internal/engine"
	"hapax/internal/room"
	"hapax/protocol"
)

// Page is what may stand in the answer to a command that asks for rows: at most limit of them (below 0: the most), in a frame of
// at most maxBytes as encoded (0: the server's own bound), which the frame's other members are taken from.
func Page(l *protocol.Limits, c *protocol.Command, limit int, epoch string) engine.Page {
	bytes := l.DeltaBytes
	if c.MaxBytes > 0 {
		bytes = min(bytes, c.MaxBytes)
	}
	return engine.Page{Rows: limit, Bytes: max(1, bytes-protocol.EnvelopeSize(c.Ref, c.Room, epoch))}
}

// Fit implements engine.Fit. Most pages are far from their bound, which their rows' lengths alone tell.
func Fit(rows []room.Message, bytes int, newest bool) int {
	most := 0
	for i := range rows {
		m := message(&rows[i])
		most += protocol.MostRowSize(&m)
	}
	if most <= bytes {
		return len(rows)
	}
	size, n := 0, 0
	for ; n < len(rows); n++ {
		i := n
		if newest {
			i = len(rows) - 1 - n
		}
		m := message(&rows[i])
		if size += protocol.RowSize(&m); size > bytes {
			break
		}
	}
	return max(n, min(1, len(rows)))
}

// message is a row as its author sees it.
func message(m *room.Message) protocol.Message {
	return protocol.Message{
		Seq: m.Seq, MessageID: m.MessageID, Actor: m.Actor, ClientMessageID: m.ID, Text: m.Text, Data: m.Data, At: m.At,
	}
}
