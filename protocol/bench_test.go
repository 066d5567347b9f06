package protocol

import (
	"encoding/json"
	"testing"
)

const benchSend = `{"type":"send","ref":"17","room":"orders/eu","clientMessageId":"9f8b6c1d2e3f405162738495a6b7c8d9","text":"three boxes of the usual, please, to the side door","data":{"amount":"12.50","currency":"EUR","lines":[1,2,3]},"sentAt":1790000000123,"follows":"9f8b6c1d2e3f405162738495a6b7c8d8"}`

func BenchmarkDecodeSend(b *testing.B) {
	frame := []byte(benchSend)
	b.Run("hapax", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, problem := DecodeCommand(frame, &DefaultLimits); problem != nil {
				b.Fatal(problem)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c struct {
				Type, Ref, Room, ClientMessageID, Text, Follows string
				Data                                            json.RawMessage
				SentAt                                          int64
			}
			if err := json.Unmarshal(frame, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendMessage(b *testing.B) {
	c, problem := DecodeCommand([]byte(benchSend), &DefaultLimits)
	if problem != nil {
		b.Fatal(problem)
	}
	b.Run("hapax", func(b *testing.B) {
		b.ReportAllocs()
		dst := make([]byte, 0, 1<<10)
		for b.Loop() {
			dst = AppendMessage(dst[:0], c.Room, "e1", 1234567, "m-1", "alice", c.ClientMessageID, c.Text, c.Data, 1790000000123)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(map[string]any{
				"type": "message", "room": c.Room, "epoch": "e1", "seq": 1234567, "messageId": "m-1", "actor": "alice",
				"clientMessageId": c.ClientMessageID, "text": c.Text, "data": json.RawMessage(c.Data), "at": int64(1790000000123),
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecodeMessage(b *testing.B) {
	frame := AppendMessage(nil, "orders/eu", "e1", 1234567, "m-1", "alice", "9f8b6c1d2e3f405162738495a6b7c8d9", "three boxes", nil, 1790000000123)
	b.ReportAllocs()
	for b.Loop() {
		if _, problem := DecodeEvent(frame); problem != nil {
			b.Fatal(problem)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	data := []byte(`{"amount":"12.50","currency":"EUR","lines":[1,2,3]}`)
	b.ReportAllocs()
	for b.Loop() {
		FingerprintOf("three boxes of the usual, please, to the side door", data)
	}
}
