package pebble

import (
	"bytes"
	"context"
)

// EraseBodies erases old bodies of a source. It reads a snapshot beside the commits, and drops in batches of Options.PurgeStep.
//
// Whether an event is still in the outbox is asked of the snapshot: it can only leave it, never come back. See store.Books.
func (s *Store) EraseBodies(ctx context.Context, tenant, source string, before int64) (erased int64, err error) {
	s.purger.Lock()
	defer s.purger.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer s.leave(m)
	prefix := sourcePrefix(tableBodies, tenant, source)
	var step [][]byte
	var freed int64
	for row, err := range scan(m.snapshot, prefix, appendNumber(bytes.Clone(prefix), before)) {
		if err != nil {
			return erased, err
		}
		_, queued, err := get(m.snapshot, numbered(tableOutbox, lastNumber(row[0])))
		if err != nil {
			return erased, err
		}
		if queued {
			continue
		}
		freed += int64(len(row[0]) + len(row[1]))
		if step = append(step, bytes.Clone(row[0])); len(step) < s.opts.PurgeStep {
			continue
		}
		if err := s.erase(ctx, step); err != nil {
			return erased, err
		}
		erased += int64(len(step))
		s.reclaimer.note(prefix, append(step[len(step)-1], 0), freed)
		freed = 0
		step = step[:0]
	}
	if len(step) == 0 {
		return erased, nil
	}
	if err := s.erase(ctx, step); err != nil {
		return erased, err
	}
	s.reclaimer.note(prefix, append(step[len(step)-1], 0), freed)
	return erased + int64(len(step)), nil
}

// erase drops rows in one commit.
func (s *Store) erase(ctx context.Context, keys [][]byte) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	batch := s.db.NewBatch()
	defer batch.Close()
	for _, key := range keys {
		_ = batch.Delete(key, nil) // a batch that isn't indexed can't fail
	}
	s.w.sums.commits++
	if err := batch.Set(countsKey, appendCounts(nil, &s.w.sums), nil); err != nil {
		return s.fail(err)
	}
	return s.apply(batch)
}
