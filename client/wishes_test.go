package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hapax/client/store/memory"
)

// TestASecondProcessReadsToo: what a process wants that doesn't lead is read by the one that does, for as long as it wants it, and by
// itself once it leads.
func TestASecondProcessReadsToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.open(), w.open()
		synctest.Wait()
		if !a.Drains() || b.Drains() {
			t.Fatal("the first doesn't lead")
		}
		holds := func(room string) int64 {
			pass(2 * time.Second) // more than a look at the store takes
			r, _, err := b.Room(t.Context(), room)
			w.ok(err)
			return r.Cursor.After
		}
		w.say("room", "one")
		w.ok(b.Subscribe("room"))
		if n := holds("room"); n != 1 {
			t.Fatalf("the room is held up to %d", n)
		}
		got := make(chan string, 10)
		go func() {
			for m, err := range b.Follow(t.Context(), "room", 0) {
				if err == nil {
					got <- m.Text
				}
			}
		}()
		w.say("room", "two")
		if one, two := <-got, <-got; one != "one" || two != "two" {
			t.Fatalf("read %q, %q", one, two)
		}
		pass(5 * time.Minute) // it goes on wanting it
		w.say("room", "three")
		if n := holds("room"); n != 3 {
			t.Fatalf("after five minutes the room is held up to %d", n)
		}

		w.ok(a.Subscribe("room")) // both want it, then the follower alone, then nobody
		pass(2 * time.Second)
		a.Unsubscribe("room")
		w.say("room", "four")
		if n := holds("room"); n != 4 {
			t.Fatalf("the leader's Unsubscribe ended the follower's: up to %d", n)
		}
		b.Unsubscribe("room")
		pass(2 * time.Second)
		w.say("room", "five")
		if n := holds("room"); n != 4 {
			t.Fatalf("nobody wants it, and it is held up to %d", n)
		}

		w.ok(b.Subscribe("room"))
		pass(2 * time.Second)
		w.end(a)
		w.say("room", "six")
		if n := holds("room"); n != 6 || !b.Drains() {
			t.Fatalf("after the take-over up to %d, leads %v", n, b.Drains())
		}
		wishes, err := memory.Open(w.medium, memory.Options{}).Wanted(t.Context())
		if err != nil || len(wishes) != 0 {
			t.Fatalf("wishes of one who leads: %v, %v", wishes, err)
		}
	})
}

// TestADeadProcessWantsNothing: what it wanted is forgotten a minute later, and its rooms are let go.
func TestADeadProcessWantsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.open()
		dead := memory.Open(w.medium, memory.Options{})
		w.ok(dead.Want(t.Context(), 1, map[string]int{"room": -1}))
		w.ok(dead.Close())
		pass(2 * time.Second)
		w.say("room", "one")
		synctest.Wait()
		if r, _, _ := a.Room(t.Context(), "room"); r.Cursor.After != 1 {
			t.Fatalf("held up to %d", r.Cursor.After)
		}
		pass(2 * time.Minute)
		w.say("room", "two")
		synctest.Wait()
		if r, _, _ := a.Room(t.Context(), "room"); r.Cursor.After != 1 {
			t.Fatalf("still read: up to %d", r.Cursor.After)
		}
		wishes, err := memory.Open(w.medium, memory.Options{}).Wanted(t.Context())
		if err != nil || len(wishes) != 0 {
			t.Fatalf("left: %v, %v", wishes, err)
		}
	})
}
