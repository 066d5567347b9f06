package export

import (
	"fmt"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// Chain is what happened to one key: its events in the order of the log, each with its decision and reason as they were recorded.
type Chain struct {
	Name       gateway.Name
	Number     int64 // of the log's last record
	Registered bool
	Steps      []Step
}

// Step is one event.
type Step struct {
	Number   int64
	Event    *gateway.EventRecord
	GapS     int64  // to its predecessor, where there is one
	Delivery string // "", or how its delivery stands: waiting, dead, delivered or discarded
	Reason   string // one sentence
}

// ChainOf reads the events of a key backwards, each record naming the one before.
func ChainOf(v store.BooksView, n gateway.Name) (*Chain, error) {
	k, err := v.Key(n)
	if err != nil {
		return nil, err
	}
	c := &Chain{Name: n, Number: v.Head().Number, Registered: k.Registered}
	events := map[int64]*gateway.EventRecord{}
	for number := k.LastEvent; number > 0; {
		r, err := eventOf(v, number)
		if err != nil {
			return nil, err
		}
		if r.Prior >= number {
			return nil, fmt.Errorf("%w: record %d names %d as the one before", store.ErrDamage, number, r.Prior)
		}
		events[number] = r
		c.Steps = append(c.Steps, Step{Number: number, Event: r})
		number = r.Prior
	}
	slices.Reverse(c.Steps)
	for i := range c.Steps {
		s := &c.Steps[i]
		before := events[s.Event.Predecessor]
		if before != nil {
			s.GapS = s.Event.SeenAt - before.SeenAt
		}
		s.Reason = explain(s, before)
		if s.Delivery, err = delivery(v, s, &k); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// delivery tells how the delivery of an event stands. Of a root that another followed only the outbox knows more than that it ended.
func delivery(v store.BooksView, s *Step, k *gateway.Key) (string, error) {
	if !s.Event.Forwarded {
		return "", nil
	}
	d, err := v.Delivery(s.Number)
	switch {
	case err != nil:
		return "", err
	case d != nil && d.State == gateway.Dead:
		return "dead: " + d.Reason, nil
	case d != nil:
		return "waiting", nil
	case s.Number == k.Root.Number && !k.Root.Delivered:
		return "discarded", nil
	case s.Number == k.Root.Number:
		return "delivered", nil
	}
	return "delivered or discarded", nil
}

// explain puts into words what a record says.
func explain(s *Step, before *gateway.EventRecord) string {
	r := s.Event
	gap := fmt.Sprintf("%d s after record %d", s.GapS, r.Predecessor)
	switch {
	case r.Decision == gateway.UnknownKey:
		return "the key wasn't registered"
	case r.Decision == gateway.BadAmount:
		return fmt.Sprintf("%q is no amount, or %s no currency of it", r.Amount, r.Currency)
	case r.Decision == gateway.Mismatch && r.Twin > 0:
		return fmt.Sprintf("its body is that of record %d, which has another key, within the guard's window", r.Twin)
	case r.Twin > 0:
		return fmt.Sprintf("accepted, but its body is that of record %d, which has another key, within the guard's window", r.Twin)
	case before == nil:
		return "the first of its key"
	case r.Decision == gateway.Mismatch && before.Currency != r.Currency:
		return fmt.Sprintf("%s, within the window of %d s, but that was in %s", gap, r.WindowS, before.Currency)
	case r.Decision == gateway.Mismatch:
		return fmt.Sprintf("%s, within the window of %d s, but its content isn't that of record %d", gap, r.WindowS, r.Root)
	case s.GapS > r.WindowS:
		return fmt.Sprintf("%s, beyond the window of %d s", gap, r.WindowS)
	case r.Decision == gateway.Accept:
		return fmt.Sprintf("%s, within the window of %d s, but its scope %s isn't %s", gap, r.WindowS, r.Scope, before.Scope)
	}
	return fmt.Sprintf("%s, which was %s, within the window of %d s%s", gap, r.PredecessorState, r.WindowS, raised(r))
}

func raised(r *gateway.EventRecord) string {
	if r.Named && r.NamedAt < r.SeenAt {
		return fmt.Sprintf(" (its time %d was raised to its predecessor's)", r.NamedAt)
	}
	return ""
}

// eventOf reads an event's record.
func eventOf(v recordReader, number int64) (*gateway.EventRecord, error) {
	raw, err := v.Record(number)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("%w: record %d is missing", store.ErrDamage, number)
	}
	entry, err := gateway.ReadRecord(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: record %d: %w", store.ErrDamage, number, err)
	}
	r, ok := entry.Record.(*gateway.EventRecord)
	if !ok {
		return nil, fmt.Errorf("%w: record %d is no event", store.ErrDamage, number)
	}
	return r, nil
}
