package forward

import (
	"context"
	"time"

	"hapax/internal/gateway"
)

// flight is one try under way.
type flight struct {
	lane  *lane
	to    *target          // as the configuration was when it left
	row   gateway.Delivery // with this try
	was   gateway.Delivery // before it
	body  *gateway.Body
	probe bool // the destination wasn't known to work

	answer answer
	took   time.Duration
}

// fly makes the try and hands it back.
func (f *flight) fly(ctx context.Context, clock Clock, ended chan<- *flight) {
	_, from := clock.Now()
	f.answer = f.to.send(ctx, &f.row, f.body, clock)
	f.body = nil
	_, to := clock.Now()
	f.took = to - from
	ended <- f
}

// launch sets a request off.
func (s *Service) launch(f *flight) {
	l := f.lane
	l.flying[f.row.Number] = struct{}{}
	s.pooled -= l.pooled()
	l.busy++
	s.pooled += l.pooled()
	s.flights++
	go f.fly(s.life, s.o.Clock, s.ended)
}

// land takes a request that has ended: what it says of its destination counts at once, what it says of its event once it is entered;
// until then the event isn't sent again.
func (s *Service) land(f *flight) {
	l := f.lane
	s.now() // a rest counts from here
	s.pooled -= l.pooled()
	l.busy--
	s.pooled += l.pooled()
	s.flights--
	s.results = append(s.results, f)
	s.agenda.by(l, s.wall)
	s.o.Metrics.Tried(verdictNames[f.answer.verdict], f.took)
	if f.to != l.to {
		f.to.hangUp() // it served longer than the configuration
		return
	}
	s.judge(l, f)
}

// judge learns from an answer how its destination does.
func (s *Service) judge(l *lane, f *flight) {
	before := l.level
	switch {
	case f.answer.alive:
		l.alive()
		if before > 0 {
			s.changed = true
			s.o.Log.Info("forwarding: the destination works again", "tenant", l.tenant, "source", l.source)
		}
	case f.answer.verdict == untried:
		l.until = max(l.until, s.wall+delayBase) // this machine lacks something: not again at once
	case f.answer.verdict == retry && f.answer.reason != shutdown:
		if l.failed(s.wall, f.row.Name.Key, f.probe, f.answer, s.o.Rand()) {
			s.changed = true
		}
		if before == 0 && l.level > 0 {
			s.o.Log.Warn("forwarding: the destination is down and given rest", "tenant", l.tenant, "source", l.source, "reason", f.answer.reason)
		}
	}
}

// told is what an ended try has to say to the books. Nothing is given up by a clock that isn't to be trusted.
func (f *flight) told(now int64, trusted bool) gateway.Command {
	number, a, d := f.row.Number, f.answer, &f.row
	switch a.verdict {
	case delivered:
		return &gateway.Settled{Number: number, OK: true}
	case untried:
		return &gateway.Untried{Number: number, IntervalMs: f.was.IntervalMs, LastMs: f.was.LastMs}
	}
	tookMs := f.took.Milliseconds()
	end := d.Since + f.to.spec.MaxAge.Milliseconds()
	if a.verdict == final || f.to.usedUp(d) || trusted && max(d.LastMs+tookMs+d.IntervalMs, now) > end {
		return &gateway.Settled{Number: number, Reason: a.reason, RetryAtMs: a.retryAtMs}
	}
	if trusted {
		a.retryAtMs = min(a.retryAtMs, end)
	}
	return &gateway.Failed{Number: number, Reason: a.reason, RetryAtMs: a.retryAtMs, TookMs: tookMs}
}

// usedUp reports whether a row that was tried has had as many tries as it may.
func (t *target) usedUp(d *gateway.Delivery) bool {
	return d.Once || t.spec.MaxTries > 0 && d.Attempts >= t.spec.MaxTries
}
