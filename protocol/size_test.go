package protocol

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// G1: what is counted is what is written, byte for byte, whatever has to be escaped.
func TestSizesAreThoseOfTheFrame(t *testing.T) {
	texts := rapid.SampledFrom([]string{"", "a", "\u0001\u0002", "\"\\\n\t\r\b\f", "é😀\u2028", "\u007f", strings.Repeat("\u0000", 999)})
	rapid.Check(t, func(t *rapid.T) {
		name := func(what string) string { return texts.Draw(t, what) + rapid.StringN(0, 9, 30).Draw(t, what) }
		e := Event{
			Type: rapid.SampledFrom([]string{TypeSnapshot, TypeDelta, TypePage}).Draw(t, "type"), Ref: name("ref"),
			Room: name("room"), Epoch: name("epoch"), Head: MaxSeq, HeadID: strings.Repeat("m", MaxName), More: true,
		}
		rows, most := 0, 0
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			m := Message{
				Seq: rapid.Int64Range(1, MaxSeq).Draw(t, "seq"), At: rapid.Int64Range(0, MaxSeq).Draw(t, "at"),
				MessageID: name("id"), Actor: name("actor"), ClientMessageID: "k" + name("key"), Text: name("text"),
			}
			if rapid.Bool().Draw(t, "data") {
				m.Data = []byte(`{"a":"` + strings.Repeat("x", rapid.IntRange(0, 99).Draw(t, "bytes")) + `"}`)
			}
			e.Messages = append(e.Messages, m)
			rows, most = rows+RowSize(&m), most+MostRowSize(&m)
		}
		got, with := len(AppendEvent(nil, &e)), e
		with.Messages = nil
		if empty := len(AppendEvent(nil, &with)); got != empty+max(0, rows-1) {
			t.Fatalf("a frame of %d bytes, counted %d for its rows and %d beside them", got, rows, empty)
		}
		if most < rows {
			t.Fatalf("at most %d bytes, in truth %d", most, rows)
		}
		if bound := EnvelopeSize(e.Ref, e.Room, e.Epoch) + rows; got > bound {
			t.Fatalf("a frame of %d bytes, bounded by %d", got, bound)
		}
	})
}

// G1: no frame of a server is larger than it announces, be it one row that escapes worst.
func TestNoFrameIsLargerThanAnnounced(t *testing.T) {
	l := DefaultLimits
	worst := Message{
		Seq: MaxSeq, At: MaxSeq, MessageID: strings.Repeat("\u0001", MaxName), Actor: strings.Repeat("\u0001", MaxName),
		ClientMessageID: strings.Repeat("k", l.ClientID), Text: strings.Repeat("\u0001", l.Text), Data: []byte(`"` + strings.Repeat("d", l.Data-2) + `"`),
	}
	page := Event{Type: TypeSnapshot, Ref: strings.Repeat("\u0001", l.Ref), Room: strings.Repeat("\u0001", l.Room), Epoch: strings.Repeat("e", MaxName),
		Head: MaxSeq, HeadID: strings.Repeat("\u0001", MaxName), Messages: []Message{worst}}
	live := Event{Type: TypeMessage, Message: worst}
	live.Message.Room, live.Message.Epoch = page.Room, page.Epoch
	for _, bytes := range []int{1, 1 << 10, l.DeltaBytes} {
		l.DeltaBytes = bytes
		for _, e := range []Event{page, live} {
			if got, most := len(AppendEvent(nil, &e)), l.LargestFrame(); got > most || most < bytes {
				t.Errorf("a %s of %d bytes, %d announced with pages of %d", e.Type, got, most, bytes)
			}
		}
	}
}
