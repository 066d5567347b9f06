package memory

import (
	"bytes"
	"crypto/rand"
	"maps"
	"slices"
	"sync"

	"hapax/client/ids"
	"hapax/client/store"
)

// record is an outbox row with its body.
type record struct {
	row  store.Row
	body store.Body
}

// Medium holds what handles opened on it share, as a file does.
type Medium struct {
	mu       sync.Mutex
	device   ids.Device
	owner    store.Owner
	marks    map[ids.Device][]byte
	fence    int64
	drainer  *Store   // holds the lock
	handles  []*Store // open
	changes  int64    // how often anything changed
	position int64    // last one given to an outbox row
	order    []int64  // positions of rows, rising
	rows     map[int64]*record
	keys     map[store.Key]*record
	evicted  int64
	states   [store.Uncertain + 1]int // how many rows are in each state
	feed     int64                    // last position given to a message or a replaced view
	log      []*store.Message         // messages with a position, by it
	views    map[string]*view
	wishes   map[store.Handle][]store.Wish
	receipts map[store.Key]store.Receipt
	receipt  []store.Key // of receipts, in the order in which they came
}

// NewMedium returns an empty medium with a random device.
func NewMedium() *Medium {
	var d ids.Device
	rand.Read(d[:])
	return NewMediumOf(d)
}

// NewMediumOf returns an empty medium with a given device, for tests that must repeat.
func NewMediumOf(d ids.Device) *Medium {
	mark := ids.Ordinal{}.Bytes()
	return &Medium{
		device: d, marks: map[ids.Device][]byte{d: mark[:]}, rows: map[int64]*record{},
		keys: map[store.Key]*record{}, views: map[string]*view{},
		receipts: map[store.Key]store.Receipt{}, wishes: map[store.Handle][]store.Wish{},
	}
}

// Copy returns a medium with the same content and no handles, as a copy of a store's file is.
func (m *Medium) Copy() *Medium {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Medium{
		device: m.device, owner: m.owner, marks: map[ids.Device][]byte{}, fence: m.fence, position: m.position,
		order: slices.Clone(m.order), states: m.states, rows: map[int64]*record{}, keys: map[store.Key]*record{}, evicted: m.evicted,
		feed: m.feed, views: map[string]*view{}, receipts: maps.Clone(m.receipts), receipt: slices.Clone(m.receipt),
		wishes: maps.Clone(m.wishes),
	}
	for d, mark := range m.marks {
		c.marks[d] = bytes.Clone(mark)
	}
	for p, r := range m.rows {
		r := &record{row: r.row, body: r.body}
		c.rows[p], c.keys[r.row.Key] = r, r
	}
	for name, v := range m.views {
		w := c.view(name)
		w.cursor, w.replaced, w.trimmed = v.cursor, v.replaced, v.trimmed
		for _, msg := range v.messages {
			c.put(w, *msg)
		}
	}
	return c
}

// Crash ends every handle as kill -9 of its process would: the drainer's lock is free, nothing else changes.
func (m *Medium) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.handles {
		s.closed = true
	}
	m.handles, m.drainer = nil, nil
}

// SetMark puts raw bytes in place of a device's mark, for tests of a damaged or nearly exhausted store; nil removes it.
func (m *Medium) SetMark(d ids.Device, mark []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mark == nil {
		delete(m.marks, d)
		return
	}
	m.marks[d] = bytes.Clone(mark)
}

// Marks returns a copy of the marks.
func (m *Medium) Marks() map[ids.Device][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := maps.Clone(m.marks)
	for d := range c {
		c[d] = bytes.Clone(c[d])
	}
	return c
}

// insert adds a row behind all others.
func (m *Medium) insert(r store.Row, b store.Body) {
	rec := &record{row: r, body: clone(b)}
	m.position = r.Position
	m.order = append(m.order, r.Position)
	m.rows[r.Position], m.keys[r.Key] = rec, rec
	m.states[r.State]++
}

// set changes a row.
func (m *Medium) set(rec *record, r store.Row) {
	m.states[rec.row.State]--
	m.states[r.State]++
	rec.row = r
}

// remove deletes a row.
func (m *Medium) remove(r store.Row) {
	i, _ := slices.BinarySearch(m.order, r.Position)
	m.order = slices.Delete(m.order, i, i+1)
	m.states[r.State]--
	delete(m.rows, r.Position)
	delete(m.keys, r.Key)
}

// confirmed removes a row that the server has, and keeps its receipt.
func (m *Medium) confirmed(r store.Row, receipt store.Receipt, limit int) {
	m.remove(r)
	if _, again := m.receipts[r.Key]; again {
		m.receipt = slices.DeleteFunc(m.receipt, func(k store.Key) bool { return k == r.Key })
	}
	m.receipts[r.Key] = receipt
	m.receipt = append(m.receipt, r.Key)
	for len(m.receipt) > limit {
		delete(m.receipts, m.receipt[0])
		m.receipt = m.receipt[1:]
	}
}

func clone(b store.Body) store.Body {
	if len(b.Data) == 0 {
		return store.Body{Text: b.Text}
	}
	return store.Body{Text: b.Text, Data: bytes.Clone(b.Data)}
}
