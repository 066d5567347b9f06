package forward

import (
	"context"
	"time"

	"hapax/internal/engine/intake"
)

// tick is the longest sleep: after it the clock, which people set, is read again, and a hint that was lost is made up for.
const tick = time.Second

// Run forwards until ctx ends; then requests under way get Options.Grace, what they came to is entered, and it returns nil. It returns
// an error where the store can't go on.
func (s *Service) Run(ctx context.Context) error {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { time.AfterFunc(s.o.Grace, cut) })()
	defer cut()
	s.life = life
	defer s.hangUp()
	for begun := false; ; {
		begun = begun || s.begin(ctx)
		s.takeUp()
		s.gather()
		s.publish()
		select {
		case <-s.books.Failed():
			cut()
			s.settle()
			return intake.ErrUnavailable
		case <-ctx.Done():
			s.settle()
			s.enterLast(ctx)
			return nil
		default:
		}
		if !begun || !s.round(ctx) {
			s.wait(ctx)
		}
	}
}

// begin learns which sources have something to send. It reports whether it could.
func (s *Service) begin(ctx context.Context) bool {
	now := s.now()
	err := s.books.View(ctx, func(v intake.View) error {
		head := v.Head()
		if raw, err := v.Record(head.Number); err != nil {
			return err
		} else if raw != nil && recordedAt(raw) > now+maxBackMs {
			s.wentBack()
		}
		counts, err := v.Outbox()
		if err != nil {
			return err
		}
		for _, c := range counts {
			if c.Waiting > 0 {
				s.agenda.by(s.lane(sourceName{c.Tenant, c.Source}), now)
			}
		}
		s.heard = head.Number
		return nil
	})
	if err != nil {
		s.failed(ctx, "begin", err)
	}
	return err == nil
}

// round is one turn: what is due is read, outcomes and tries are entered in one commit, requests set off. It reports
// whether anything was done.
func (s *Service) round(ctx context.Context) bool {
	now := s.now()
	if s.mend && !s.mendAll(ctx, now) {
		return false
	}
	p := &picked{}
	err := s.books.View(ctx, func(v intake.View) error {
		if err := s.listen(v, now); err != nil {
			return err
		}
		return s.pick(v, now, p)
	})
	if err != nil {
		s.giveBack(p, now)
		s.failed(ctx, "read", err)
		return false
	}
	if len(s.results)+len(p.flights)+len(p.dead) == 0 {
		return false
	}
	return s.enter(ctx, s.life, now, p)
}

// failed notes that the store couldn't answer, and waits a while.
func (s *Service) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	s.faults++
	s.o.Log.Warn("forwarding: the store can't answer", "step", what, "err", err)
	timer := time.NewTimer(time.Duration(min(s.faults, 50)) * 100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.books.Failed():
	}
}

// gather takes what has ended, without waiting.
func (s *Service) gather() {
	for {
		select {
		case f := <-s.ended:
			s.land(f)
		default:
			return
		}
	}
}

// wait sleeps until there is something to do.
func (s *Service) wait(ctx context.Context) {
	sleep := tick
	if len(s.agenda) > 0 {
		ms := min(s.agenda[0].look-s.wall, tick.Milliseconds()) // first, as no due time may overflow
		sleep = time.Duration(max(0, ms)) * time.Millisecond
	}
	if s.behind {
		sleep = 0
	}
	timer := time.NewTimer(sleep)
	defer timer.Stop()
	select {
	case f := <-s.ended:
		s.land(f)
	case <-s.books.Queued():
	case <-s.swap:
	case <-timer.C:
	case <-ctx.Done():
	case <-s.books.Failed():
	}
}

// settle waits for the requests under way; Options.Grace, or the failed store, cuts them off.
func (s *Service) settle() {
	for s.flights > 0 {
		s.land(<-s.ended)
	}
}

// lastCommit bounds the commits at the end.
const lastCommit = 5 * time.Second

// enterLast enters what the last requests came to.
func (s *Service) enterLast(ctx context.Context) {
	life, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCommit)
	defer cancel()
	for len(s.results) > 0 {
		if !s.enter(ctx, life, s.now(), &picked{}) {
			s.o.Log.Warn("forwarding: outcomes couldn't be stored; their events will be sent again", "requests", len(s.results))
			return
		}
	}
}
