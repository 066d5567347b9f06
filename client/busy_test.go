package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hapax/client"
	"hapax/client/store"
	"hapax/client/store/memory"
)

// stuckStore answers no Add and no Apply until it is let go.
type stuckStore struct {
	store.Store
	stuck chan struct{}
}

func (s stuckStore) Add(ctx context.Context, fence int64, entries []store.Entry) ([]store.Added, error) {
	<-s.stuck
	return s.Store.Add(ctx, fence, entries)
}

// TestCloseEndsWhateverTheStoreDoes: a store that hangs costs Close less than a second, and is closed once it answers. What was begun is kept.
func TestCloseEndsWhateverTheStoreDoes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := stuckStore{Store: memory.Open(w.medium, memory.Options{}), stuck: make(chan struct{})}
		c := w.open(func(o *client.Options) { o.Store = s })
		sent := make(chan error, 1)
		go func() { sent <- c.Send(context.Background(), "room", c.NextMessageID(), client.Body{Text: "one"}) }()
		synctest.Wait()
		start := time.Now()
		w.is(c.Close(), client.ErrClosing)
		if d := time.Since(start); d > time.Second {
			t.Fatalf("Close took %v", d)
		}
		close(s.stuck)
		w.is(c.Close(), nil)
		<-sent
	})
}

// TestABusyStoreBreaksNothing: while a store waits for another process, sends wait with it, and go on without the app's help.
func TestABusyStoreBreaksNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		s := stuckStore{Store: memory.Open(w.medium, memory.Options{}), stuck: make(chan struct{})}
		c := w.open(func(o *client.Options) { o.Store = s })
		id := c.NextMessageID()
		sent := make(chan error, 1)
		go func() { sent <- c.Send(context.Background(), "room", id, client.Body{Text: "one"}) }()
		pass(5 * time.Minute)
		close(s.stuck)
		w.ok(<-sent)
		_, err := c.WaitAck(t.Context(), "room", id.String())
		w.ok(err)
		w.wantTexts("room", "one")
	})
}
