package settlement

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

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

// chunk is a piece of events.tsv: whole lines, in a buffer to be given back.
type chunk struct {
	index  int
	data   []byte
	buffer []byte
}

// parsePass reads events.tsv in one goroutine and parses it in several.
func (in *inputs) parsePass(ctx context.Context, r reading, g *gathering) error {
	group, ctx := errgroup.WithContext(ctx)
	chunks := make(chan chunk, r.workers)
	free := make(chan []byte, r.buffers())
	for range cap(free) {
		free <- make([]byte, r.sizes.chunk)
	}
	group.Go(func() error {
		return guard(func() error {
			defer close(chunks)
			return in.readChunks(ctx, r, chunks, free)
		})
	})
	for range r.workers {
		group.Go(func() error {
			return guard(func() error {
				p := &parser{policy: &in.policy, registry: in.registry}
				for c := range chunks {
					s := p.parse(c.index, c.data)
					free <- c.buffer
					if err := g.add(s); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return group.Wait()
}

func (in *inputs) readChunks(ctx context.Context, r reading, chunks chan<- chunk, free <-chan []byte) error {
	source := chunker{file: in.events}
	done := int64(0)
	for index := 0; ; index++ {
		var buffer []byte
		select {
		case buffer = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		data, err := source.next(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(EventsFile, rootCause(err))
		}
		if done += int64(len(data)); r.progress != nil {
			r.progress(min(done, in.size), in.size)
		}
		select {
		case chunks <- chunk{index: index, data: data, buffer: buffer}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judgePass judges the lanes, several at a time, and returns each worker's books.
func (in *inputs) judgePass(ctx context.Context, r reading, g *gathering, m *marks) ([]*judge, error) {
	group, ctx := errgroup.WithContext(ctx)
	judges := make([]*judge, r.workers)
	var lanes atomic.Int32
	for w := range judges {
		j := newJudge(&in.policy, in.registry, m)
		if r.observe != nil {
			j.observe = r.observe(j)
		}
		judges[w] = j
		group.Go(func() error {
			return guard(func() error {
				l := laneJudge{judge: j, gathered: g, limit: r.sizes.lane}
				for lane := lanes.Add(1) - 1; lane < laneCount; lane = lanes.Add(1) - 1 {
					if err := ctx.Err(); err != nil {
						return err
					}
					if err := l.run(uint32(lane)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return judges, group.Wait()
}

// laneJudge is one worker of the second pass, with the space that it uses again for every lane.
type laneJudge struct {
	judge    *judge
	gathered *gathering
	limit    int64 // events in memory
	space    []byte
	memory   inMemory
}

func (l *laneJudge) run(lane uint32) error {
	count := l.gathered.counts[lane]
	if count == 0 {
		return nil
	}
	add := func(e *entry) error {
		l.memory.entries = append(l.memory.entries, *e)
		return nil
	}
	var far *outside
	if count > l.limit {
		far = &outside{scratch: l.gathered.scratch, limit: int(l.limit)}
		add = far.add
	}
	l.memory.judge = l.judge
	l.memory.entries = l.memory.entries[:0]
	var err error
	l.space, err = l.gathered.lane(int(lane), l.space, func(records []byte) error {
		var e entry
		for len(records) > 0 {
			records = readRecord(records, &e)
			if err := add(&e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if far != nil {
		return far.judge(lane, l.judge)
	}
	all := l.judge.registry.keys.count
	l.memory.run(lane, (all-int(lane)+laneCount-1)/laneCount)
	return nil
}

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
