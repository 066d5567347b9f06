package forward

import (
	"context"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// maxBackMs is how far the wall clock may fall behind the monotonic one until rows are looked through: it is slewed by less.
const maxBackMs = 2_000

// maxMend bounds the rows that are mended out of one reading.
const maxMend = 1 << 16

// now reads the clock, and notices where it went back.
func (s *Service) now() int64 {
	wall, mono := s.o.Clock.Now()
	if s.wall != 0 && wall < s.wall+(mono-s.mono).Milliseconds()-maxBackMs {
		s.wentBack()
	}
	s.wall, s.mono = wall, mono
	s.trusted, _ = s.watch.Observe(wall, mono)
	return wall
}

// wentBack has all rows looked through, as some may lie ahead of the clock: they would wait for hours that have been already.
func (s *Service) wentBack() {
	s.mend = true
	for _, l := range s.lanes {
		l.until = 0 // a rest goes on with one probe
	}
}

// farAhead looks at the next row of a lane where it is due later than any delay makes it: after a Retry-After, or as the clock went back.
func (s *Service) farAhead(v intake.View, now int64, l *lane, seen int, next int64) error {
	if next == gateway.Held || next-now <= delayCap || s.mend {
		return nil
	}
	rows, _, err := v.Due(l.tenant, l.source, next, seen+1)
	if err == nil && len(rows) > seen && ahead(&rows[seen], now) {
		s.wentBack()
	}
	return err
}

func ahead(d *gateway.Delivery, now int64) bool {
	return d.State == gateway.Waiting && (d.LastMs > now || d.Since > now) || d.Beyond(now)
}

// beyond looks, once in a lane's life, at the row that is due last: one that is due further ahead than any rule puts it wasn't put there by
// the forwarder, and would never be sent.
func (s *Service) beyond(v intake.View, now int64, l *lane) error {
	if l.checked {
		return nil
	}
	last, err := v.LastDue(l.tenant, l.source)
	l.checked = err == nil
	s.mend = s.mend || last > now+gateway.MaxDueMs
	return err
}

// mendAll brings rows that lie ahead of the clock back, each once and for good. It reports whether it is through.
func (s *Service) mendAll(ctx context.Context, now int64) bool {
	beyond := 0
	for after := int64(0); ; {
		var found []gateway.Command
		last := after
		err := s.books.View(ctx, func(v intake.View) error {
			for d, err := range v.Deliveries() {
				if err != nil {
					return err
				}
				if d.Number <= after || !ahead(&d, now) {
					continue
				}
				if d.Beyond(now) {
					beyond++
				}
				row, _ := session.Mend(store.Schedule{Interval: min(d.IntervalMs, delayCap), LastAttemptAt: now + 1}, now, s.o.Rand())
				found = append(found, &gateway.Mend{Number: d.Number, IntervalMs: row.Interval})
				if last = d.Number; len(found) == maxMend {
					return nil
				}
			}
			return nil
		})
		for from := 0; err == nil && from < len(found); from += maxBatch {
			_, err = s.books.Enter(s.life, found[from:min(len(found), from+maxBatch)]...)
		}
		if err != nil {
			s.failed(ctx, "mend", err)
			return false
		}
		if len(found) < maxMend {
			break
		}
		after = last
	}
	s.mend = false
	for _, l := range s.lanes {
		s.agenda.by(l, now)
	}
	if beyond > 0 {
		s.o.Metrics.Mended(beyond)
		s.o.Log.Error("forwarding: events were due further ahead than any rule puts them, and are due again; hapax verify tells what else was changed", "events", beyond)
	} else {
		s.o.Log.Warn("forwarding: the clock went back; what waited ahead of it is due again")
	}
	return true
}
