package settlement

import (
	"bufio"
	"io"
	"sync"

	"hapax/internal/settle"
)

// gathering takes sheets in any order and keeps them in the order of the file: in memory up to a limit, beyond it in
// the scratch file, lane by lane.
type gathering struct {
	broken  func(line int64, why reason) error
	limit   int64 // bytes of records in memory
	scratch *scratch

	mu       sync.Mutex
	early    map[int]*sheet // came before one that precedes them
	next     int            // index of the next sheet in order
	resident []*sheet
	held     int64 // bytes of records in resident
	spilled  []spill
	rejected settle.Counts
	lines    int64
	counts   [laneCount]int64 // records a lane
	rows     int64            // broken ones
}

// spill is a run of sheets in the scratch file: lane l of all of them lies at place+starts[l].
type spill struct {
	place  int64
	starts [laneCount + 1]int64
}

// add takes a sheet in. Broken rows are told in the order of the file, with their line in it.
func (g *gathering) add(s *sheet) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.early[s.index] = s
	for {
		s, ok := g.early[g.next]
		if !ok {
			return nil
		}
		delete(g.early, g.next)
		g.next++
		if err := g.append(s); err != nil {
			return err
		}
	}
}

func (g *gathering) append(s *sheet) error {
	for _, b := range s.broken {
		if err := g.broken(g.lines+int64(b.line), b.why); err != nil {
			return err
		}
	}
	g.rows += int64(len(s.broken))
	s.broken = nil
	g.lines += s.lines
	g.rejected.Merge(&s.rejected)
	for l, n := range s.counts {
		g.counts[l] += int64(n)
	}
	g.resident = append(g.resident, s)
	g.held += int64(cap(s.records))
	if g.held < g.limit {
		return nil
	}
	return g.spill()
}

// spill writes the sheets in memory to the scratch file.
func (g *gathering) spill() error {
	var sp spill
	place, _, err := g.scratch.append(func(w *bufio.Writer) error {
		for l := range laneCount {
			sp.starts[l+1] = sp.starts[l]
			for _, s := range g.resident {
				n, err := w.Write(s.lane(l))
				sp.starts[l+1] += int64(n)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	sp.place = place
	g.spilled = append(g.spilled, sp)
	clear(g.resident)
	g.resident, g.held = g.resident[:0], 0
	return nil
}

// lane calls take with the pieces of a lane, in the order of the file; each holds whole records and is the caller's
// until take returns. space is reused and returned.
func (g *gathering) lane(l int, space []byte, take func(records []byte) error) ([]byte, error) {
	for _, sp := range g.spilled {
		place, size := sp.place+sp.starts[l], sp.starts[l+1]-sp.starts[l]
		if int64(cap(space)) < size {
			space = make([]byte, size)
		}
		piece := space[:size]
		if _, err := io.ReadFull(g.scratch.read(place, size), piece); err != nil {
			return space, err
		}
		if err := take(piece); err != nil {
			return space, err
		}
	}
	for _, s := range g.resident {
		if err := take(s.lane(l)); err != nil {
			return space, err
		}
	}
	return space, nil
}
