package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"hapax/internal/idem"
	"hapax/internal/room"
)

// commandCost is what a waiting command takes beside its text and data: key, fingerprint and headers.
const commandCost = 256

// group is what is committed together: commands in the order in which they came, and who waits for each.
type group struct {
	cmds  []room.Command
	dones []Completion
	bytes int
	fresh []atomic.Bool // of each command, once the group is taken: judged to be stored as a new row
	told  chan struct{} // closed once every command has been answered
}

// finds reports whether the group holds a command of that key.
func (g *group) finds(key *idem.Key) bool {
	return slices.ContainsFunc(g.cmds, func(c room.Command) bool { return c.Key == *key })
}

// queue holds commands until they are committed, as groups of bounded size: the last one gathers, the first is taken.
//
// Repeats in flight need no table here. Commits are serial, so a repeat is either in the group of its first, where the
// store judges it by what comes before it, or in a later group, which waits: both is Judging 6, and 8 likewise.
type queue struct {
	maxCommands, maxBytes           int // all that waits
	groupMaxCommands, groupMaxBytes int

	mu       sync.Mutex
	filled   sync.Cond
	groups   []*group
	current  *group // being committed or answered
	spare    *group // emptied, for use again
	commands int    // in groups
	bytes    int    // in groups
	state    queueState
}

type queueState uint8

const (
	queueOpen     queueState = iota
	queueDraining            // takes nothing more, gives out what it has
)

func newQueue(o *Options) *queue {
	q := &queue{maxCommands: o.QueueCommands, maxBytes: o.QueueBytes, groupMaxCommands: o.GroupCommands, groupMaxBytes: o.GroupBytes}
	q.filled.L = &q.mu
	return q
}

// push appends a command. It returns room.Unavailable where the queue is full, room.Draining where it takes nothing
// more, and else 0.
func (q *queue) push(c *room.Command, done Completion) room.Kind {
	cost := commandCost + len(c.Text) + len(c.Data)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state != queueOpen:
		return room.Draining
	case q.commands >= q.maxCommands || q.bytes+cost > q.maxBytes && q.commands > 0:
		return room.Unavailable
	}
	g := q.last()
	if g == nil || len(g.cmds) >= q.groupMaxCommands || g.bytes+cost > q.groupMaxBytes && len(g.cmds) > 0 {
		g = q.fresh()
		q.groups = append(q.groups, g)
	}
	g.cmds, g.dones, g.bytes = append(g.cmds, *c), append(g.dones, done), g.bytes+cost
	q.commands, q.bytes = q.commands+1, q.bytes+cost
	if q.commands == 1 {
		q.filled.Signal()
	}
	return 0
}

func (q *queue) last() *group {
	if len(q.groups) == 0 {
		return nil
	}
	return q.groups[len(q.groups)-1]
}

func (q *queue) fresh() *group {
	g := q.spare
	if q.spare = nil; g == nil {
		g = &group{}
	}
	g.told = make(chan struct{})
	return g
}

// await waits until something is queued. It returns false once the queue is drained and nothing more will come.
func (q *queue) await() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.commands == 0 {
		if q.state == queueDraining {
			return false
		}
		q.filled.Wait()
	}
	return true
}

// take returns the first group, which is from then on the one under way. There must be one.
func (q *queue) take() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.groups[0]
	q.groups = slices.Delete(q.groups, 0, 1)
	q.commands, q.bytes = q.commands-len(g.cmds), q.bytes-g.bytes
	if n := len(g.cmds); n <= cap(g.fresh) {
		g.fresh = g.fresh[:n]
	} else {
		g.fresh = make([]atomic.Bool, n, cap(g.cmds))
	}
	q.current = g
	return g
}

// done forgets the group under way.
func (q *queue) done(g *group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current = nil
	clear(g.cmds)
	clear(g.dones)
	for i := range g.fresh {
		g.fresh[i].Store(false)
	}
	g.cmds, g.dones, g.bytes = g.cmds[:0], g.dones[:0], 0
	q.spare = g
}

// drain lets nothing more in.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = queueDraining
	q.filled.Broadcast()
}

func (q *queue) draining() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state == queueDraining
}

// waiting tells how much is queued.
func (q *queue) waiting() (commands, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.commands, q.bytes
}

// carrying returns the channel that closes when the last queued command of a key has been answered, nil where none is
// queued or under way.
func (q *queue) carrying(key *idem.Key) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range slices.Backward(q.groups) {
		if g.finds(key) {
			return g.told
		}
	}
	if q.current != nil && q.current.finds(key) {
		return q.current.told
	}
	return nil
}

// telling returns the channel that closes when the group under way has been answered, where that group brought one of
// these rows of a room: the store shows them already, but their author has no ack yet. Else, and for a repeat of a row
// stored before, it returns nil.
func (q *queue) telling(name string, rows []room.Message) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current == nil || len(rows) == 0 {
		return nil
	}
	type author struct{ actor, id string }
	var authors map[author]struct{}
	for i := range q.current.cmds {
		key := &q.current.cmds[i].Key
		if key.Room != name || !q.current.fresh[i].Load() {
			continue
		}
		if authors == nil {
			authors = make(map[author]struct{}, len(rows))
			for _, m := range rows {
				authors[author{m.Actor, m.ID}] = struct{}{}
			}
		}
		if _, ok := authors[author{key.Actor, key.ID}]; ok {
			return q.current.told
		}
	}
	return nil
}
