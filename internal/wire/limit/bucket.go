package limit

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Buckets bound how often each of many may do something, by a token bucket each. Those used least recently are forgotten where more than a
// number are known, so strangers can't fill the memory: who comes with more addresses than that is bounded by what else is bounded in sum.
type Buckets[K comparable] struct {
	rate  rate.Limit
	burst int
	most  int

	mu    sync.Mutex
	known map[K]*list.Element
	used  list.List // of bucket[K], the last used in front
}

type bucket[K comparable] struct {
	key     K
	limiter *rate.Limiter
}

// NewBuckets returns buckets that each fill by perSecond up to burst, at most most of them; perSecond 0 is without bound.
func NewBuckets[K comparable](perSecond float64, burst, most int) *Buckets[K] {
	return &Buckets[K]{rate: rate.Limit(perSecond), burst: burst, most: most, known: make(map[K]*list.Element)}
}

// Take takes n of a key's bucket. Where it holds less it takes nothing and says how long that would take to come.
func (b *Buckets[K]) Take(key K, n int, now time.Time) (wait time.Duration, ok bool) {
	if b.rate == 0 {
		return 0, true
	}
	l := b.of(key)
	if l.AllowN(now, n) {
		return 0, true
	}
	r := l.ReserveN(now, min(n, b.burst))
	wait = r.DelayFrom(now)
	r.CancelAt(now)
	return max(wait, time.Millisecond), false
}

// Len is how many are known.
func (b *Buckets[K]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used.Len()
}

func (b *Buckets[K]) of(key K) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.known[key]; ok {
		b.used.MoveToFront(e)
		return e.Value.(bucket[K]).limiter
	}
	if b.used.Len() >= b.most {
		last := b.used.Back()
		delete(b.known, b.used.Remove(last).(bucket[K]).key)
	}
	l := rate.NewLimiter(b.rate, b.burst)
	b.known[key] = b.used.PushFront(bucket[K]{key, l})
	return l
}

// AddressBuckets bound how often unknown clients may do something: each address by a bucket, and all that share one by none, as many stand
// behind them.
type AddressBuckets struct{ buckets *Buckets[Client] }

// knownAddresses bounds the addresses remembered: 16,384 buckets are some 4 MB.
const knownAddresses = 16 << 10

// NewAddressBuckets returns buckets that each fill by perSecond up to burst.
func NewAddressBuckets(perSecond float64, burst int) AddressBuckets {
	return AddressBuckets{NewBuckets[Client](perSecond, burst, knownAddresses)}
}

// Allow takes one of a client's bucket, or says how long until there is one.
func (b AddressBuckets) Allow(c Client, now time.Time) (wait time.Duration, ok bool) {
	if c.Shared() {
		return 0, true
	}
	return b.buckets.Take(c, 1, now)
}
