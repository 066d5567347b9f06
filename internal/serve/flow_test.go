package serve_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/internal/store"
	"hapax/protocol"
)

// A reader that takes nothing is cut once its buffer is full. Until then and after, the others get every row in order, and
// the cut one catches up by its cursor.
func TestASlowReaderIsCutAndHoldsUpNobody(t *testing.T) {
	// Only the buffer's bound is to cut the slow one, however long it takes on a busy machine to fill it.
	r := start(t, setup{change: func(c *config.Config) {
		c.Limits.Outbound, c.Timeouts.Idle, c.Timeouts.Write = 8<<20, time.Hour, time.Hour
	}})
	slow, quick := r.enter("slow"), r.enter("quick")
	author := r.enter("author", "tea=w") // who may not read gets acks only
	epoch := slow.subscribe("tea").str("epoch")
	quick.subscribe("tea")
	text := strings.Repeat("x", 16<<10)
	rows := 0
	for !strings.Contains(r.admin("/metrics"), `hapax_connections_cut_total{reason="slow_reader"} 1`) {
		if rows > 4000 { // 64 MB: more than any socket's buffers and the limit hold
			t.Fatal("the slow reader isn't cut")
		}
		const burst = 50
		for i := range burst {
			author.say("tea", fmt.Sprint("m", rows+i), text)
		}
		for range burst {
			rows++
			author.want("ack")
			if m := quick.want("message"); m.num("seq") != int64(rows) {
				t.Fatalf("row %d came as %d", rows, m.num("seq"))
			}
		}
	}
	got := int64(0)
	var last object
	for {
		o, err := slow.read()
		if err != nil {
			t.Fatalf("no word before the end: %v", err)
		}
		if o.str("type") == "error" {
			if o.str("code") != string(protocol.SlowReader) {
				t.Fatalf("%v", o)
			}
			break
		}
		if got++; o.num("seq") != got {
			t.Fatalf("row %d came as %d", got, o.num("seq"))
		}
		last = o
	}
	slow.wantClose(protocol.SlowReader.Rule().Close)
	if got == 0 || got == int64(rows) {
		t.Fatalf("the slow reader got %d of %d rows", got, rows)
	}
	back := r.enter("slow")
	for cursor := (object{"epoch": epoch, "after": got, "messageId": last.str("messageId")}); ; {
		back.send(object{"type": "subscribe", "room": "tea", "cursor": cursor})
		d := back.want("delta")
		for _, m := range d.rows("messages") {
			if got++; m.num("seq") != got {
				t.Fatalf("row %d came as %d in a delta", got, m.num("seq"))
			}
			cursor["after"], cursor["messageId"] = got, m.str("messageId")
		}
		if !d.is("more") {
			break
		}
	}
	if got != int64(rows) {
		t.Errorf("%d of %d rows", got, rows)
	}
}

// With as many sends waiting as may be, the connection isn't read on: nothing is refused, and all are answered in order.
func TestSendsInFlightAreBounded(t *testing.T) {
	var g *gate
	r := start(t, setup{
		change: func(c *config.Config) { c.Limits.InFlight = 4 },
		wrap:   func(st store.Store) store.Store { g = newGate(st); return g },
	})
	s := r.enter("ada")
	s.subscribe("tea")
	release := g.hold()
	defer release()
	const sends = 50
	for i := range sends {
		s.say("tea", fmt.Sprint("m", i), "x")
	}
	<-g.entered
	if metrics := r.admin("/metrics"); !strings.Contains(metrics, "hapax_queue_commands 0") && !strings.Contains(metrics, "hapax_queue_commands 1") &&
		!strings.Contains(metrics, "hapax_queue_commands 2") && !strings.Contains(metrics, "hapax_queue_commands 3") && !strings.Contains(metrics, "hapax_queue_commands 4") {
		t.Error("more sends are queued than one connection may have in flight")
	}
	release()
	for i := 0; i < sends; {
		o := s.skipTo("ack")
		if o.num("seq") != int64(i+1) {
			t.Fatalf("ack %d is of seq %d", i, o.num("seq"))
		}
		i++
	}
}
