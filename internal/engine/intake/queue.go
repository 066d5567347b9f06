package intake

import (
	"slices"
	"sync"

	"hapax/internal/gateway"
)

// ticket is what one caller enters together, and where it waits.
type ticket struct {
	commands []gateway.Command
	bytes    int
	done     chan answer // holds one
}

type answer struct {
	outcomes []gateway.Outcome
	err      error
}

// group is what is committed together.
type group struct {
	tickets  []*ticket
	commands int
	bytes    int
}

// queue holds tickets until they are committed, as groups of bounded size: the last one gathers, the first is taken. A ticket is never
// divided; one that is larger than a group may be is a group of its own.
type queue struct {
	maxCommands, maxBytes           int // all that waits
	groupMaxCommands, groupMaxBytes int

	mu       sync.Mutex
	filled   sync.Cond
	groups   []*group
	commands int // in groups
	bytes    int // in groups
	draining bool
}

func newQueue(o *Options) *queue {
	q := &queue{maxCommands: o.QueueCommands, maxBytes: o.QueueBytes, groupMaxCommands: o.GroupCommands, groupMaxBytes: o.GroupBytes}
	q.filled.L = &q.mu
	return q
}

// push appends a ticket. It is refused with ErrDraining or, where others wait and there is no room beside them, with ErrBusy.
func (q *queue) push(t *ticket) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(t.commands)
	switch {
	case q.draining:
		return ErrDraining
	case q.commands > 0 && (q.commands+n > q.maxCommands || q.bytes+t.bytes > q.maxBytes):
		return ErrBusy
	}
	var g *group
	if last := len(q.groups) - 1; last >= 0 {
		g = q.groups[last]
	}
	if g == nil || g.commands+n > q.groupMaxCommands || g.bytes+t.bytes > q.groupMaxBytes {
		g = &group{}
		q.groups = append(q.groups, g)
	}
	g.tickets, g.commands, g.bytes = append(g.tickets, t), g.commands+n, g.bytes+t.bytes
	q.commands, q.bytes = q.commands+n, q.bytes+t.bytes
	q.filled.Signal()
	return nil
}

// await waits until something is queued. It returns false once the queue is drained and nothing more will come.
func (q *queue) await() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.groups) == 0 {
		if q.draining {
			return false
		}
		q.filled.Wait()
	}
	return true
}

// take returns the first group. There must be one.
func (q *queue) take() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.groups[0]
	q.groups = slices.Delete(q.groups, 0, 1)
	q.commands, q.bytes = q.commands-g.commands, q.bytes-g.bytes
	return g
}

// drain lets nothing more in.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.draining = true
	q.filled.Broadcast()
}

// waiting tells how much is queued.
func (q *queue) waiting() (commands, bytes int, draining bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.commands, q.bytes, q.draining
}
