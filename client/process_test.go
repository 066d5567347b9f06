package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store/memory"
	"hapax/protocol"
)

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
		if n := w.times(ofA); n != 1 {
			t.Fatalf("%d times on the wire: the take-over asks first", n)
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
