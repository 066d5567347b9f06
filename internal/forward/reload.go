package forward

import (
	"reflect"
	"slices"
	"strings"

	"hapax/internal/gateway"
)

// lane returns a source's lane, a new one where it has none. Their number is bounded by that of the sources.
func (s *Service) lane(name sourceName) *lane {
	l := s.lanes[name]
	if l == nil {
		l = &lane{sourceName: name, flying: map[int64]struct{}{}, place: -1}
		s.lanes[name] = l
	}
	return l
}

// takeUp lets the destinations stand that were set last. One that is as it was keeps its connections and what is known of it.
func (s *Service) takeUp() {
	s.mu.Lock()
	next := s.next
	s.next = nil
	s.mu.Unlock()
	if next == nil {
		return
	}
	now := s.now()
	for name, l := range s.lanes {
		if _, stays := next[name]; !stays && l.to != nil {
			s.turn(l, nil, now)
		}
	}
	for name, d := range next {
		if l := s.lane(name); l.to == nil || !reflect.DeepEqual(l.to.set, d) {
			s.turn(l, s.connect(d), now)
		}
	}
}

// turn sends what a lane has to another destination.
func (s *Service) turn(l *lane, to *target, now int64) {
	if l.to != nil {
		l.to.hangUp()
	}
	l.to, l.health = to, health{}
	l.held, l.oldest, s.changed = false, 0, true
	s.agenda.by(l, now)
}

// hangUp closes the kept connections of all destinations.
func (s *Service) hangUp() {
	for _, l := range s.lanes {
		if l.to != nil {
			l.to.hangUp()
		}
	}
}

// publish tells how things stand, once a second, and logs what died since.
func (s *Service) publish() {
	if s.published != 0 && s.mono-s.published < tick {
		return
	}
	s.published = s.mono
	f := Figures{UnderWay: s.flights}
	var stuck []Status
	for _, l := range s.lanes {
		switch {
		case l.held:
			f.Held++
			stuck = append(stuck, Status{Tenant: l.tenant, Source: l.source, Held: true})
		case l.level > 0:
			f.Resting++
			stuck = append(stuck, Status{Tenant: l.tenant, Source: l.source, Until: l.until, Rests: l.level})
		}
		if l.oldest > 0 && l.oldest != gateway.Held {
			f.LagMs = max(f.LagMs, s.wall-l.oldest)
		}
		if l.deaths > 0 {
			s.o.Log.Warn("forwarding: dead letters", "tenant", l.tenant, "source", l.source, "count", l.deaths, "reason", l.last)
			l.deaths = 0
		}
	}
	s.o.Metrics.Forwarding(f)
	if s.changed {
		s.changed = false
		slices.SortFunc(stuck, func(a, b Status) int {
			if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
				return c
			}
			return strings.Compare(a.Source, b.Source)
		})
		s.stuck.Store(&stuck)
	}
}
