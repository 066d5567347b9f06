package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/protocol"
)

// C03, C09: queued offline, killed, three more, killed between frame and answer: six rows, each delivered once, in order.
func TestOutboxSurvivesKills(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		w.sayAs(c, "room", "1", "2", "3")
		w.medium.Crash()
		_ = c.Close()
		c = w.open(func(o *client.Options) { o.Offline = true })
		w.sayAs(c, "room", "4", "5", "6")
		if rows := outbox(t, c); len(rows) != 6 || rows[0].FirstSentAt != 0 {
			t.Fatalf("outbox %+v", rows)
		}
		_ = c.Close()
		w.set(func() { w.mute = func(c protocol.Command) bool { return c.Type == protocol.TypeSend } })
		c = w.open()
		pass(time.Second)
		w.medium.Crash()
		_ = c.Close()
		w.set(func() { w.mute = nil })
		c = w.open()
		for len(outbox(t, c)) > 0 {
			pass(time.Second)
		}
		w.wantTexts("room", "1", "2", "3", "4", "5", "6")
		w.end(c)
	})
}

// C05: a store copied whole, both copies used: all messages of both are kept, the row that both hold appears once.
func TestCopiedStore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		w.sayAs(c, "room", "both")
		w.end(c)
		twin := &world{t: t, server: w.server, medium: w.medium.Copy()}
		a, b := w.open(), twin.open()
		w.sayAs(a, "room", "a")
		twin.sayAs(b, "room", "b")
		for len(outbox(t, a))+len(outbox(t, b)) > 0 {
			pass(time.Second)
		}
		got := w.texts("room")
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b", "both"}) {
			t.Fatalf("room holds %q", got)
		}
	})
}

// C20: what fits the server's limits goes through, what doesn't is refused by Send, never parked in a loop.
func TestSizes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		ctx := t.Context()
		angle := strings.Repeat("<", 16<<10)
		data := []byte(`"` + strings.Repeat("x", 60<<10) + `"`)
		id := c.NextMessageID()
		w.ok(c.Send(ctx, "room", id, client.Body{Text: angle, Data: data}))
		id = c.NextMessageID()
		w.is(c.Send(ctx, "room", id, client.Body{Text: angle + "<"}), client.ErrTooLarge)
		w.is(c.Send(ctx, "room", id, client.Body{Data: []byte(`"` + strings.Repeat("x", 64<<10) + `"`)}), client.ErrTooLarge)
		w.is(c.Send(ctx, "room", id, client.Body{Text: "\xff"}), client.ErrBadBody)
		w.is(c.Send(ctx, "room", id, client.Body{Data: []byte(`{"a":1,"a":2}`)}), client.ErrBadBody)
		w.is(c.Send(ctx, "", id, client.Body{}), client.ErrBadRoom)
		w.is(c.Send(ctx, "a\nb", id, client.Body{}), client.ErrBadRoom)
		w.is(c.Send(ctx, strings.Repeat("r", 129), id, client.Body{}), client.ErrBadRoom)
		w.ok(c.Send(ctx, "room", id, client.Body{Text: "ok", Data: []byte(`null`)})) // refusals didn't use the id up
		c.Connect()
		_, err := c.WaitAck(ctx, "room", id.String())
		w.ok(err)
		w.wantTexts("room", angle, "ok")
	})
}

// A row accepted while offline that a stricter server can't take is parked, and those behind it go on.
func TestStricterServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limits.Frame = 1000
		c := w.open(func(o *client.Options) { o.Offline = true })
		sent := w.sayAs(c, "room", strings.Repeat("x", 2000), "small")
		c.Connect()
		_, err := c.WaitAck(t.Context(), "room", sent[1])
		w.ok(err)
		_, err = c.WaitAck(t.Context(), "room", sent[0])
		w.is(err, client.ErrParked)
		var row *client.RowError
		if !errors.As(err, &row) || row.Row.Reason != "too_large" || w.times(sent[0]) != 0 {
			t.Fatalf("error %v, %d times on the wire", err, w.times(sent[0]))
		}
		w.is(c.Send(t.Context(), "room", c.NextMessageID(), client.Body{Text: strings.Repeat("x", 2000)}), client.ErrTooLarge)
	})
}

func TestFullOutbox(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) {
			o.Offline = true
			o.Store = memory.Open(w.medium, memory.Options{Limits: store.Limits{Queued: 2}})
		})
		w.sayAs(c, "room", "1", "2")
		id := c.NextMessageID()
		w.is(c.Send(t.Context(), "room", id, client.Body{Text: "3"}), client.ErrFull)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.is(c.SendWait(ctx, "room", id, client.Body{Text: "3"}), context.DeadlineExceeded)
		c.Connect()
		w.ok(c.SendWait(t.Context(), "room", id, client.Body{Text: "3"})) // the id was given back
		_, err := c.WaitAck(t.Context(), "room", id.String())
		w.ok(err)
		w.wantTexts("room", "1", "2", "3")
	})
}

