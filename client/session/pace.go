package session

// At paceSlackFrom releases a second and more, a release makes paceSlack ms of lateness good: timers are no more exact than
// that, and the pace would fall behind itself.
const (
	paceSlackFrom = 100
	paceSlack     = 10
)

// maxPace bounds the doubling, so that it can't overflow; no client sends so fast.
const maxPace = 1 << 20

// pace spaces the releases of a backlog (docs/spec/client.md, 3, "No herd").
type pace struct {
	rate    float64 // releases a second
	next    float64 // mono: the next release
	acked   bool    // an ack came since the last doubling
	double  int64   // mono: the next doubling
	halve   int64   // mono: not halved again before
	backlog bool    // something that is due waits for the pace or for room in flight
}

func (p *pace) start(rate float64, mono int64) {
	*p = pace{rate: rate, next: float64(mono), double: mono + 1000, backlog: p.backlog}
}

// allows reports whether a release may happen now.
func (p *pace) allows(mono int64) bool {
	if mono >= p.double {
		if p.acked {
			p.rate = min(p.rate*2, maxPace)
			p.acked = false
		}
		p.double = mono + 1000
	}
	return float64(mono) >= p.next
}

// spend counts a release. One that the pace didn't hold back only spaces the next: with nothing waiting there is no pace.
func (p *pace) spend(mono int64, held bool) {
	from := float64(mono)
	if !held {
		p.next = from + 1000/p.rate
		return
	}
	if p.rate >= paceSlackFrom {
		from -= paceSlack
	}
	p.next = max(p.next, from) + 1000/p.rate
}

func (p *pace) ack() { p.acked = true }

// slow halves the pace for a retryable answer.
func (p *pace) slow(mono int64) {
	if mono < p.halve {
		return
	}
	p.rate = max(1, p.rate/2)
	p.halve, p.double, p.acked = mono+1000, mono+1000, false
	p.next = max(p.next, float64(mono)+1000/p.rate)
}
