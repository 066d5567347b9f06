package intake

import (
	"sort"
	"sync/atomic"
	"time"

	"hapax/internal/engine"
)

// Stats is a reading of an intake's counters. All but the last group rise only.
type Stats struct {
	CommitSeconds engine.Histogram
	GroupSize     engine.Histogram // commands of a commit
	CommitErrors  uint64
	TurnedAway    uint64 // calls refused as busy or draining

	QueueCommands    int
	QueueBytes       int
	Failed, Draining bool
}

var (
	commitBounds = []float64{.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2, 5, 10}
	groupBounds  = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

type counters struct {
	commitTime   [16]atomic.Uint64
	commitNanos  atomic.Uint64
	groupSize    [12]atomic.Uint64
	groupSum     atomic.Uint64
	commitErrors atomic.Uint64
	turnedAway   atomic.Uint64
}

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
func (i *Intake) Stats() Stats {
	c := &i.stats
	s := Stats{
		CommitSeconds: histogram(commitBounds, c.commitTime[:], float64(c.commitNanos.Load())/1e9),
		GroupSize:     histogram(groupBounds, c.groupSize[:], float64(c.groupSum.Load())),
		CommitErrors:  c.commitErrors.Load(), TurnedAway: c.turnedAway.Load(), Failed: i.broken.Load(),
	}
	s.QueueCommands, s.QueueBytes, s.Draining = i.queue.waiting()
	return s
}

func histogram(bounds []float64, counts []atomic.Uint64, sum float64) engine.Histogram {
	h := engine.Histogram{Bounds: bounds, Counts: make([]uint64, len(counts)), Sum: sum}
	for i := range counts {
		h.Counts[i] = counts[i].Load()
	}
	return h
}
