package memory

import (
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"sync"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Disk is what outlives a Store. Its methods may be called while no Store is open on it.
type Disk struct {
	mu       sync.RWMutex
	open     bool
	identity store.Identity
	names    func() string // makes server ids, epochs and the first part of message ids
	rooms    map[string]*ledger
	books    *books
}

// ledger is a room's rows. Rows run from low+1, results from resultLow+1 to head without a gap.
type ledger struct {
	state     room.State
	resultLow int64
	rows      []room.Message
	kept      []keptResult
	results   map[idem.Key]idem.Result
}

// keptResult is a result in the order of seq, for the purge.
type keptResult struct {
	key idem.Key
	at  int64
}

// NewDisk makes an empty disk. names makes what has to be unique (nil: random text); a simulation gives a seeded one.
func NewDisk(names func() string) *Disk {
	if names == nil {
		names = rand.Text
	}
	return &Disk{
		identity: store.Identity{Server: names(), Epoch: names()},
		names:    names,
		rooms:    map[string]*ledger{},
		books:    newBooks(),
	}
}

// Counted returns names that count up behind a prefix: the same in every run.
func Counted(prefix string) func() string {
	n := 0
	return func() string { n++; return prefix + strconv.Itoa(n) }
}

// Copy returns a backup: the same rows and the same identity.
func (d *Disk) Copy() *Disk {
	d.mu.RLock()
	defer d.mu.RUnlock()
	c := &Disk{identity: d.identity, names: d.names, rooms: make(map[string]*ledger, len(d.rooms)), books: d.books.copy()}
	for name, l := range d.rooms {
		c.rooms[name] = &ledger{
			state: l.state, resultLow: l.resultLow,
			rows: slices.Clone(l.rows), kept: slices.Clone(l.kept), results: maps.Clone(l.results),
		}
	}
	return c
}

// Restored returns what a restore of this backup makes: the same rows and server id, a new epoch.
func (d *Disk) Restored() *Disk {
	c := d.Copy()
	c.identity.Epoch = c.names()
	return c
}

// Plant sets a room's head where nobody wrote yet, as though all rows up to it had aged out. For tests of large seqs.
func (d *Disk) Plant(name string, head int64, headID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.ledger(name)
	l.state = room.State{Head: head, HeadID: headID, Low: head, LowID: headID}
	l.resultLow = head
}

func (d *Disk) ledger(name string) *ledger {
	l := d.rooms[name]
	if l == nil {
		l = &ledger{results: map[idem.Key]idem.Result{}}
		d.rooms[name] = l
	}
	return l
}
