//go:build !js

package sqlite

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// holdLock takes the file's write lock as another process would, until the function that it returns is called.
func holdLock(tb testing.TB, path string) (release func()) {
	tb.Helper()
	conn, err := sqlite3.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := conn.Exec(`BEGIN IMMEDIATE`); err != nil {
		tb.Fatal(err)
	}
	done := false
	release = func() {
		if done {
			return
		}
		done = true
		if err := errors.Join(conn.Exec(`ROLLBACK`), conn.Close()); err != nil {
			tb.Error(err)
		}
	}
	tb.Cleanup(release)
	return release
}

// atWork waits until a method holds the handle.
func (s *Store) atWork() {
	for s.mu.TryLock() {
		s.mu.Unlock()
		runtime.Gosched()
	}
}

func busyEntry(id string) []store.Entry {
	return []store.Entry{{Key: store.Key{Room: "r", ID: id}, Fingerprint: "f", State: store.Queued}}
}

// TestALockHeldElsewhereIsWaitedFor: a method waits for as long as its context lives, and then does its work.
func TestALockHeldElsewhereIsWaitedFor(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	release := holdLock(t, path)
	done := make(chan error, 1)
	go func() {
		_, err := s.Add(context.Background(), 0, busyEntry("a"))
		done <- err
	}()
	s.atWork()
	select {
	case err := <-done:
		t.Fatalf("it didn't wait: %v", err)
	default:
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	release = holdLock(t, path)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, err := s.Add(ctx, 0, busyEntry("b"))
		done <- err
	}()
	s.atWork()
	stop()
	if err := <-done; !errors.Is(err, store.ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("with its context ended: %v", err)
	}
	release()
	if rows, err := s.List(t.Context(), 0, 10); err != nil || len(rows) != 1 || rows[0].ID != "a" {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

// TestCloseWaitsForNoLock: what waits for another process ends with ErrClosed, and the store is closed at once.
func TestCloseWaitsForNoLock(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	holdLock(t, path)
	done := make(chan error, 1)
	go func() {
		_, err := s.Add(context.Background(), 0, busyEntry("a"))
		done <- err
	}()
	s.atWork()
	if err := s.Close(); err != nil { // it would wait for ever
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}
