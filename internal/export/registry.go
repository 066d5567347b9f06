package export

import (
	"strconv"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// registry writes registrations as rows of dedupe.tsv: one for each registration and change, with the window in force, and one for each key that
// inherits its source's window when that changes. Registrations that were deleted later are left out; none of them ever judged an event.
type registry struct {
	past    *past
	policy  settle.Policy
	sources map[sourceName]*sourceKeys
	row     []byte
}

// sourceKeys is a source's window and, where that was ever changed, the keys that inherit it.
type sourceKeys struct {
	window  int64
	known   bool
	inherit map[string]*registration
	order   []*registration // as they came; one that no longer inherits is nil in it
}

type registration struct {
	name     gateway.Name
	scope    settle.Scope
	capacity int64
	place    int // in order
}

// take writes what a record other than an event's means for the registry.
func (g *registry) take(e *gateway.Entry, write func(row []byte) error) error {
	switch r := e.Record.(type) {
	case *gateway.RegisterRecord:
		if g.past.deleted[r.Name] > e.Number {
			return nil
		}
		s := g.source(sourceName{r.Tenant, r.Source})
		s.remember(r, g.past.changed[sourceName{r.Tenant, r.Source}])
		return write(g.rowOf(r.Name, r.Scope, g.effective(r.WindowS, s), r.LRUCapacity, e.Number))
	case *gateway.SourceRecord:
		s := g.source(sourceName{r.Tenant, r.Source})
		same := s.known && s.window == r.WindowS
		s.window, s.known = r.WindowS, true
		if same {
			return nil
		}
		for _, k := range s.order {
			if k == nil {
				continue
			}
			if err := write(g.rowOf(k.name, k.scope, g.effective(0, s), k.capacity, e.Number)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *registry) source(n sourceName) *sourceKeys {
	s := g.sources[n]
	if s == nil {
		s = &sourceKeys{inherit: map[string]*registration{}}
		g.sources[n] = s
	}
	return s
}

// remember keeps a key that inherits, at a source whose window changes; and forgets one that no longer does.
func (s *sourceKeys) remember(r *gateway.RegisterRecord, changes bool) {
	if !changes {
		return
	}
	if old := s.inherit[r.Key]; old != nil {
		s.order[old.place] = nil
		delete(s.inherit, r.Key)
	}
	if r.WindowS == 0 {
		k := &registration{name: r.Name, scope: r.Scope, capacity: r.LRUCapacity, place: len(s.order)}
		s.order = append(s.order, k)
		s.inherit[r.Key] = k
	}
}

func (g *registry) effective(own int64, s *sourceKeys) int64 {
	for _, w := range []int64{own, s.window} {
		if w != 0 {
			return w
		}
	}
	return g.policy.BlockWindowS
}

func (g *registry) rowOf(n gateway.Name, scope settle.Scope, window, capacity, since int64) []byte {
	g.row = appendName(g.row[:0], n)
	g.row = append(append(g.row, '\t'), scope.String()...)
	for _, number := range [...]int64{window, capacity, since} {
		g.row = strconv.AppendInt(append(g.row, '\t'), number, 10)
	}
	return append(g.row, '\n')
}

func appendName(row []byte, n gateway.Name) []byte {
	row = append(append(row, n.Tenant...), '\t')
	row = append(append(row, n.Source...), '\t')
	return append(row, n.Key...)
}
