package forward

import (
	"errors"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// maxHeard bounds the records that one round listens to.
const maxHeard = 4096

// listen reads on in the log, which says which sources may have something due: so a hint needs to say nothing, may be lost, and costs no
// look at the other sources.
func (s *Service) listen(v intake.View, now int64) error {
	head := v.Head().Number
	if head <= s.heard {
		return nil
	}
	n := 0
	s.behind = false
	for raw, err := range v.Records(s.heard) {
		if err != nil {
			return err
		}
		e, err := gateway.ReadRecord(raw)
		if err != nil {
			return errors.New("forward: a record of the log can't be read")
		}
		if err := s.hear(v, now, e.Record); err != nil {
			return err
		}
		s.heard = e.Number
		if n++; n == maxHeard {
			s.behind = true
			break
		}
	}
	return nil
}

func (s *Service) hear(v intake.View, now int64, r gateway.Record) error {
	switch r := r.(type) {
	case *gateway.EventRecord:
		name := sourceName{r.Tenant, r.Source}
		// A repeat makes the root of its chain due; of a source that forwards nothing there is none.
		if r.Forwarded || r.Decision.Deduped() && s.lanes[name] != nil {
			s.agenda.by(s.lane(name), now)
		}
	case *gateway.DeliveryRecord:
		if r.What != gateway.Revived {
			return nil
		}
		d, err := v.Delivery(r.Event)
		if err != nil || d == nil {
			return err
		}
		s.agenda.by(s.lane(sourceName{d.Name.Tenant, d.Name.Source}), now)
	}
	return nil
}

// recordedAt is the moment of a record, 0 where it can't be read.
func recordedAt(raw []byte) int64 {
	e, err := gateway.ReadRecord(raw)
	if err != nil {
		return 0
	}
	return e.At
}
