package engine_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hapax/internal/fanout"
	"hapax/internal/room"
	"hapax/internal/store"
)

// A row is encoded once for its author and once for all others, and for nobody who isn't there.
func TestEncodedAtMostTwice(t *testing.T) {
	for _, c := range []struct {
		readers     []string
		own, others int64
	}{
		{nil, 0, 0},
		{[]string{"ann"}, 1, 0},
		{[]string{"bob"}, 0, 1},
		{[]string{"ann", "ann", "bob", "eve", "eve"}, 1, 1},
	} {
		var own, others atomic.Int64
		o := options()
		o.Encode = func(dst []byte, name, epoch string, m *room.Message, mine bool) []byte {
			if mine {
				own.Add(1)
			} else {
				others.Add(1)
			}
			return frame(dst, name, epoch, m, mine)
		}
		bubble(t, o, func(t *testing.T, r *rig) {
			var readers []*reader
			for _, actor := range c.readers {
				conn := &reader{actor: actor}
				readers = append(readers, conn)
				r.join(conn, "r", nil)
			}
			r.fill("ann", "r", 10)
			synctest.Wait()
			if own.Load() != 10*c.own || others.Load() != 10*c.others {
				t.Errorf("read by %v: %d own and %d other copies of 10 rows", c.readers, own.Load(), others.Load())
			}
			for _, conn := range readers {
				r.sound(conn, "r")
			}
		})
	}
}

// One commit of several authors: each frame is whole, though all share one buffer that grows.
func TestFramesOfAMixedCommit(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		readers := []*reader{{actor: "ann"}, {actor: "bob"}, {actor: "eve"}}
		for _, c := range readers {
			r.join(c, "r", nil)
		}
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		r.post(nil, command("ann", "r", "first", "x"))
		synctest.Wait()
		for i := range 60 {
			actor := []string{"ann", "bob", "bob", "joe"}[i%4]
			r.post(nil, command(actor, "r", fmt.Sprint(actor, i), string(make([]byte, i*37%500))))
		}
		close(g)
		synctest.Wait()
		for _, c := range readers {
			r.sound(c, "r") // a frame that isn't its row's is a fault that the reader notices
			if len(c.frames) != 61 {
				t.Errorf("%s got %d frames", c.actor, len(c.frames))
			}
		}
	})
}

func TestHints(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		var heard []fanout.Hint
		stop := r.bus.Listen(func(h fanout.Hint) { heard = append(heard, h) })
		defer stop()
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		first := r.post(nil, command("ann", "a", "0", "x"))
		synctest.Wait()
		for i, name := range []string{"b", "a", "b", "b"} {
			r.post(nil, command("ann", name, fmt.Sprint("id", i), "x"))
		}
		r.post(nil, command("ann", "a", "0", "x")) // a repeat: nothing new
		close(g)
		<-first
		synctest.Wait()
		r.store.set(func(f *faults) { f.before = func(*store.Batch) error { return store.ErrAgain } })
		r.say("ann", "c", "failed", "x")
		synctest.Wait()
		want := []fanout.Hint{{Room: "a", Seq: 1}, {Room: "b", Seq: 3}, {Room: "a", Seq: 2}}
		if !slices.Equal(heard, want) {
			t.Errorf("hints %v, want %v: one for each room of a commit", heard, want)
		}
	})
}
