package pebble

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/store"
)

// Dropped rows keep their place on the disk until a merge comes by them. While much is written that is soon; in a store at rest it is never. So what
// a purge or an erasure drops is noted, and once it is a tenth of the tables and the store is at rest, those keys are merged down to their end.

const (
	reclaimEvery = 5 * time.Second
	// reclaimQuiet looks in a row with reclaimCommits commits between two at most are rest: merges take the disk's time from nobody.
	reclaimQuiet   = 2
	reclaimCommits = 10
	// reclaimLeast is what isn't worth a merge, reclaimPart the part of all tables that is.
	reclaimLeast = 1 << 20
	reclaimPart  = 10
	// reclaimPiece is about what one merge takes, and so needs until it drops what it read.
	reclaimPiece = 32 << 20
	// reclaimWait bounds one try.
	reclaimWait = time.Minute
	// reclaimRanges bounds what is noted; of more the whole tables are merged.
	reclaimRanges = 256
	// purgeRun is how many rows a purge drops by one view: a view keeps what was dropped from being given back.
	purgeRun = 1 << 17
)

// reclaimer knows what was dropped and still takes its place.
type reclaimer struct {
	working sync.Mutex // one merge of what was dropped at a time

	mu     sync.Mutex
	ranges map[string]string // first key → key behind the last
	bytes  int64             // of the rows dropped in them, about

	commits uint64 // at the last look; the looker's own
	quiet   int    // looks at rest in a row; the looker's own
	stop    context.CancelFunc
	done    chan struct{}
}

// note notes that so many bytes were dropped between two keys.
func (r *reclaimer) note(from, behind []byte, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ranges == nil {
		r.ranges = map[string]string{}
	}
	r.bytes += bytes
	if string(behind) > r.ranges[string(from)] {
		r.ranges[string(from)] = string(behind)
	}
	if len(r.ranges) <= reclaimRanges {
		return
	}
	whole := map[string]string{}
	for from := range r.ranges {
		whole[from[:1]] = string(after([]byte(from[:1])))
	}
	r.ranges = whole
}

// take takes what is noted off; where it can't be merged now it is noted again.
func (r *reclaimer) take() (ranges map[string]string, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ranges, bytes = r.ranges, r.bytes
	r.ranges, r.bytes = nil, 0
	return ranges, bytes
}

func (r *reclaimer) due(tables int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes >= max(reclaimLeast, tables/reclaimPart)
}

// startReclaiming gives back what was dropped whenever the store is at rest, until endReclaiming.
func (s *Store) startReclaiming() {
	ctx, cancel := context.WithCancel(context.Background())
	s.reclaimer.stop, s.reclaimer.done = cancel, make(chan struct{})
	go func() {
		defer close(s.reclaimer.done)
		tick := time.NewTicker(reclaimEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.reclaimAtRest(ctx)
			}
		}
	}()
}

// endReclaiming ends it, and waits for the piece that a purge has merged.
func (s *Store) endReclaiming() {
	s.reclaimer.stop()
	<-s.reclaimer.done
	s.reclaimer.working.Lock()
	defer s.reclaimer.working.Unlock()
}

// reclaimAtRest is one look: whether the store is at rest, and enough was dropped.
func (s *Store) reclaimAtRest(ctx context.Context) {
	r := &s.reclaimer
	commits := s.sums.Load().commits
	if moved := commits - r.commits; moved > reclaimCommits {
		r.quiet = 0
	} else {
		r.quiet++
	}
	r.commits = commits
	if r.quiet < reclaimQuiet || s.broken() != nil || !r.due(int64(s.db.Metrics().Total().TablesSize)) {
		return
	}
	s.reclaimOrWait(ctx)
}

// reclaimOrWait gives up after a while: a disk without room for any merge must not hold up the next purge.
func (s *Store) reclaimOrWait(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, reclaimWait)
	defer cancel()
	if err := s.reclaim(within); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) && s.broken() == nil {
		s.opts.Logger.Warn("store: what was dropped could not be given back to the disk; it is tried again", "error", err)
	}
}

// reclaim merges the keys of dropped rows, piece by piece, while the disk has room for that.
func (s *Store) reclaim(ctx context.Context) error {
	s.reclaimer.working.Lock()
	defer s.reclaimer.working.Unlock()
	if err := s.state(); err != nil { // from here on Close waits
		return err
	}
	ranges, dropped := s.reclaimer.take()
	for _, from := range slices.Sorted(maps.Keys(ranges)) {
		whole, err := s.reclaimRange(ctx, []byte(from), []byte(ranges[from]))
		if err != nil || !whole {
			for from, behind := range ranges {
				s.reclaimer.note([]byte(from), []byte(behind), 0)
			}
			s.reclaimer.note([]byte(from), []byte(ranges[from]), dropped)
			return err
		}
	}
	return nil
}

// reclaimRange merges what lies between two keys. It isn't whole where the disk has no room for the next piece.
func (s *Store) reclaimRange(ctx context.Context, from, behind []byte) (whole bool, err error) {
	levels, err := s.db.SSTables(lsm.WithKeyRangeFilter(from, behind))
	if err != nil {
		return false, err
	}
	var lowest []lsm.SSTableInfo
	for _, tables := range levels {
		if len(tables) > 0 {
			lowest = tables
		}
	}
	size := int64(0)
	for i := range lowest {
		size += int64(lowest[i].Size)
		end := append(bytes.Clone(lowest[i].Largest.UserKey), 0)
		if size < reclaimPiece || bytes.Compare(end, behind) >= 0 || bytes.Compare(end, from) <= 0 {
			continue
		}
		if s.disk.closing() || !s.disk.roomToMerge(size) {
			return false, nil
		}
		if err := s.db.Compact(ctx, from, end, false); err != nil {
			return false, err
		}
		from, size = end, 0
	}
	if s.disk.closing() || !s.disk.roomToMerge(min(size, reclaimPiece)) {
		return false, nil
	}
	return true, s.db.Compact(ctx, from, behind, false)
}
