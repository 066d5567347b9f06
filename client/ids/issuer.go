package ids

import "sync"

// MaxUnused is how many issued but unused ids are remembered. At the limit Next gives none until one is used or
// released, so that an app that only asks can't grow the set.
const MaxUnused = 256

// Issuer hands out ids of leases. It does no I/O: whoever owns a store watches NeedsLease, reserves, and calls AddLease.
// All methods may be called from several goroutines.
type Issuer struct {
	mu     sync.Mutex
	derive func(Device, Ordinal) ID
	now    Lease  // ids are taken from this one
	passed uint64 // how many of its ordinals were passed
	next   *Lease // reserved ahead
	unused map[ID]struct{}
}

// NewIssuer returns an issuer without a lease: Next gives 0 until AddLease.
func NewIssuer() *Issuer {
	return &Issuer{derive: Make, unused: make(map[ID]struct{})}
}

// AddLease gives the issuer a lease to go on with. At most one is held ahead: a further one is refused with ErrBadLease,
// and its ordinals are then never used.
func (s *Issuer) AddLease(l Lease) error {
	if _, err := l.Last(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.passed == s.now.N && s.next == nil:
		s.now, s.passed = l, 0
	case s.next == nil:
		s.next = &l
	default:
		return ErrBadLease
	}
	return nil
}

// NeedsLease reports whether it is time to reserve the next lease: three quarters of the present one are used, or none
// is held, and none is there to follow it.
func (s *Issuer) NeedsLease() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next == nil && s.passed >= s.now.N-s.now.N/4
}

// Next issues an id. It returns 0, the invalid id, where none can be had: no lease, the lease used up, or MaxUnused ids
// issued and unused. That is back-pressure: an id never comes from elsewhere.
func (s *Issuer) Next() ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unused) >= MaxUnused {
		return ID{}
	}
	for {
		if s.passed == s.now.N {
			if s.next == nil {
				return ID{}
			}
			s.now, s.passed, s.next = *s.next, 0, nil
		}
		o, err := s.now.Start.Add(Ordinal{Lo: s.passed})
		if err != nil { // AddLease has checked the whole range
			return ID{}
		}
		s.passed++
		if id := s.derive(s.now.Device, o); !id.IsZero() {
			s.unused[id] = struct{}{}
			return id
		}
	}
}

// Use takes an issued id for a send; of two sends with one id exactly one gets through. It returns ErrZeroID, or
// ErrUnissued for an id that was not issued here, or was used or released before.
func (s *Issuer) Use(id ID) error {
	if id.IsZero() {
		return ErrZeroID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.unused[id]; !ok {
		return ErrUnissued
	}
	delete(s.unused, id)
	return nil
}

// GiveBack makes an id that Use took usable again, for a send that was refused with nothing stored (a full outbox). It
// is the caller's word that the id was taken by Use and that no row holds it.
func (s *Issuer) GiveBack(id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !id.IsZero() {
		s.unused[id] = struct{}{}
	}
}

// Release gives up an issued id that will not be used. The id is never issued again. Errors as of Use.
func (s *Issuer) Release(id ID) error { return s.Use(id) }

// Unused returns how many ids are issued and neither used nor released.
func (s *Issuer) Unused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unused)
}
