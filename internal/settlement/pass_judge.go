package settlement

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

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
