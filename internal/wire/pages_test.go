package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hapax/internal/engine"
	"hapax/internal/room"
	"hapax/protocol"
)

// G1: an answer is as long as encoded as it may be, whatever its rows escape to: never longer, but for one row, and no row less
// than fits.
func TestPagesAreBoundedAsEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []room.Message
		for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
			text := rapid.SampledFrom([]string{"\u0001", "a", "\"", "é"}).Draw(t, "of")
			rows = append(rows, room.Message{
				Seq: int64(i + 1), MessageID: "m", Actor: "ann", ID: "k", At: 1, Text: strings.Repeat(text, rapid.IntRange(0, 400).Draw(t, "long")),
			})
		}
		newest, l := rapid.Bool().Draw(t, "newest"), protocol.DefaultLimits
		cmd := protocol.Command{Ref: "r\n", Room: "\"tea\"", MaxBytes: rapid.IntRange(1, 20_000).Draw(t, "maxBytes")}
		p := Page(&l, &cmd, -1, "epoch")
		n := Fit(rows, p.Bytes, newest)
		if n > len(rows) || n == 0 && len(rows) > 0 {
			t.Fatalf("%d of %d rows", n, len(rows))
		}
		size := func(n int) int {
			some := rows[:n]
			if newest {
				some = rows[len(rows)-n:]
			}
			e := Caught(cmd.Room, engine.Catchup{Epoch: "epoch", Head: protocol.MaxSeq, HeadID: strings.Repeat("h", protocol.MaxName), Messages: some}, "ann")
			e.Ref = cmd.Ref
			return len(protocol.AppendEvent(nil, &e))
		}
		if n > 1 && size(n) > cmd.MaxBytes {
			t.Fatalf("%d rows are %d bytes, at most %d", n, size(n), cmd.MaxBytes)
		}
		if slack := 1024; n < len(rows) && size(n+1)+slack < cmd.MaxBytes {
			t.Fatalf("%d rows are %d bytes, %d would be %d of %d", n, size(n), n+1, size(n+1), cmd.MaxBytes)
		}
	})
}
