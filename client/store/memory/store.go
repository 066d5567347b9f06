package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"hapax/client/ids"
	"hapax/client/store"
)

// Options of a handle.
type Options struct {
	Limits store.Limits
	// Fault, where set, is asked before each method but Close changes or reads anything, with the method's name, and once
	// more, with done, after it has changed something. Its error becomes the method's: with done, the change is there all
	// the same, as after a commit whose answer was lost.
	Fault func(method string, done bool) error
}

// Store is a handle on a Medium.
type Store struct {
	m       *Medium
	limits  store.Limits
	fault   func(string, bool) error
	created bool
	handle  store.Handle
	// guarded by m.mu
	closed bool
	fence  int64   // the fence under which this handle drains, 0 if it doesn't
	doubt  []int64 // found Sending by the last Drain
	own    int64   // changes of the medium that this handle made
	seen   int64   // changes by others that Changed has told of
}

var _ store.Store = (*Store)(nil)

// Open opens a handle on a medium.
func Open(m *Medium, o Options) *Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.Limits.RoomRows == 0 {
		o.Limits.RoomRows = store.DefaultRoomRows
	}
	if o.Limits.RoomBytes == 0 {
		o.Limits.RoomBytes = store.DefaultRoomBytes
	}
	s := &Store{m: m, limits: o.Limits.OrDefault(), fault: o.Fault, created: m.changes == 0 && len(m.handles) == 0, seen: m.changes}
	if s.fault == nil {
		s.fault = func(string, bool) error { return nil }
	}
	rand.Read(s.handle[:])
	m.handles = append(m.handles, s)
	return s
}

// read runs f under the medium's lock.
func (s *Store) read(ctx context.Context, method string, f func(m *Medium) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	if err := s.fault(method, false); err != nil {
		return err
	}
	return f(s.m)
}

// write runs f under the medium's lock and notes that something changed. f checks before it changes.
func (s *Store) write(ctx context.Context, method string, f func(m *Medium) error) error {
	return s.read(ctx, method, func(m *Medium) error {
		if err := f(m); err != nil {
			return err
		}
		m.changes++
		s.own++
		return s.fault(method, true)
	})
}

// Device implements store.Store.
func (s *Store) Device() ids.Device { return s.m.device }

// Report implements store.Store.
func (s *Store) Report() store.Report {
	return store.Report{Created: s.created, From: store.Version, To: store.Version}
}

// Owner implements store.Store.
func (s *Store) Owner(ctx context.Context) (o store.Owner, err error) {
	err = s.read(ctx, "Owner", func(m *Medium) error {
		o = m.owner
		return nil
	})
	return o, err
}

// Bind implements store.Store.
func (s *Store) Bind(ctx context.Context, o store.Owner) error {
	if err := o.Check(); err != nil {
		return err
	}
	return s.write(ctx, "Bind", func(m *Medium) error {
		if m.owner != (store.Owner{}) && m.owner != o {
			return store.ErrWrongStore
		}
		m.owner = o
		return nil
	})
}

// Reserve implements store.Store.
func (s *Store) Reserve(ctx context.Context, d ids.Device, n, jump uint64) (l ids.Lease, err error) {
	err = s.write(ctx, "Reserve", func(m *Medium) error {
		var mark ids.Ordinal
		raw, ok := m.marks[d]
		if !ok && d == m.device {
			return fmt.Errorf("%w: its device has no mark", store.ErrCorrupt)
		}
		if ok {
			if mark, err = ids.OrdinalFrom(raw); err != nil {
				return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
			}
		}
		if l, err = ids.Reserve(d, mark, n, jump); err != nil {
			return err
		}
		last, err := l.Last()
		if err != nil {
			return err
		}
		b := last.Bytes()
		m.marks[d] = b[:]
		return nil
	})
	if err != nil {
		return ids.Lease{}, err
	}
	return l, nil
}

// Changed implements store.Store.
func (s *Store) Changed(ctx context.Context) (changed bool, err error) {
	err = s.read(ctx, "Changed", func(m *Medium) error {
		others := m.changes - s.own
		changed, s.seen = others != s.seen, others
		return nil
	})
	return changed, err
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.undrain()
	s.m.handles = slices.DeleteFunc(s.m.handles, func(h *Store) bool { return h == s })
	return nil
}

// undrain frees the lock if this handle holds it.
func (s *Store) undrain() {
	s.fence = 0
	if s.m.drainer == s {
		s.m.drainer = nil
	}
}

// Medium returns what the handle is open on.
func (s *Store) Medium() *Medium { return s.m }
