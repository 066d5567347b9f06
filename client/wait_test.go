package client_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hapax/client"
	"hapax/client/store"
	"hapax/client/store/memory"
)

// counting opens a store on the world's medium that counts how often it is asked for rows, receipts and pages.
func counting(w *world, l store.Limits) (store.Store, *atomic.Int64) {
	var n atomic.Int64
	return memory.Open(w.medium, memory.Options{Limits: l, Fault: func(method string, done bool) error {
		switch method {
		case "Find", "Receipt", "View", "Feed", "List":
			n.Add(1)
		}
		return nil
	}}), &n
}

// TestWaitingCostsTheStoreNothing: however many wait, and however long, each asks the store once or twice.
func TestWaitingCostsTheStoreNothing(t *testing.T) {
	const waiters = 500
	inWorld(t, func(t *testing.T, w *world) {
		st, asked := counting(w, store.Limits{})
		c := w.open(func(o *client.Options) { o.Store, o.Offline = st, true })
		texts := make([]string, waiters)
		for i := range texts {
			texts[i] = fmt.Sprint("text ", i)
		}
		ids := w.sayAs(c, "room", texts...)
		before := asked.Load()
		var all sync.WaitGroup
		for i, id := range ids {
			all.Go(func() {
				if r, err := c.WaitAck(t.Context(), "room", id); err != nil || r.Seq != int64(i+1) {
					t.Errorf("row %d: %+v, %v", i, r, err)
				}
			})
		}
		synctest.Wait()
		c.Connect()
		all.Wait()
		if n := asked.Load() - before; n > 2*waiters {
			t.Fatalf("%d waiters asked the store %d times", waiters, n)
		}
	})
}

// TestAReceiptDoesntDependOnTheRow: neither on its message's being among the newest of the room, nor on its being held at all.
func TestAReceiptDoesntDependOnTheRow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st, _ := counting(w, store.Limits{RoomRows: 3})
		c := w.open(func(o *client.Options) { o.Store = st })
		follower := w.open()
		ids := w.sayAs(c, "room", "a", "b", "c", "d", "e", "f", "g", "h")
		for i, id := range ids {
			for _, who := range []*client.Client{c, follower, c} {
				r, err := who.WaitAck(t.Context(), "room", id)
				w.ok(err)
				if r.Seq != int64(i+1) {
					t.Fatalf("row %d has seq %d", i, r.Seq)
				}
			}
		}
	})
}

// TestWhoWaitsForRoomIsServedInTurn: a place in a full outbox wakes one of those who wait for it, the first.
func TestWhoWaitsForRoomIsServedInTurn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) {
			o.Store, o.Offline = memory.Open(w.medium, memory.Options{Limits: store.Limits{Queued: 1}}), true
		})
		first := w.sayAs(c, "room", "0")[0]
		var order []int
		var all sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for i := range 5 {
			all.Go(func() {
				id := c.NextMessageID()
				if i == 1 { // one who gives up takes no turn from the next
					if err := c.SendWait(ctx, "room", id, client.Body{Text: "given up"}); err == nil {
						t.Error("it was sent")
					}
					return
				}
				if err := c.SendWait(t.Context(), "room", id, client.Body{Text: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
				order = append(order, i) // one at a time: the outbox has one place
				synctest.Wait()
				if err := c.Discard(t.Context(), "room", id.String()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		stop()
		synctest.Wait()
		w.ok(c.Discard(t.Context(), "room", first))
		all.Wait()
		if fmt.Sprint(order) != "[0 2 3 4]" {
			t.Fatalf("served %v", order)
		}
	})
}
