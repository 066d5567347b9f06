package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"hapax/internal/room"
	"hapax/internal/store"
)

// TestSideBySide lets real goroutines send, repeat, join and leave while every seventh commit fails, stored or not. In the end
// each key is stored once, and each reader that resumes by its cursor has the whole room, having noticed nothing amiss.
func TestSideBySide(t *testing.T) {
	r := start(t, nil, options())
	defer r.stop()
	var commits atomic.Int64
	r.store.set(func(f *faults) {
		f.before = func(*store.Batch) error { return every(&commits, 7, 0) }
		f.after = func(*store.Batch) error { return every(&commits, 7, 3) }
	})
	const senders, each = 6, 150
	var sending, reading sync.WaitGroup
	for i := range senders {
		sending.Go(func() { r.talk(fmt.Sprint("actor-", i%3), fmt.Sprint("sender-", i), each) })
	}
	var over atomic.Bool
	readers := make([]*reader, 8)
	for i := range readers {
		readers[i] = &reader{actor: fmt.Sprint("actor-", i%4)}
		reading.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			r.join(readers[i], "r", nil)
			for !over.Load() {
				if rng.IntN(2) == 0 {
					r.Leave(readers[i])
				} else {
					r.Unsubscribe(readers[i], "r")
				}
				r.join(readers[i], "r", readers[i].cursor())
			}
		})
	}
	sending.Wait()
	over.Store(true)
	reading.Wait()
	r.store.set(func(f *faults) { f.before, f.after = nil, nil })
	seen := map[string]bool{}
	for _, m := range r.log("r") {
		if key := m.Actor + "/" + m.ID; seen[key] {
			t.Errorf("%s is stored twice", key)
		} else {
			seen[key] = true
		}
	}
	if len(seen) != senders*each {
		t.Errorf("%d keys are stored, want %d", len(seen), senders*each)
	}
	for _, c := range readers {
		r.join(c, "r", c.cursor())
		r.sound(c, "r")
	}
}

func every(n *atomic.Int64, of, at int64) error {
	if n.Add(1)%of == at {
		return fmt.Errorf("now and then: %w", store.ErrAgain)
	}
	return nil
}

// talk says n things, each until it is known to be stored, and then once more.
func (r *rig) talk(actor, prefix string, n int) {
	for i := range n {
		id := fmt.Sprint(prefix, "-", i)
		for {
			o := r.say(actor, "r", id, "x")
			if o.Kind == room.Duplicate {
				break
			}
			if o.Kind != room.Accepted && o.Kind != room.Unavailable {
				r.t.Errorf("%s: %v", id, o.Kind)
				return
			}
		}
	}
}
