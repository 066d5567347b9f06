package pebble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// Store is a store.Store in a folder.
type Store struct {
	opts      Options
	folder    folder
	guard     *guard
	disk      *diskWatch
	lock      io.Closer
	db        *lsm.DB
	noter     *noter
	reclaimer reclaimer
	self      *self
	identity  store.Identity
	lost      gateway.Loss // what the log lost by the notes that this opening found
	begun     string       // why this opening began a new epoch; "" where it didn't

	writer  chan struct{} // holds a token while somebody writes: commits, purge steps, Close
	w       writing       // belongs to the holder of the token
	purger  sync.Mutex    // one purge at a time
	copying sync.Mutex    // one checkpoint at a time

	mu     sync.Mutex // guards current, views, closed
	closed bool
	views  sync.WaitGroup // those who read; Close waits for them
	now    *moment        // what readers see

	sums atomic.Pointer[counts] // as of the last synced commit
}

// moment is the state after a synced commit, held until the last reader has left it.
type moment struct {
	snapshot *lsm.Snapshot
	due      dueMarks
	readers  int  // under Store.mu
	past     bool // a newer one took its place
}

var _ store.Store = (*Store)(nil)

// Identity returns the server id and the epoch, both fixed while the store is open.
func (s *Store) Identity() store.Identity { return s.identity }

// NewEpochReason says why opening began a new epoch, in words for the log; "" where the epoch is the one before.
func (s *Store) NewEpochReason() string { return s.begun }

// take waits for the writer's token.
func (s *Store) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.state(); err != nil {
		s.give()
		return err
	}
	return nil
}

func (s *Store) give() { <-s.writer }

// state says why no call can be served: closed, broken, or nil.
func (s *Store) state() error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return store.ErrClosed
	}
	return s.broken()
}

func (s *Store) broken() error {
	if err := s.guard.failure(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrBroken, err)
	}
	return nil
}

// enter gives a reader the newest synced moment; leave must follow.
func (s *Store) enter() (*moment, error) {
	if err := s.broken(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	s.views.Add(1)
	s.now.readers++
	return s.now, nil
}

func (s *Store) leave(m *moment) {
	s.mu.Lock()
	m.readers--
	last := m.past && m.readers == 0
	s.mu.Unlock()
	if last {
		_ = m.snapshot.Close()
	}
	s.views.Done()
}

// publish shows readers what is in the database now. The caller holds the writer's token and knows that all of it is synced.
func (s *Store) publish() {
	fresh := &moment{snapshot: s.db.NewSnapshot(), due: s.w.due}
	s.mu.Lock()
	old := s.now
	s.now = fresh
	unread := old != nil && old.readers == 0
	if old != nil {
		old.past = true
	}
	s.mu.Unlock()
	if unread {
		_ = old.snapshot.Close()
	}
}

// Close waits for the commit and the readers under way, then frees the folder. The second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.writer <- struct{}{}
	defer s.give()
	s.disk.close()
	s.endReclaiming()
	s.views.Wait()
	err := errors.Join(s.now.snapshot.Close(), s.db.Close(), s.noter.close())
	if broken := s.guard.failure(); broken != nil {
		err = nil // whoever used the store was told already, and what closing says of swallowed writes means nothing
	}
	return errors.Join(err, s.lock.Close())
}

// Stats returns the sums of the last synced commit, and the bytes that all files of the folder take on the disk, reserved ones counted in.
func (s *Store) Stats(ctx context.Context) (store.Stats, error) {
	if err := ctx.Err(); err != nil {
		return store.Stats{}, err
	}
	m, err := s.enter() // keeps Close away
	if err != nil {
		return store.Stats{}, err
	}
	defer s.leave(m)
	c := s.sums.Load()
	return store.Stats{
		Bytes:    s.folder.allocated(),
		Messages: c.messages, Results: c.results, Rooms: c.rooms,
	}, nil
}
