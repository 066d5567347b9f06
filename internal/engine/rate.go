package engine

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// buckets hold one token bucket for each actor, in two generations: who isn't seen for a whole generation is forgotten
// with it. A generation lasts at least as long as an empty bucket takes to fill, so forgetting gives nothing away; only where the table
// is full of actors does it turn earlier, and those forgotten then start full.
type buckets struct {
	limit rate.Limit
	burst int
	size  int           // actors of one generation
	fill  time.Duration // how long an empty bucket takes to fill

	mu       sync.Mutex
	now, old map[string]*rate.Limiter
	turned   time.Time // when now began
	early    uint64    // actors forgotten before their bucket was full
}

// newBuckets returns nil, which lets everything pass, for a rate of 0.
func newBuckets(perSecond float64, burst, actors int) *buckets {
	if perSecond == 0 {
		return nil
	}
	return &buckets{
		limit: rate.Limit(perSecond), burst: burst, size: max(1, actors/2),
		fill: time.Duration(float64(burst) / perSecond * float64(time.Second)),
		now:  map[string]*rate.Limiter{},
	}
}

// take takes a token of the actor. Where there is none it says how long until there is.
func (b *buckets) take(actor string, mono time.Duration) (wait time.Duration, ok bool) {
	if b == nil {
		return 0, true
	}
	at := time.Unix(0, 0).Add(mono)
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.bucket(actor, at)
	if l.AllowN(at, 1) {
		return 0, true
	}
	r := l.ReserveN(at, 1)
	wait = r.DelayFrom(at)
	r.CancelAt(at)
	return wait, false
}

func (b *buckets) bucket(actor string, at time.Time) *rate.Limiter {
	if l := b.now[actor]; l != nil {
		return l
	}
	l := b.old[actor]
	delete(b.old, actor)
	if l == nil {
		l = rate.NewLimiter(b.limit, b.burst)
	}
	if aged := at.Sub(b.turned) >= b.fill; len(b.now) >= b.size || aged && len(b.now) > 0 {
		if !aged {
			b.early += uint64(len(b.old))
		}
		b.old, b.now, b.turned = b.now, make(map[string]*rate.Limiter), at
	}
	b.now[actor] = l
	return l
}

// forgotten counts actors that were forgotten before their bucket was full again.
func (b *buckets) forgotten() uint64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.early
}
