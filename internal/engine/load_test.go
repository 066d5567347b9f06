package engine_test

import (
	"testing"
	"testing/synctest"

	"hapax/internal/fanout"
	"hapax/internal/store"
)

// stops holds every reading of the store once it has been read. next waits for one, the gate that it returns lets it go.
type stops chan gate

func stopReadings(r *rig) stops {
	s := make(stops)
	r.store.set(func(f *faults) {
		f.viewed = func() { g := make(gate); s <- g; <-g }
	})
	return s
}

func (s stops) end(r *rig) { r.store.set(func(f *faults) { f.viewed = nil }) }

// A feed reads rows 1 and 2 because of a hint, and before it hands them on the commit of row 1 hands on its own.
func TestAReadingThatOverlapsACommit(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		g := make(gate)
		r.store.set(func(f *faults) { f.after = g.hold })
		own := r.post(nil, command("ann", "r", "here", "1"))
		synctest.Wait()
		r.elsewhere(command("ann", "r", "there", "2"))
		readings := stopReadings(r)
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 2})
		reading := <-readings
		readings.end(r)
		close(g)
		<-own
		synctest.Wait()
		if view, _, _ := c.seen(); len(view) != 1 {
			t.Fatalf("the commit handed on %v, want its row", view)
		}
		close(reading)
		synctest.Wait()
		r.sound(c, "r")
	})
}

// A feed reads a row that a commit of this process has stored, but not yet acknowledged.
func TestAReadingAheadOfAnAck(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		ann := &reader{actor: "ann"}
		r.join(ann, "r", nil)
		g := make(gate)
		r.store.set(func(f *faults) { f.after = g.hold })
		own := r.post(ann, command("ann", "r", "a", "1"))
		synctest.Wait()
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 1})
		synctest.Wait()
		if view, _, _ := ann.seen(); len(view) != 0 {
			t.Errorf("ann was shown %v before its ack", view)
		}
		close(g)
		<-own
		synctest.Wait()
		r.sound(ann, "r")
		if _, events, _ := ann.seen(); len(events) != 3 || events[1] != "ack a" || events[2] != "row 1" {
			t.Errorf("ann: %v", events)
		}
	})
}

// While a feed reads and finds nothing, a row comes whose hint is no higher than the one that told of nothing.
func TestAHintWhileNothingIsFound(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		readings := stopReadings(r)
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 5}) // of a commit that was taken back
		reading := <-readings
		readings.end(r)
		r.elsewhere(command("ann", "r", "there", "1"))
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 1})
		close(reading)
		synctest.Wait()
		r.sound(c, "r")
	})
}

// The first joiner of a room has read it when a commit fails that has stored a row all the same.
func TestADoubtWhileTheHeadIsUnknown(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		r.fill("ann", "r", 3)
		readings := stopReadings(r)
		c := &reader{actor: "bob"}
		joined := make(chan struct{})
		go func() { defer close(joined); r.join(c, "r", nil) }()
		reading := <-readings
		readings.end(r)
		r.store.set(func(f *faults) { f.after = func(*store.Batch) error { return store.ErrAgain } })
		r.say("ann", "r", "doubtful", "x")
		close(reading)
		<-joined
		synctest.Wait()
		r.sound(c, "r")
		if c.head != 4 {
			t.Errorf("bob is at %d, want 4", c.head)
		}
	})
}

// A hint was lost; the next joiner's reading tells the room's other readers.
func TestAJoinerBringsTheNews(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		first := &reader{actor: "bob"}
		r.join(first, "r", nil)
		r.elsewhere(command("ann", "r", "there", "1"))
		second := &reader{actor: "bob"}
		r.join(second, "r", nil)
		synctest.Wait()
		r.sound(first, "r")
		r.sound(second, "r")
	})
}

// A commit of several rows fails and has stored them all; a page of the store holds only one.
func TestADoubtOfManyRows(t *testing.T) {
	o := options()
	o.DeltaRows = 1
	bubble(t, o, func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		r.post(nil, command("ann", "other", "first", "x"))
		synctest.Wait()
		for _, id := range []string{"a", "b", "c"} { // one group
			r.post(nil, command("ann", "r", id, "x"))
		}
		r.store.set(func(f *faults) {
			f.before = nil
			f.after = func(b *store.Batch) error {
				if len(b.Commands) == 3 {
					return store.ErrAgain
				}
				return nil
			}
		})
		close(g)
		synctest.Wait()
		r.sound(c, "r")
		if c.head != 3 {
			t.Errorf("bob is at %d, want 3", c.head)
		}
	})
}
