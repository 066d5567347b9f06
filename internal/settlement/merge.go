package settlement

import (
	"bufio"
	"container/heap"
	"errors"
	"io"
	"slices"
)

// outside judges a lane that is too large for its share of the memory: sorted runs in the scratch file, merged.
// It is needed where few keys have most of the events.
type outside struct {
	scratch *scratch
	entries []entry // the run being filled
	limit   int     // entries of a run
	runs    []sortedRun
}

// sortedRun is a sorted part of a lane in the scratch file.
type sortedRun struct {
	place, size int64
}

func (o *outside) add(e *entry) error {
	o.entries = append(o.entries, *e)
	if len(o.entries) < o.limit {
		return nil
	}
	return o.flush()
}

func (o *outside) flush() error {
	slices.SortStableFunc(o.entries, func(a, b entry) int { return a.compare(&b) })
	var r sortedRun
	var err error
	r.place, r.size, err = o.scratch.append(func(w *bufio.Writer) error {
		var record []byte
		for i := range o.entries {
			record = appendRecord(record[:0], o.entries[i].key, &o.entries[i].event)
			if _, err := w.Write(record); err != nil {
				return err
			}
		}
		return nil
	})
	o.entries = o.entries[:0]
	o.runs = append(o.runs, r)
	return err
}

// judge merges the runs and gives them to j. Equal entries come from an earlier run first: that is the order of the
// file.
func (o *outside) judge(lane uint32, j *judge) error {
	if err := o.flush(); err != nil {
		return err
	}
	// The readers share the space that the entries had.
	buffer := min(max(o.limit*entryBytes/len(o.runs), 4<<10), scratchBuffer)
	o.entries = nil
	var heads cursors
	for i, r := range o.runs {
		c := &cursor{run: i, in: bufio.NewReaderSize(o.scratch.read(r.place, r.size), buffer)}
		if more, err := c.next(); err != nil {
			return err
		} else if more {
			heads = append(heads, c)
		}
	}
	heap.Init(&heads)
	current, begun := uint32(0), false
	for len(heads) > 0 {
		c := heads[0]
		if !begun || c.entry.key != current {
			if begun {
				j.finish()
			}
			current, begun = c.entry.key, true
			j.begin(keyOf(lane, current))
		}
		j.take(&c.entry.event)
		if more, err := c.next(); err != nil {
			return err
		} else if more {
			heap.Fix(&heads, 0)
		} else {
			heap.Pop(&heads)
		}
	}
	if begun {
		j.finish()
	}
	return nil
}

// cursor reads a run.
type cursor struct {
	run   int
	in    *bufio.Reader
	entry entry
}

func (c *cursor) next() (more bool, err error) {
	record, err := c.in.Peek(maxRecord)
	if len(record) == 0 {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	rest := readRecord(record, &c.entry)
	_, err = c.in.Discard(len(record) - len(rest))
	return true, err
}

type cursors []*cursor

func (h cursors) Len() int { return len(h) }
func (h cursors) Less(i, j int) bool {
	if order := h[i].entry.compare(&h[j].entry); order != 0 {
		return order < 0
	}
	return h[i].run < h[j].run
}
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)   { *h = append(*h, x.(*cursor)) }
func (h *cursors) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
