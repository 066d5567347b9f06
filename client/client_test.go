package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hapax/client"
	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func token(context.Context) (string, error) { return "tok", nil }

// world is a server and a store's medium, in a bubble with a clock of its own.
type world struct {
	t *testing.T
	*server
	medium *memory.Medium
}

// inWorld runs f in a bubble; what it opens by open must be closed when it returns, or is closed for it.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: newServer(), medium: memory.NewMediumOf(ids.Device{7})}
		defer w.close()
		f(t, w)
	})
}

func (w *world) options() client.Options {
	return client.Options{
		URL: "ws://test", Token: token, Store: memory.Open(w.medium, memory.Options{}), Transport: w.net,
		Session: session.Config{Rand: func() float64 { return 1 }},
	}
}

func (w *world) open(change ...func(*client.Options)) *client.Client {
	w.t.Helper()
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	c, err := client.Open(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// end closes a client and checks that it took no longer than a second.
func (w *world) end(c *client.Client) {
	w.t.Helper()
	start := time.Now()
	if err := c.Close(); err != nil {
		w.t.Fatal(err)
	}
	if d := time.Since(start); d > time.Second {
		w.t.Fatalf("Close took %v", d)
	}
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) is(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Fatalf("error %v, want %v", err, want)
	}
}

// say sends texts in their order and returns the ids.
func (w *world) sayAs(c *client.Client, room string, texts ...string) (out []string) {
	w.t.Helper()
	for _, text := range texts {
		id := c.NextMessageID()
		w.ok(c.Send(w.t.Context(), room, id, client.Body{Text: text}))
		out = append(out, id.String())
	}
	return out
}

func (w *world) wantTexts(room string, want ...string) {
	w.t.Helper()
	if got := w.texts(room); !slices.Equal(got, want) {
		w.t.Fatalf("room %s holds %q, want %q", room, got, want)
	}
}

// pass lets time pass on the bubble's clock.
func pass(d time.Duration) { <-time.After(d) }

func outbox(t *testing.T, c *client.Client) (rows []client.Row) {
	t.Helper()
	for r, err := range c.Outbox(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

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
		if r.Seq != 1 || !r.Duplicate || w.times(id) < 2 {
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

func TestStatusAndHistory(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		ctx := t.Context()
		sent := w.sayAs(c, "room", "a", "b", "c")
		_, err := c.WaitAck(ctx, "room", sent[2])
		w.ok(err)
		id := sent[1]
		r, err := c.Status(ctx, "room", id)
		w.ok(err)
		if r.Seq != 2 {
			t.Fatalf("receipt %+v", r)
		}
		_, err = c.Status(ctx, "room", "never-sent")
		w.is(err, client.ErrNotFound)
		page, err := c.History(ctx, "room", 0, 2)
		w.ok(err)
		if len(page) != 2 || page[0].Text != "b" {
			t.Fatalf("page %+v", page)
		}
		if page, err = c.History(ctx, "room", 2, 200); err != nil || len(page) != 1 || page[0].Text != "a" {
			t.Fatalf("page %+v, %v", page, err)
		}
		if _, err = c.History(ctx, "room", 0, 201); err == nil {
			t.Fatal("201 rows asked for")
		}
		w.set(func() {
			w.instead = func(c protocol.Command) *protocol.Event {
				return &protocol.Event{Type: protocol.TypeError, Code: protocol.Forbidden}
			}
		})
		_, err = c.History(ctx, "room", 0, 1)
		var said *client.ServerError
		if !errors.As(err, &said) || said.Code != protocol.Forbidden {
			t.Fatalf("error %v", err)
		}
		c.Disconnect()
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err = c.Status(short, "room", id)
		w.is(err, context.DeadlineExceeded)
	})
}

// R26: a handler that panics at row k, is slow, and reconnects from inside loses and repeats no row.
func TestHandlersThatMisbehave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		w.ok(c.Subscribe("room"))
		var panics atomic.Int64
		stop := c.Listen(func(e client.Event) {
			if _, ours := e.(session.Panicked); !ours {
				panics.Add(1)
				panic("at every event")
			}
		})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		done := make(chan error, 1)
		go func() {
			done <- c.Deliver(ctx, "room", 0, func(m client.Message) error {
				got = append(got, m.Text)
				switch len(got) {
				case 3:
					panic("at row 3")
				case 5:
					pass(time.Minute)
				case 7:
					c.Disconnect()
					c.Connect()
				case 20:
					cancel()
				}
				return nil
			})
		}()
		var want []string
		for i := range 20 {
			text := fmt.Sprint("row ", i)
			w.say("room", text)
			want = append(want, text)
			pass(100 * time.Millisecond)
			if i == 12 {
				w.cut()
			}
		}
		w.ok(<-done)
		if !slices.Equal(got, want) {
			t.Fatalf("rows %q", got)
		}
		if panics.Load() < 2 {
			t.Fatalf("the listener was called %d times", panics.Load())
		}
	})
}

