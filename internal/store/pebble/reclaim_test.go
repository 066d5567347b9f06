package pebble

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"hapax/internal/store"
)

// taken is how much of its disk is taken.
func (q *quota) taken() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// rest lets so much time pass at rest that what was dropped is given back.
func rest(t *testing.T, s *Store) {
	for range reclaimQuiet + 1 {
		s.reclaimAtRest(t.Context())
	}
}

// TestWhatAPurgeDropsIsGivenBackAtRest: while the store stays open and nothing is sent, what was dropped leaves the disk; under way the purge needs
// little more; and nothing of it is done while much is sent.
func TestWhatAPurgeDropsIsGivenBackAtRest(t *testing.T) {
	at, q := onQuota(1 << 30)
	at.opts.MemTableBytes = 1 << 20
	s := at.open(t)
	s.endReclaiming() // the test looks itself
	const n, kept, size = 2_000, 100, 16 << 10
	for i := range n {
		if err := sendText(t, s, fmt.Sprintf("%08d", i), size); err != nil {
			t.Fatal(err)
		}
	}
	rest(t, s)
	before := q.taken()
	done, err := s.Purge(t.Context(), store.Policy{ResultRows: kept, JournalRows: kept}, 0)
	if err != nil || done.Messages != n-kept || done.Results != n-kept {
		t.Fatalf("%+v, %v", done, err)
	}
	logs := int64(memTables+2) * logBytes(1<<20)
	if need := q.taken() - before; need > logs+reclaimPiece {
		t.Errorf("the purge took %d bytes", need)
	}
	for i := range 3 * reclaimCommits { // not at rest
		if err := sendText(t, s, fmt.Sprintf("more %d", i), 10); err != nil {
			t.Fatal(err)
		}
	}
	s.reclaimAtRest(t.Context())
	if s.reclaimer.quiet != 0 || !s.reclaimer.due(before) {
		t.Error("merged while much was sent, or forgotten")
	}
	rest(t, s)
	end := time.Now().Add(time.Minute) // the database removes files that it needs no more beside its work
	for q.taken() > logs+2*kept*size+(2<<20) && time.Now().Before(end) {
		runtime.Gosched()
	}
	if left := q.taken(); left > logs+2*kept*size+(2<<20) || left > before/2 {
		t.Errorf("%d bytes before, %d after and at rest", before, left)
	}
	if s.reclaimer.due(0) {
		t.Error("it would be done again")
	}
	readable(t, s, n+3*reclaimCommits)
	closed(t, s)
	readable(t, at.open(t), n+3*reclaimCommits)
}

// TestClosingWaitsForNoMerge: what was dropped and isn't given back yet doesn't hold up the closing, and nothing is merged after it.
func TestClosingWaitsForNoMerge(t *testing.T) {
	at, _ := onQuota(1 << 30)
	at.opts.MemTableBytes = 1 << 20
	s := at.open(t)
	for i := range 500 {
		if err := sendText(t, s, fmt.Sprintf("%08d", i), 16<<10); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Purge(t.Context(), store.Policy{ResultRows: 10, JournalRows: 10}, 0); err != nil {
		t.Fatal(err)
	}
	merged := make(chan error)
	go func() { merged <- s.reclaim(t.Context()) }()
	closed(t, s)
	<-merged // whatever came of it
	if err := s.reclaim(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
	s = at.open(t)
	readable(t, s, 500)
	closed(t, s)
}
