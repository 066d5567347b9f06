package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// An actor that asks for much waits for itself; others get their turn before most of it.
func TestAnActorThatAsksForMuchWaitsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(8)
		ctx, cancel := context.WithCancel(t.Context())
		working, ended := make(chan func(), 100), make(chan error, 100)
		for range 100 {
			go func() {
				done, err := turns.Take(ctx, "ann")
				if err != nil {
					ended <- err
					return
				}
				working <- done
			}()
		}
		synctest.Wait()
		if len(working) != 2 {
			t.Errorf("%d of ann's are at work at once", len(working))
		}
		var others []func()
		for _, actor := range []string{"ben", "eve", "kim", "ben", "eve", "kim"} {
			done, err := turns.Take(ctx, actor)
			if err != nil {
				t.Fatal(err)
			}
			others = append(others, done)
		}
		short, end := context.WithCancel(ctx)
		end()
		if _, err := turns.Take(short, "joe"); !errors.Is(err, context.Canceled) {
			t.Error("a ninth has its turn:", err)
		}
		for _, done := range others {
			done()
		}
		(<-working)()
		synctest.Wait()
		if len(working) != 2 {
			t.Errorf("%d of ann's are at work once one has ended", len(working))
		}
		cancel()
		synctest.Wait()
		for range len(working) {
			(<-working)()
		}
		if len(ended) != 97 || len(turns.actors) != 0 || len(turns.all) != 0 {
			t.Error(len(ended), turns.actors, len(turns.all))
		}
	})
}