func TestSlowListenerIsToldWhatItMissed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		w.ok(c.Subscribe("room"))
		synctest.Wait()
		events := c.Events(t.Context())
		for i := range 1100 {
			w.say("room", fmt.Sprint(i))
		}
		synctest.Wait()
		w.end(c)
		seen, missed := 0, 0
		for e := range events {
			seen++
			if m, ok := e.(session.Missed); ok {
				missed += m.N
			}
		}
		if seen != 1025 || missed != 76 {
			t.Fatalf("%d events, %d missed", seen, missed)
		}
	})
}

// C21: two clients on one store: one drains; the other adds, waits, and takes over when the first ends.
func TestTwoClientsOneStore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.open(), w.open()
		if !a.Drains() || b.Drains() {
			t.Fatalf("draining: %v, %v", a.Drains(), b.Drains())
		}
		id := w.sayAs(b, "room", "of b")[0]
		_, err := b.WaitAck(t.Context(), "room", id)
		w.ok(err)
		w.set(func() { w.mute = func(c protocol.Command) bool { return c.Type == protocol.TypeSend } })
		ofA := w.sayAs(a, "room", "of a")[0]
		synctest.Wait()
		w.end(a) // stored by the server, its ack lost, its drainer gone
		w.set(func() { w.mute = nil })
		r, err := b.WaitAck(t.Context(), "room", ofA)
		w.ok(err)
		if !b.Drains() || r.Seq != 2 || len(outbox(t, b)) != 0 {
			t.Fatalf("drains %v, receipt %+v", b.Drains(), r)
		}
		w.wantTexts("room", "of b", "of a")
		if n := w.times(ofA); n != 2 {
			t.Fatalf("%d times on the wire: once, and once for the take-over", n)
		}
	})
}

// A client that lost the lock without noticing changes nothing, and hands its new rows to the one that drains.
func TestFencedClientFollows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := memory.Open(w.medium, memory.Options{})
		a := w.open(func(o *client.Options) { o.Store = st })
		synctest.Wait()
		w.ok(st.Undrain(t.Context())) // as a kernel does that thinks the process dead
		b := w.open()
		id := w.sayAs(a, "room", "hello")[0]
		_, err := b.WaitAck(t.Context(), "room", id)
		w.ok(err)
		if a.Drains() || !b.Drains() {
			t.Fatalf("draining: %v, %v", a.Drains(), b.Drains())
		}
		if _, err := a.WaitAck(t.Context(), "room", id); err != nil {
			t.Fatal(err)
		}
		w.wantTexts("room", "hello")
	})
}

// C17: a store that fails: one event, sends refused, no loop; Connect opens it anew.
func TestStoreThatFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		disk := errors.New("disk full")
		var broken atomic.Bool
		var calls, failed atomic.Int64
		c := w.open(func(o *client.Options) {
			o.Store = memory.Open(w.medium, memory.Options{Fault: func(method string, done bool) error {
				if !broken.Load() || method == "Changed" {
					return nil
				}
				calls.Add(1)
				return disk
			}})
		})
		w.sayAs(c, "room", "before")
		synctest.Wait()
		defer c.Listen(func(e client.Event) {
			if _, ok := e.(session.Failed); ok {
				failed.Add(1)
			}
		})()
		broken.Store(true)
		w.is(c.Send(t.Context(), "room", c.NextMessageID(), client.Body{Text: "x"}), disk)
		w.is(c.Send(t.Context(), "room", c.NextMessageID(), client.Body{Text: "y"}), client.ErrBroken)
		pass(time.Hour)
		if failed.Load() != 1 || calls.Load() > 4 {
			t.Fatalf("told %d times, %d calls of a failing store", failed.Load(), calls.Load())
		}
		if c.State().State != session.Offline {
			t.Fatalf("state %+v", c.State())
		}
		broken.Store(false)
		c.Connect()
		synctest.Wait()
		id := w.sayAs(c, "room", "after")[0]
		_, err := c.WaitAck(t.Context(), "room", id)
		w.ok(err)
		w.wantTexts("room", "before", "after")
	})
}

func TestOpenFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		disk := errors.New("can't be opened")
		o := w.options()
		o.Store = memory.Open(w.medium, memory.Options{Fault: func(string, bool) error { return disk }})
		if _, err := client.Open(t.Context(), o); !errors.Is(err, disk) {
			t.Fatalf("error %v", err)
		}
		for name, f := range map[string]func(*client.Options){
			"no store": func(o *client.Options) { o.Store = nil }, "no token": func(o *client.Options) { o.Token = nil },
		} {
			o := w.options()
			f(&o)
			if _, err := client.Open(t.Context(), o); err == nil {
				t.Fatal(name)
			}
		}
	})
}

// C13: Close ends within a second in every state.
func TestCloseInEveryState(t *testing.T) {
	hang := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, f := range map[string]func(w *world) *client.Client{
		"offline":   func(w *world) *client.Client { return w.open(func(o *client.Options) { o.Offline = true }) },
		"asking":    func(w *world) *client.Client { return w.open(func(o *client.Options) { o.Token = hang }) },
		"waiting":   func(w *world) *client.Client { w.net.Refuse(errors.New("no")); return w.open() },
		"dialing":   func(w *world) *client.Client { w.stop(); return w.open() },
		"online":    func(w *world) *client.Client { return w.open() },
		"following": func(w *world) *client.Client { w.open(); return w.open() },
		"a deaf listener": func(w *world) *client.Client {
			c := w.open()
			c.Listen(func(client.Event) { <-w.t.Context().Done() })
			return c
		},
		"greeting": func(w *world) *client.Client {
			w.set(func() { w.mute = func(protocol.Command) bool { return true } })
			return w.open()
		},
		"in flight": func(w *world) *client.Client {
			w.set(func() { w.mute = func(c protocol.Command) bool { return c.Type == protocol.TypeSend } })
			c := w.open()
			w.sayAs(c, "room", "a", "b")
			return c
		},
		"auth required": func(w *world) *client.Client {
			w.set(func() {
				w.instead = func(protocol.Command) *protocol.Event {
					return &protocol.Event{Type: protocol.TypeError, Code: protocol.SessionInvalid}
				}
			})
			return w.open()
		},
		"waited for": func(w *world) *client.Client {
			c := w.open(func(o *client.Options) { o.Offline = true })
			id := w.sayAs(c, "room", "a")[0]
			go func() { _, _ = c.WaitAck(context.Background(), "room", id) }()
			go func() { _, _ = c.Status(context.Background(), "room", id) }()
			go func() {
				for range c.Follow(context.Background(), "room", 0) {
				}
			}()
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				c := f(w)
				synctest.Wait()
				w.end(c)
				w.end(c) // twice
				w.is(c.Send(t.Context(), "room", c.NextMessageID(), client.Body{}), client.ErrZeroID)
				w.is(c.Subscribe("room"), client.ErrClosed)
				w.is(c.Resend(t.Context(), "room", "x", client.Body{}), client.ErrClosed)
			})
		})
	}
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

// R30: a store of another actor: nothing sent, nothing shown.
func TestWrongStore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		w.ok(c.Subscribe("room"))
		w.say("room", "for ann")
		synctest.Wait()
		w.end(c)
		w.set(func() { w.actor = "eve" })
		c = w.open()
		w.ok(c.Subscribe("room"))
		w.say("room", "for eve")
		id := w.sayAs(c, "room", "of ann")[0]
		synctest.Wait()
		if s := c.State(); s.State != session.GaveUp || !errors.Is(s.Err, client.ErrWrongStore) {
			t.Fatalf("state %+v", s)
		}
		got, err := c.Messages(t.Context(), "room", 0, 10)
		w.ok(err)
		if len(got) != 1 || w.times(id) != 0 {
			t.Fatalf("shown %+v, sent %d times", got, w.times(id))
		}
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
