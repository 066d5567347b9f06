package engine

import (
	"sort"
	"sync/atomic"
	"time"

	"hapax/internal/room"
)

// Stats is a reading of the engine's counters. All but the last group rise only.
type Stats struct {
	Sends    map[room.Kind]uint64 // sends by outcome
	Statuses map[room.Kind]uint64 // look-ups by outcome
	Resumes  map[room.Fit]uint64  // subscribes by how the cursor stood: Fits got a delta, all others a snapshot

	CommitSeconds Histogram
	GroupSize     Histogram // commands of a commit
	CommitErrors  uint64

	Delivered        uint64 // rows × subscribers
	Loads            uint64 // pages that feeds read from the store
	LoadErrors       uint64
	Gaps             uint64 // rows that aged out before a feed of this process had read them
	ReadErrors       uint64
	PurgedResults    uint64
	PurgedMessages   uint64
	PurgeErrors      uint64
	ClockJumps       uint64
	ForgottenActors  uint64 // rate buckets dropped before they were full
	QueueCommands    int
	QueueBytes       int
	ActiveRooms      int
	Subscribers      int
	Failed, Draining bool
}

// Histogram counts values up to each bound; the last count is of those above all bounds.
type Histogram struct {
	Bounds []float64
	Counts []uint64 // one more than Bounds; not cumulative
	Sum    float64
}

// Count is how many values were counted.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

var (
	commitBounds = []float64{.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2, 5, 10}
	groupBounds  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

const kindCount = int(room.Draining) + 1

type counters struct {
	sends, statuses [kindCount]atomic.Uint64
	resumes         [room.Fits + 1]atomic.Uint64

	commitTime   [16]atomic.Uint64
	commitNanos  atomic.Uint64
	groupSize    [12]atomic.Uint64
	groupSum     atomic.Uint64
	commitErrors atomic.Uint64

	delivered, loads, loadErrors, gaps, readErrors         atomic.Uint64
	purgedResults, purgedMessages, purgeErrors, clockJumps atomic.Uint64
}

func (c *counters) sent(k room.Kind)     { c.sends[k].Add(1) }
func (c *counters) asked(k room.Kind)    { c.statuses[k].Add(1) }
func (c *counters) resumed(fit room.Fit) { c.resumes[fit].Add(1) }

func (c *counters) commit(d time.Duration, commands int, err error) {
	c.commitTime[sort.SearchFloat64s(commitBounds, d.Seconds())].Add(1)
	c.commitNanos.Add(uint64(max(0, d)))
	c.groupSize[sort.SearchFloat64s(groupBounds, float64(commands))].Add(1)
	c.groupSum.Add(uint64(commands))
	if err != nil {
		c.commitErrors.Add(1)
	}
}

// Stats reads the counters. It is cheap.
func (e *Engine) Stats() Stats {
	c := &e.stats
	s := Stats{
		Sends: map[room.Kind]uint64{}, Statuses: map[room.Kind]uint64{}, Resumes: map[room.Fit]uint64{},
		CommitSeconds: histogram(commitBounds, c.commitTime[:], float64(c.commitNanos.Load())/1e9),
		GroupSize:     histogram(groupBounds, c.groupSize[:], float64(c.groupSum.Load())),
		CommitErrors:  c.commitErrors.Load(),
		Delivered:     c.delivered.Load(), Loads: c.loads.Load(), LoadErrors: c.loadErrors.Load(),
		Gaps: c.gaps.Load(), ReadErrors: c.readErrors.Load(),
		PurgedResults: c.purgedResults.Load(), PurgedMessages: c.purgedMessages.Load(),
		PurgeErrors: c.purgeErrors.Load(), ClockJumps: c.clockJumps.Load(),
		ForgottenActors: e.sends.forgotten() + e.looks.forgotten(),
		Failed:          e.broken.Load(), Draining: e.queue.draining(),
	}
	for _, k := range room.Kinds() {
		s.Sends[k], s.Statuses[k] = c.sends[k].Load(), c.statuses[k].Load()
	}
	for _, f := range room.Fittings() {
		s.Resumes[f] = c.resumes[f].Load()
	}
	s.QueueCommands, s.QueueBytes = e.queue.waiting()
	s.ActiveRooms, s.Subscribers = e.members.count()
	return s
}

func histogram(bounds []float64, counts []atomic.Uint64, sum float64) Histogram {
	h := Histogram{Bounds: bounds, Counts: make([]uint64, len(counts)), Sum: sum}
	for i := range counts {
		h.Counts[i] = counts[i].Load()
	}
	return h
}
