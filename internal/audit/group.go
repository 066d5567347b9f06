package audit

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

const keysAtOnce = 4096 // keys a worker takes at a time: often enough to keep all busy, seldom enough to cost nothing

// groups holds the places of all events key by key, each key's in the order of the file.
type groups struct {
	places []uint32
	ends   []uint32 // key → where its places end
}

// groupByKey is a counting sort: stable, and linear whatever the order of the file.
func groupByKey(ev *events) *groups {
	g := &groups{places: make([]uint32, ev.total), ends: make([]uint32, len(ev.perKey))}
	next := uint32(0)
	for key, n := range ev.perKey {
		g.ends[key] = next // so far where they begin; it moves to the end as they are put down
		next += n
	}
	place := uint32(0)
	for _, segment := range ev.segments {
		for i := range segment {
			end := &g.ends[segment[i].key]
			g.places[*end] = place
			*end++
			place++
		}
	}
	return g
}

// of are the places of one key's events.
func (g *groups) of(key uint32) []uint32 {
	start := uint32(0)
	if key > 0 {
		start = g.ends[key-1]
	}
	return g.places[start:g.ends[key]]
}

// judgeAll judges every key's chain, on all processors: no key's decisions depend on another's.
func judgeAll(ev *events, p policy, reg *registry, open *openings) (*tally, error) {
	grouped := groupByKey(ev)
	judges := make([]chainJudge, runtime.GOMAXPROCS(0))
	errs := make([]error, len(judges))
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range judges {
		judge := &judges[i]
		*judge = chainJudge{policy: p, registry: reg, openings: open}
		judge.tally.tenants = make([]tenantTally, len(reg.tenants))
		all.Go(func() {
			errs[i] = guarded(func() error { judge.judgeShare(ev, grouped, &next); return nil })
		})
	}
	all.Wait()
	sum := &judges[0].tally
	for i := range judges[1:] {
		sum.merge(&judges[1+i].tally)
	}
	return sum, errors.Join(errs...)
}

// judgeShare takes keys until none is left.
func (j *chainJudge) judgeShare(ev *events, grouped *groups, next *atomic.Int64) {
	var chain []event
	for {
		last := next.Add(keysAtOnce)
		first := last - keysAtOnce
		if first >= int64(len(ev.perKey)) {
			return
		}
		for key := uint32(first); key < uint32(min(last, int64(len(ev.perKey)))); key++ {
			chain = chain[:0]
			for _, place := range grouped.of(key) {
				chain = append(chain, *ev.at(place))
			}
			if len(chain) > 0 {
				j.judge(key, chain)
			}
		}
	}
}
