package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hapax/client"
	"hapax/client/ids"
	"hapax/client/session"
	"hapax/protocol"
)

func TestSendWaitRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		w.ok(c.Subscribe("room"))
		sent := w.sayAs(c, "room", "one", "two", "three")
		for i, id := range sent {
			r, err := c.WaitAck(t.Context(), "room", id)
			w.ok(err)
			if r.Seq != int64(i+1) || r.Duplicate {
				t.Fatalf("receipt %+v", r)
			}
		}
		synctest.Wait()
		got, err := c.Messages(t.Context(), "room", 0, 10)
		w.ok(err)
		if len(got) != 3 || got[2].Text != "three" {
			t.Fatalf("messages %+v", got)
		}
		if c.State().State != session.Online || len(outbox(t, c)) != 0 {
			t.Fatalf("state %+v, outbox %+v", c.State(), outbox(t, c))
		}
		// WaitAck of a row that left long ago finds it among the room's newest.
		if r, err := c.WaitAck(t.Context(), "room", sent[0]); err != nil || r.Seq != 1 {
			t.Fatalf("receipt %+v, %v", r, err)
		}
		_, err = c.WaitAck(t.Context(), "room", "nobody's")
		w.is(err, client.ErrNoRow)
		w.end(c)
	})
}

// C07, R24: the server stores the first, its answer is lost, the connection is cut: one message, one receipt.
func TestLostAck(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lost := 0
		w.set(func() {
			w.mute = func(c protocol.Command) bool {
				lost++
				return c.Type == protocol.TypeSend && lost < 4
			}
		})
		c := w.open()
		id := w.sayAs(c, "room", "hello")[0]
		synctest.Wait()
		w.cut()
		r, err := c.WaitAck(t.Context(), "room", id)
		w.ok(err)
		w.wantTexts("room", "hello")
		if r.Seq != 1 || !r.Duplicate || w.times(id) != 1 { // asked what became of it, not sent again
			t.Fatalf("receipt %+v after %d sends", r, w.times(id))
		}
	})
}

// C13: one failure, then no event at all: the timer alone retries.
func TestTimerAloneRetries(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.Refuse(errors.New("no route"))
		c := w.open()
		id := w.sayAs(c, "room", "hello")[0]
		pass(3 * time.Second) // of the bubble's clock
		w.net.Refuse(nil)
		_, err := c.WaitAck(t.Context(), "room", id)
		w.ok(err)
	})
}

// C04 and the ids of client.md, 1: refused at every door, with nothing left behind.
func TestIdsAtTheDoor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		ctx := t.Context()
		zero := client.ID{}
		w.is(c.Send(ctx, "room", zero, client.Body{}), client.ErrZeroID)
		w.is(c.Resend(ctx, "room", zero.String(), client.Body{}), client.ErrZeroID)
		w.is(c.Release(zero), client.ErrZeroID)
		_, err := c.Status(ctx, "room", zero.String())
		w.is(err, client.ErrZeroID)
		w.is(c.Send(ctx, "room", client.ID{1}, client.Body{}), client.ErrNotIssued)
		w.is(c.Resend(ctx, "room", "a\"b", client.Body{}), client.ErrBadID)
		id := c.NextMessageID()
		w.ok(c.Send(ctx, "room", id, client.Body{Text: "x"}))
		w.is(c.Send(ctx, "room", id, client.Body{Text: "x"}), client.ErrNotIssued)
		released := c.NextMessageID()
		w.ok(c.Release(released))
		w.is(c.Send(ctx, "room", released, client.Body{}), client.ErrNotIssued)
		for range ids.MaxUnused {
			if c.NextMessageID().IsZero() {
				t.Fatal("no id below the limit")
			}
		}
		if id := c.NextMessageID(); !id.IsZero() {
			t.Fatalf("id %v past the limit of unused ones", id)
		}
		if n := len(outbox(t, c)); n != 1 {
			t.Fatalf("%d rows", n)
		}
		w.end(c)
		if id := c.NextMessageID(); !id.IsZero() {
			t.Fatal("an id of a closed client")
		}
		w.is(c.Send(ctx, "room", zero, client.Body{}), client.ErrZeroID)
	})
}

func TestLeaseIsRenewedInTheBackground(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline, o.Lease = true, 8 })
		seen := map[client.ID]bool{}
		for range 500 {
			id := c.NextMessageID()
			synctest.Wait()
			if id.IsZero() || seen[id] {
				t.Fatalf("id %v after %d", id, len(seen))
			}
			seen[id] = true
			w.ok(c.Release(id))
		}
	})
}

// The token function is asked anew for each connection.
func TestTokenIsReadWhenSending(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var asked atomic.Int64
		c := w.open(func(o *client.Options) {
			o.Token = func(context.Context) (string, error) { return fmt.Sprint("tok", asked.Add(1)), nil }
		})
		synctest.Wait()
		w.cut()
		id := w.sayAs(c, "room", "x")[0]
		_, err := c.WaitAck(t.Context(), "room", id)
		w.ok(err)
		w.set(func() {
			if asked.Load() != 2 || w.hellos != 2 {
				t.Fatalf("asked %d times for %d hellos", asked.Load(), w.hellos)
			}
		})
	})
}

func TestStats(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		id := w.sayAs(c, "room", "x")[0]
		_, err := c.WaitAck(t.Context(), "room", id)
		w.ok(err)
		if s := c.Stats(); s.Sends != 1 || s.Acks != 1 || s.Connects != 1 {
			t.Fatalf("stats %+v", s)
		}
		if n, err := c.Counts(t.Context()); err != nil || n.Queued != 0 {
			t.Fatalf("counts %+v, %v", n, err)
		}
	})
}
