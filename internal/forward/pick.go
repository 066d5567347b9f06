package forward

import (
	"context"
	"crypto/sha256"
	"errors"

	"hapax/client/session"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// maxBatch bounds the tries, and the outcomes, of one commit: more would keep other commits waiting.
const maxBatch = 256

// picked is what one round found to do.
type picked struct {
	flights []*flight
	dead    []doomed
	looked  []*lane // at which it looked
}

// doomed is a row that becomes a dead letter without another try.
type doomed struct {
	lane   *lane
	number int64
	reason string
}

// pick looks at the lanes whose moment has come.
func (s *Service) pick(v intake.View, now int64, p *picked) error {
	for len(p.flights)+len(p.dead) < maxBatch {
		l := s.agenda.next(now)
		if l == nil {
			return nil
		}
		p.looked = append(p.looked, l)
		if err := s.look(v, now, l, p); err != nil {
			return err
		}
	}
	return nil
}

// look picks the due rows of a lane that may leave now, and puts the lane down for the next look. One that has no room comes
// back when one of its requests lands.
func (s *Service) look(v intake.View, now int64, l *lane, p *picked) error {
	if l.to == nil {
		return s.hold(v, l)
	}
	if l.resting(now) {
		s.agenda.by(l, l.until)
		return nil
	}
	room := l.room(s.o.Pool - s.pooled - len(p.flights))
	free := min(room, maxBatch-len(p.flights)-len(p.dead))
	if free == 0 {
		return nil
	}
	want := free
	if !l.works {
		want = probeChoice
	}
	if err := s.beyond(v, now, l); err != nil {
		return err
	}
	limit := len(l.flying) + want
	rows, next, err := v.Due(l.tenant, l.source, now, limit)
	if err != nil {
		return err
	}
	chosen := l.choose(rows, free)
	for _, d := range chosen {
		if err := s.take(v, now, l, d, p); err != nil {
			return err
		}
	}
	switch {
	case len(rows) < limit && len(chosen) < free:
		s.agenda.by(l, next)
		return s.farAhead(v, now, l, len(rows), next)
	case len(chosen) < room:
		s.agenda.by(l, now) // this round took as many as it may
	}
	return nil
}

// probeChoice is among how many due rows a probe is chosen.
const probeChoice = 32

// take makes a flight of a due row, or gives it up where it can't or may not leave again.
func (s *Service) take(v intake.View, now int64, l *lane, d gateway.Delivery, p *picked) error {
	if l.to.usedUp(&d) && d.IntervalMs > 0 {
		// Its last try was cut off by a crash, or fewer are allowed since.
		reason := d.Reason
		if reason == "" {
			reason = "interrupted"
		}
		p.dead = append(p.dead, doomed{l, d.Number, reason})
		return nil
	}
	body, reason, err := sendable(v, d.Number)
	if err != nil {
		return err
	}
	if reason != "" {
		if reason == reasonBody {
			s.o.Log.Error("forwarding: a stored body isn't the one that was recorded; it is not sent", "tenant", l.tenant, "source", l.source, "event", d.ID)
		}
		p.dead = append(p.dead, doomed{l, d.Number, reason})
		return nil
	}
	f := &flight{lane: l, to: l.to, row: d, was: d, body: body, probe: !l.works}
	f.row.Attempts++
	f.row.Sends++
	f.row.LastMs = now
	f.row.IntervalMs = session.Delay(delayBase, delayCap, f.row.Attempts, s.o.Rand())
	p.flights = append(p.flights, f)
	return nil
}

// reasonBody is that of a body which isn't the one that was recorded.
const reasonBody = "body"

// sendable returns an event's body, or the reason for which it never leaves. A row that can't be read must not hold back all others.
func sendable(v intake.View, number int64) (body *gateway.Body, reason string, err error) {
	body, err = v.Body(number)
	switch {
	case errors.Is(err, intake.ErrDamage):
		return nil, reasonBody, nil
	case err != nil:
		return nil, "", err
	case body == nil:
		return nil, "body erased", nil
	}
	if ok, err := asRecorded(v, number, body); err != nil || ok {
		return body, "", err
	}
	return nil, reasonBody, nil
}

// asRecorded holds a body against the digest in its event's record: what changed in the store since isn't what was accepted, and a
// fresh signature would vouch for it.
func asRecorded(v intake.View, number int64, body *gateway.Body) (bool, error) {
	raw, err := v.Record(number)
	if err != nil {
		return false, err
	}
	entry, err := gateway.ReadRecord(raw)
	event, is := entry.Record.(*gateway.EventRecord)
	return err == nil && is && event.Digest == sha256.Sum256(body.Bytes), nil
}

// hold notes that a source has something to send and no destination.
func (s *Service) hold(v intake.View, l *lane) error {
	rows, _, err := v.Due(l.tenant, l.source, gateway.Held-1, 1)
	if err != nil {
		return err
	}
	if held := len(rows) > 0; held != l.held {
		l.held, s.changed = held, true
		if held {
			s.o.Log.Warn("forwarding: the configuration names no destination; what waits is held", "tenant", l.tenant, "source", l.source)
		}
	}
	return nil
}

// giveBack puts the lanes down again at which a failed round looked.
func (s *Service) giveBack(p *picked, now int64) {
	for _, l := range p.looked {
		s.agenda.by(l, now)
	}
}

// enter enters outcomes and tries in one commit, and sets the requests off once it is synced. It reports whether it could.
func (s *Service) enter(ctx, life context.Context, now int64, p *picked) bool {
	ended := s.results[:min(len(s.results), maxBatch)]
	commands := make([]gateway.Command, 0, len(ended)+len(p.dead)+len(p.flights))
	for _, f := range ended {
		commands = append(commands, f.told(now, s.trusted))
	}
	for _, d := range p.dead {
		commands = append(commands, &gateway.Settled{Number: d.number, Reason: d.reason})
	}
	for _, f := range p.flights {
		commands = append(commands, &gateway.Attempt{Number: f.row.Number, IntervalMs: f.row.IntervalMs})
	}
	outcomes, err := s.books.Enter(life, commands...)
	if err != nil {
		s.giveBack(p, now)
		s.failed(ctx, "commit", err)
		return false
	}
	s.faults = 0
	for i, f := range ended {
		delete(f.lane.flying, f.row.Number)
		s.agenda.by(f.lane, now)
		s.died(f.lane, commands[i])
	}
	s.results = append(s.results[:0], s.results[len(ended):]...)
	for i, d := range p.dead {
		s.agenda.by(d.lane, now)
		s.died(d.lane, commands[len(ended)+i])
	}
	for i, f := range p.flights {
		switch {
		case outcomes[len(ended)+len(p.dead)+i].Kind != gateway.Done:
			s.agenda.by(f.lane, now)
		case ctx.Err() != nil: // told to stop while this was entered
			f.answer = answer{verdict: untried}
			s.results = append(s.results, f)
		default:
			s.launch(f)
		}
	}
	return true
}

// died counts a dead letter, to be logged by publish.
func (s *Service) died(l *lane, c gateway.Command) {
	if e, is := c.(*gateway.Settled); is && !e.OK {
		l.deaths++
		l.last = e.Reason
	}
}
