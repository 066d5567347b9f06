package pebble

import (
	"bytes"
	"maps"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
)

// A queue in a log-structured tree: what was taken off its front lies there as a tombstone until tables are merged, and whoever looks for the
// first row passes all of them. Marks remember where the first row is.

// dueMarks hold, for a source's prefix in the table of due times, the key of its first row, or a key beyond its last one. A source without
// a mark may have rows anywhere. A value is never changed: each moment has its own.
type dueMarks map[string][]byte

// dueMarks returns the marks after the commit. A mark moves up only where its own row goes, past rows that go too, and down to
// a row that comes: so each tombstone is passed once.
func (w *writer) dueMarks(was dueMarks) (dueMarks, error) {
	if len(w.dueGone) == 0 && len(w.dueNew) == 0 {
		return was, nil
	}
	is := maps.Clone(was)
	if is == nil {
		is = dueMarks{}
	}
	gone := make(map[string]bool, len(w.dueGone))
	for _, key := range w.dueGone {
		gone[string(key)] = true
	}
	touched := map[string]bool{}
	for _, key := range w.dueGone {
		touched[string(key[:len(key)-2*lenNumber])] = true
	}
	for prefix := range touched {
		mark, known := is[prefix]
		if known && !gone[string(mark)] {
			continue
		}
		if !known {
			mark = []byte(prefix)
		}
		var err error
		if is[prefix], err = firstStaying(w.e.s.db, mark, after([]byte(prefix)), gone); err != nil {
			return nil, err
		}
	}
	for _, key := range w.dueNew {
		prefix := string(key[:len(key)-2*lenNumber])
		if mark, known := is[prefix]; known && bytes.Compare(key, mark) < 0 {
			is[prefix] = key
		}
	}
	return is, nil
}

// firstStaying returns the first key of a range that isn't among those that go, the end of the range where none is.
func firstStaying(r lsm.Reader, from, to []byte, gone map[string]bool) ([]byte, error) {
	if bytes.Equal(from, to) {
		return to, nil
	}
	it, err := r.NewIter(&lsm.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return nil, damage(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if !gone[string(it.Key())] {
			return bytes.Clone(it.Key()), nil
		}
	}
	return to, damage(it.Error())
}

// heldMarks hold, for a key, a number below which none of its outbox rows is held. They are the writer's.
type heldMarks struct{ from map[gateway.Name]int64 }

// maxHeldMarks bounds the keys that have a mark. One without costs a look at its tombstones, once.
const maxHeldMarks = 10_000

func newHeldMarks() heldMarks { return heldMarks{from: map[gateway.Name]int64{}} }

// take learns from a commit: what it found, and which rows it left held.
func (h *heldMarks) take(w *writer) {
	if len(h.from) > maxHeldMarks {
		clear(h.from)
	}
	maps.Copy(h.from, w.e.found)
	for _, c := range w.e.deliveries {
		if d := c.is; d != nil && isHeld(d) {
			if from, known := h.from[d.Name]; known && d.Number < from {
				h.from[d.Name] = d.Number
			}
		}
	}
}
