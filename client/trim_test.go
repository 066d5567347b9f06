package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"hapax/client"
	"hapax/client/store"
	"hapax/client/store/memory"
)

// TestASlowReaderIsToldWhatWasDropped: nothing past a reader's place goes without its seqs being named, and what is named can be had from
// the server.
func TestASlowReaderIsToldWhatWasDropped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.open(func(o *client.Options) {
			o.Store = memory.Open(w.medium, memory.Options{Limits: store.Limits{RoomRows: 10}})
		})
		w.ok(c.Subscribe("room"))
		synctest.Wait()
		for i := range 4 {
			w.say("room", fmt.Sprint("row ", i+1))
		}
		synctest.Wait()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		next := int64(1)
		for m, err := range c.Follow(ctx, "room", 0) {
			var dropped *client.TrimmedError
			switch {
			case errors.As(err, &dropped):
				if dropped.From != next || dropped.Room != "room" {
					t.Fatalf("told %+v after row %d", dropped, next-1)
				}
				rows, err := c.History(t.Context(), "room", dropped.To+1, int(dropped.To+1-dropped.From))
				w.ok(err)
				if int64(len(rows)) != dropped.To+1-dropped.From || rows[0].Seq != dropped.From {
					t.Fatalf("history has %d rows of %+v", len(rows), dropped)
				}
				next = dropped.To + 1
				continue
			case err != nil:
				t.Fatal(err)
			case m.Seq != next:
				t.Fatalf("row %d after %d", m.Seq, next-1)
			}
			next++
			if m.Seq == 2 { // a slow reader: forty rows come while it has two
				for i := range 40 {
					w.say("room", fmt.Sprint("row ", i+5))
				}
				synctest.Wait()
			}
			if m.Seq == 44 {
				stop()
			}
		}
		if next != 45 {
			t.Fatalf("ended before row %d", next)
		}
		_, err := c.Messages(t.Context(), "room", 1, 100)
		var dropped *client.TrimmedError
		if !errors.As(err, &dropped) || dropped.To != 34 {
			t.Fatalf("Messages from before: %v", err)
		}
	})
}
