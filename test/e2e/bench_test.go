package e2e_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"hapax/client"
	"hapax/client/session"
)

// BenchmarkSDK is what one client on SQLite does through WebSocket against the embedded store, all durable on both sides:
// eight rooms, up to 64 rows in flight.
func BenchmarkSDK(b *testing.B) {
	h := newHouse(b)
	c := h.openWith("ann", h.file("store.db"), session.Config{})
	b.ResetTimer()
	start := time.Now()
	var senders sync.WaitGroup
	const rooms = 8
	for room := range rooms {
		senders.Go(func() {
			name, last := fmt.Sprint("room", room), ""
			for i := room; i < b.N; i += rooms {
				id := c.NextMessageID()
				if err := c.SendWait(b.Context(), name, id, client.Body{Text: "a message of an ordinary length, as people write them"}); err != nil {
					b.Error(err)
					return
				}
				last = id.String()
			}
			if last == "" {
				return
			}
			if _, err := c.WaitAck(b.Context(), name, last); err != nil {
				b.Error(err)
			}
		})
	}
	senders.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "messages/s")
}
