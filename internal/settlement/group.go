package settlement

import (
	"slices"

	"hapax/internal/settle"
)

// inMemory judges a lane that is decoded as a whole: grouped by key by counting, which keeps the order of the file,
// then ordered within a key where that is needed.
type inMemory struct {
	judge   *judge
	entries []entry // in the order of the file
	grouped []settle.Event
	ends    []uint32 // of the keys' groups
}

func (m *inMemory) run(lane uint32, keys int) {
	m.group(keys)
	start := uint32(0)
	for within, end := range m.ends {
		events := m.grouped[start:end]
		start = end
		if len(events) == 0 {
			continue
		}
		order(events)
		m.judge.begin(keyOf(lane, uint32(within)))
		for i := range events {
			m.judge.take(&events[i])
		}
		m.judge.finish()
	}
}

func (m *inMemory) group(keys int) {
	m.ends = append(m.ends[:0], make([]uint32, keys)...)
	for i := range m.entries {
		m.ends[m.entries[i].key]++
	}
	at := uint32(0)
	for key, count := range m.ends {
		m.ends[key] = at // for now the start
		at += count
	}
	m.grouped = slices.Grow(m.grouped[:0], len(m.entries))[:len(m.entries)]
	for i := range m.entries {
		e := &m.entries[i]
		m.grouped[m.ends[e.key]] = e.event
		m.ends[e.key]++
	}
}

// order sorts the events of a key for judging; equal ones stay in the order of the file.
func order(events []settle.Event) {
	for i := 1; i < len(events); i++ {
		if events[i].Compare(&events[i-1]) < 0 {
			slices.SortStableFunc(events, func(a, b settle.Event) int { return a.Compare(&b) })
			return
		}
	}
}
