package settlement

import (
	"context"
	"runtime"

	"hapax/internal/settle"
)

// reading is how the events of a folder are judged.
type reading struct {
	memory    int64
	workers   int
	sizes     sizes
	keepMarks bool   // for a closing
	scratch   string // folder of the scratch file
	progress  func(done, total int64)
	broken    func(line int64, why reason) error
	observe   func(j *judge) observer // makes the observer of one worker; nil: none
}

// sizes say how the work is cut; what is zero follows from the memory. The books don't depend on them.
type sizes struct {
	chunk   int   // bytes parsed at a time, more than longLineBytes
	records int64 // bytes of records in memory
	lane    int64 // events of a lane in memory
}

// books is what a folder settles to.
type books struct {
	report *settle.Report
	broken int64
	marks  *marks
}

// books judges all events: pass one parses them into lanes, pass two judges the lanes.
func (in *inputs) books(ctx context.Context, r reading) (*books, error) {
	if r.memory == 0 {
		r.memory = DefaultMemory
	}
	if r.workers == 0 {
		r.workers = runtime.GOMAXPROCS(0)
	}
	r.sizes = r.cut(in.registry.bytes())
	b := &books{}
	if r.keepMarks || len(in.opening) > 0 {
		b.marks = newMarks(in.registry.keys.count)
		for _, row := range in.opening {
			b.marks.set(row.key, row.predecessor)
		}
		in.opening = nil
	}
	scratch := &scratch{folder: r.scratch}
	defer scratch.close()
	g := &gathering{broken: r.broken, scratch: scratch, limit: r.sizes.records, early: map[int]*sheet{}}
	if err := in.parsePass(ctx, r, g); err != nil {
		return nil, err
	}
	judges, err := in.judgePass(ctx, r, g, b.marks)
	if err != nil {
		return nil, err
	}
	b.broken = g.rows
	b.report = in.report(judges, &g.rejected)
	return b, nil
}

// entryBytes is what an event of a lane takes in memory: as read and as grouped.
const entryBytes = 56 + 48

// cut fits the sizes to the memory that is left beside the registry. Parsed events may take three quarters of it,
// chunks apart: the rest is what the collector hasn't taken back yet. When they are judged, each worker may hold its
// share of a quarter.
func (r *reading) cut(registry int64) sizes {
	s := r.sizes
	if s.chunk == 0 {
		s.chunk = chunkBytes
	}
	left := r.memory - registry
	if s.records == 0 {
		s.records = max((left-r.buffers()*int64(s.chunk))*3/4, chunkBytes)
	}
	if s.lane == 0 {
		s.lane = max(left/4/int64(r.workers), chunkBytes) / entryBytes
	}
	return s
}

// buffers is how many chunks there are at a time: one parsed and one waiting a worker, and one being read.
func (r *reading) buffers() int64 { return int64(2*r.workers + 1) }

// report adds the workers' books up.
func (in *inputs) report(judges []*judge, rejected *settle.Counts) *settle.Report {
	report := &settle.Report{Tenants: map[string]settle.Sum{}}
	report.Totals.Counts.Merge(rejected)
	shelves := map[uint32]*settle.Shelf{}
	tenants := make([]settle.Tenant, len(in.registry.keys.pairs.names))
	for _, j := range judges {
		report.Totals.Merge(&j.totals)
		for t := range tenants {
			tenants[t].Merge(&j.tenants[t])
		}
		for at, shelf := range j.shelves {
			if shelves[at] == nil {
				shelves[at] = shelf
				continue
			}
			for _, e := range shelf.Entries() {
				shelves[at].Offer(e)
			}
		}
	}
	for t := range tenants {
		if tenants[t].Accepted > 0 {
			report.Tenants[in.registry.keys.pairs.names[t]] = tenants[t].Total
		}
	}
	for _, shelf := range shelves {
		report.Ledger = append(report.Ledger, shelf.Entries()...)
	}
	settle.SortLedger(report.Ledger)
	return report
}
