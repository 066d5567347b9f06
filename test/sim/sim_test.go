package sim

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "the seed that TestReplay runs")
	linesFlag = flag.Int("lines", 400, "how many of its last steps TestReplay prints; below 0: all")
)

// CI runs so many histories; more are for whoever has the time.
var (
	seedsFlag = flag.Uint64("seeds", 1500, "how many seeds TestSeeds runs")
	firstFlag = flag.Uint64("first", 1, "the first of them")
)

// tell prints what a run came to.
func tell(t *testing.T, w *World) {
	t.Helper()
	t.Errorf("seed %d:\n  %s\nthe last steps:\n%s\ntrace %016x; again: make replay SEED=%d", w.Seed, strings.Join(w.Faults(), "\n  "),
		strings.Join(w.trace.last(), "\n"), w.trace.sum, w.Seed)
}

// TestSeeds runs many histories, as many at once as there are processors, each by itself.
func TestSeeds(t *testing.T) {
	var next atomic.Uint64
	var failed atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				seed := next.Add(1) - 1 + *firstFlag
				if seed >= *firstFlag+*seedsFlag || failed.Load() >= 5 {
					return
				}
				if w := Run(NewPlan(seed), 0, 60); len(w.Faults()) > 0 {
					failed.Add(1)
					tell(t, w)
				}
			}
		})
	}
	workers.Wait()
}

// TestReplay runs one seed again: go test -v -run TestReplay ./test/sim -seed N.
func TestReplay(t *testing.T) {
	w := Run(NewPlan(*seedFlag), 0, *linesFlag)
	t.Logf("plan %+v\n%s\n%d steps, trace %016x", w.Plan, strings.Join(w.trace.last(), "\n"), w.trace.count, w.trace.sum)
	if len(w.Faults()) > 0 {
		tell(t, w)
	}
}

// TestSameSeedSameTrace: a seed is a history, to the byte.
func TestSameSeedSameTrace(t *testing.T) {
	sums := map[uint64]uint64{}
	for seed := uint64(1); seed <= 20; seed++ {
		a, b := Run(NewPlan(seed), 0, 0), Run(NewPlan(seed), 0, 0)
		if a.trace.sum != b.trace.sum || a.trace.count != b.trace.count {
			t.Errorf("seed %d: trace %016x of %d steps, then %016x of %d", seed, a.trace.sum, a.trace.count, b.trace.sum, b.trace.count)
		}
		if other, twice := sums[a.trace.sum]; twice {
			t.Errorf("seeds %d and %d have one trace", other, seed)
		}
		sums[a.trace.sum] = seed
	}
}
