package limit

import "sync"

// Slots bound work that is under way: so much in sum, and so much of it for one holder. Only holders with some are remembered.
type Slots struct {
	total, each int

	mu    sync.Mutex
	taken int
	by    map[Holder]int
}

// NewSlots returns slots: total of them, each at most to one holder.
func NewSlots(total, each int) *Slots {
	return &Slots{total: total, each: each, by: make(map[Holder]int)}
}

// The bounds that a slot may be refused by.
const (
	OverSum   = "sum"
	OverShare = "share"
)

// Take takes a slot, or says which bound is reached: OverSum or OverShare. Who took one gives it back.
func (s *Slots) Take(h Holder) (over string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.inSum() && s.by[h] >= s.each {
		return OverShare
	}
	if s.taken >= s.total {
		return OverSum
	}
	s.taken++
	s.by[h]++
	return ""
}

// Give gives a slot back.
func (s *Slots) Give(h Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.by[h]--; s.by[h] == 0 {
		delete(s.by, h)
	}
}

// Taken is how many are taken, and by how many holders.
func (s *Slots) Taken() (slots, holders int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken, len(s.by)
}
