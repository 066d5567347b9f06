package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hapax/client"
	"hapax/client/session"
	"hapax/protocol"
)

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
		seen, missed := 0, 0
		release, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for e := range c.Events(t.Context()) {
				seen++
				if m, ok := e.(session.Missed); ok {
					missed += m.N
				}
				<-release
			}
		}()
		synctest.Wait()
		for i := range 1101 {
			w.say("room", fmt.Sprint(i))
			synctest.Wait() // the first one is taken, and the loop is slow from then on
		}
		w.end(c)
		close(release)
		<-done
		if seen != 1026 || missed != 76 {
			t.Fatalf("%d events, %d missed", seen, missed)
		}
	})
}

// An iterator that nobody ranges over listens to nothing, and one that is ranged over twice listens twice.
func TestEventsListenWhileRangedOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		synctest.Wait()
		for range 100 {
			_ = c.Events(t.Context())
		}
		listeners := func() int { return client.Listeners(c) }
		if n := listeners(); n != 0 {
			t.Fatalf("%d listeners that nobody ranges over", n)
		}
		events := c.Events(t.Context())
		for range 2 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range events {
					return
				}
			}()
			synctest.Wait()
			if n := listeners(); n != 1 {
				t.Fatalf("%d listeners in a loop", n)
			}
			client.Emit(c, session.Missed{N: 1})
			<-done
			if n := listeners(); n != 0 {
				t.Fatalf("%d listeners after the loop", n)
			}
		}
	})
}

// Forget drops a room's rows with its cursor; a room still subscribed begins anew. Unsubscribe keeps what is stored.
func TestForgetAndUnsubscribe(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open()
		w.say("room", "one")
		w.ok(c.SubscribeRows("room", 10))
		synctest.Wait()
		w.ok(c.Forget(t.Context(), "room"))
		synctest.Wait()
		r, ok, err := c.Room(t.Context(), "room")
		w.ok(err)
		if !ok || r.Cursor.After != 1 {
			t.Fatalf("room %+v", r)
		}
		c.Unsubscribe("room")
		synctest.Wait()
		w.say("room", "two")
		c.Visible()
		c.TryNow("room")
		rows, err := c.View(t.Context(), "room", 0, 10)
		w.ok(err)
		if len(rows) != 1 {
			t.Fatalf("view %+v", rows)
		}
		if err := c.SubscribeRows("room", 201); err == nil {
			t.Fatal("201 rows of a snapshot")
		}
		n := 0
		w.ok(c.Export(t.Context(), func(client.Row, client.Body) error { n++; return nil }))
		if _, err := c.Row(t.Context(), "room", "x"); !errors.Is(err, client.ErrNoRow) || n != 0 {
			t.Fatalf("row %v, %d exported", err, n)
		}
	})
}