func TestResend(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		ctx := t.Context()
		w.ok(c.Resend(ctx, "room", "from-elsewhere", client.Body{Text: "x"}))
		w.ok(c.Resend(ctx, "room", "from-elsewhere", client.Body{Text: "x"}))
		w.is(c.Resend(ctx, "room", "from-elsewhere", client.Body{Text: "y"}), client.ErrConflict)
		if n := len(outbox(t, c)); n != 1 {
			t.Fatalf("%d rows", n)
		}
		c.Connect()
		r, err := c.WaitAck(ctx, "room", "from-elsewhere")
		w.ok(err)
		w.ok(c.Resend(ctx, "room", "from-elsewhere", client.Body{Text: "x"})) // none there: a new row
		again, err := c.WaitAck(ctx, "room", "from-elsewhere")
		w.ok(err)
		if again.Seq != r.Seq || again.MessageID != r.MessageID {
			t.Fatalf("receipts %+v and %+v", r, again)
		}
		w.ok(c.Resend(ctx, "room", "from-elsewhere", client.Body{Text: "other"}))
		_, err = c.WaitAck(ctx, "room", "from-elsewhere")
		w.is(err, client.ErrParked)
		w.wantTexts("room", "x")
	})
}

func TestCancelRetryDiscard(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		ctx := t.Context()
		sent := w.sayAs(c, "room", "a", "b", "c")
		w.ok(c.Cancel(ctx, "room", sent[0]))
		w.is(c.Cancel(ctx, "room", sent[0]), client.ErrNoRow)
		w.set(func() {
			w.instead = func(c protocol.Command) *protocol.Event {
				if c.Type != protocol.TypeSend {
					return nil
				}
				return &protocol.Event{Type: protocol.TypeError, Code: protocol.BadRequest}
			}
		})
		c.Connect()
		_, err := c.WaitAck(ctx, "room", sent[2])
		w.is(err, client.ErrParked)
		w.is(c.Cancel(ctx, "room", sent[1]), client.ErrMayHaveBeenSent)
		w.ok(c.Discard(ctx, "room", sent[1]))
		_, err = c.WaitAck(ctx, "room", sent[1])
		w.is(err, client.ErrNoRow)
		w.set(func() { w.instead = nil })
		w.ok(c.Retry(ctx, "room", sent[2]))
		_, err = c.WaitAck(ctx, "room", sent[2])
		w.ok(err)
		w.wantTexts("room", "c")
		w.is(c.Retry(ctx, "room", sent[2]), client.ErrNoRow)
	})
}

// A body that can't be read is parked with its reason and told; the rows behind it go on.
func TestUnreadableBody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) { o.Offline = true })
		sent := w.sayAs(c, "room", "spoilt", "sound")
		w.end(c)
		reads := 0
		c = w.open(func(o *client.Options) {
			o.Store = memory.Open(w.medium, memory.Options{Fault: func(method string, done bool) error {
				if method != "Body" {
					return nil
				}
				if reads++; reads == 1 {
					return store.ErrUnreadable
				}
				return nil
			}})
		})
		_, err := c.WaitAck(t.Context(), "room", sent[1])
		w.ok(err)
		_, err = c.WaitAck(t.Context(), "room", sent[0])
		var row *client.RowError
		if !errors.As(err, &row) || row.Row.Reason != session.ReasonUnreadable {
			t.Fatalf("error %v", err)
		}
		w.wantTexts("room", "sound")
	})
}

// A new token renews the session on the open connection, and sets a held room free.
func TestNewTokenFreesAHeldRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var granted atomic.Bool
		w.set(func() {
			w.instead = func(c protocol.Command) *protocol.Event {
				if c.Type != protocol.TypeSend || granted.Load() {
					return nil
				}
				return &protocol.Event{Type: protocol.TypeError, Code: protocol.Forbidden}
			}
		})
		c := w.open(func(o *client.Options) {
			o.Token = func(context.Context) (string, error) { return fmt.Sprint("grants ", granted.Load()), nil }
		})
		id := w.sayAs(c, "room", "x")[0]
		_, err := c.WaitAck(t.Context(), "room", id)
		w.is(err, client.ErrParked)
		granted.Store(true)
		c.NewToken()
		pass(time.Second)
		if _, err := c.WaitAck(t.Context(), "room", id); err != nil {
			t.Fatal(err)
		}
		w.set(func() {
			if w.hellos != 2 {
				t.Fatalf("%d hellos", w.hellos)
			}
		})
	})
}
