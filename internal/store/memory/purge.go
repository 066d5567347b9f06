package memory

import (
	"context"

	"hapax/internal/store"
)

// Purge drops what the policy no longer keeps. See store.Store.
func (s *Store) Purge(ctx context.Context, p store.Policy, now int64) (store.Purged, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	var done store.Purged
	if err := s.ready(ctx); err != nil {
		return done, err
	}
	for _, l := range s.disk.rooms {
		done.Results += l.purgeResults(p, now)
		done.Messages += l.purgeRows(p, now)
	}
	return done, nil
}

func (l *ledger) purgeResults(p store.Policy, now int64) int64 {
	n := excess(l.resultLow, l.state.Head, p.ResultRows)
	if p.ResultAgeMs > 0 {
		n = max(n, store.OldThrough(func(yield func(int64, int64) bool) {
			for i, k := range l.kept[n:] {
				if !yield(n+int64(i)+1, k.at) {
					return
				}
			}
		}, now, p.ResultAgeMs))
	}
	for _, k := range l.kept[:n] {
		delete(l.results, k.key)
		l.state.Horizon = store.Horizon(l.state.Horizon, k.at, now)
	}
	l.kept = l.kept[n:]
	l.resultLow += n
	return n
}

func (l *ledger) purgeRows(p store.Policy, now int64) int64 {
	n := excess(l.state.Low, l.state.Head, p.JournalRows)
	if p.JournalAgeMs > 0 {
		n = max(n, store.OldThrough(func(yield func(int64, int64) bool) {
			for i, m := range l.rows[n:] {
				if !yield(n+int64(i)+1, m.At) {
					return
				}
			}
		}, now, p.JournalAgeMs))
	}
	if n > 0 {
		l.state.Low, l.state.LowID = l.rows[n-1].Seq, l.rows[n-1].MessageID
		l.rows = l.rows[n:]
	}
	return n
}

// excess counts the rows above low that stand before the last keep ones; keep 0 is no bound.
func excess(low, head, keep int64) int64 {
	if keep <= 0 {
		return 0
	}
	return max(0, head-keep-low)
}
