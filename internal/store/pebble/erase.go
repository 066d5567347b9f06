package pebble

import (
	"bytes"
	"context"

	lsm "github.com/cockroachdb/pebble/v2"
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
	flush := func() error {
		if len(step) == 0 {
			return nil
		}
		if err := s.erase(ctx, step); err != nil {
			return err
		}
		erased += int64(len(step))
		step = step[:0]
		return nil
	}
	it, err := m.snapshot.NewIter(&lsm.IterOptions{
		LowerBound: prefix, UpperBound: appendNumber(bytes.Clone(prefix), before),
	})
	if err != nil {
		return 0, damage(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		_, queued, err := get(m.snapshot, numbered(tableOutbox, lastNumber(it.Key())))
		if err != nil {
			return erased, err
		}
		if queued {
			continue
		}
		if step = append(step, bytes.Clone(it.Key())); len(step) < s.opts.PurgeStep {
			continue
		}
		if err := flush(); err != nil {
			return erased, err
		}
	}
	if err := it.Error(); err != nil {
		return erased, damage(err)
	}
	return erased, flush()
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
