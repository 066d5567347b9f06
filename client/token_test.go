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
)

// I4: a token function that hangs is told of, and there is never a second call beside it: not by Disconnect and Connect, not by NewToken,
// not by a store that is opened anew. Its late answer is taken.
func TestTheTokenFunctionIsNeverCalledTwiceAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		planted := errors.New("planted")
		var calls, failing atomic.Int64
		answer := make(chan string)
		c := w.open(func(o *client.Options) {
			o.Store = memory.Open(w.medium, memory.Options{Fault: func(method string, _ bool) error {
				if failing.Load() > 0 && method == "Add" {
					return planted
				}
				return nil
			}})
			o.Token = func(ctx context.Context) (string, error) {
				calls.Add(1)
				select {
				case token := <-answer:
					return token, nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
		})
		pass(21 * time.Second)
		if s := c.State(); s.State != session.AuthRequired || !errors.Is(s.Err, client.ErrTokenSlow) {
			t.Fatalf("state %+v", s)
		}
		c.Disconnect()
		c.Connect()
		c.NewToken()
		pass(time.Minute)
		failing.Store(1)
		w.is(c.Send(t.Context(), "room", c.NextMessageID(), client.Body{Text: "x"}), planted)
		failing.Store(0)
		pass(time.Second)
		c.Connect() // a new machine
		pass(time.Hour)
		if n := calls.Load(); n != 1 {
			t.Fatalf("%d calls", n)
		}
		answer <- "late"
		id := w.sayAs(c, "room", "hello")[0]
		_, err := c.WaitAck(t.Context(), "room", id)
		w.ok(err)
	})
}

// I3: a token function may say that its user signed out; nothing more is asked of it until the app's word.
func TestSignedOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls atomic.Int64
		var in atomic.Bool
		c := w.open(func(o *client.Options) {
			o.Token = func(context.Context) (string, error) {
				calls.Add(1)
				if in.Load() {
					return "tok", nil
				}
				return "", client.ErrSignedOut
			}
		})
		pass(24 * time.Hour)
		if s := c.State(); s.State != session.AuthRequired || !errors.Is(s.Err, client.ErrSignedOut) || calls.Load() != 1 {
			t.Fatalf("state %+v after %d calls", s, calls.Load())
		}
		in.Store(true)
		c.NewToken()
		synctest.Wait()
		if s := c.State(); s.State != session.Online {
			t.Fatalf("state %+v", s)
		}
	})
}
