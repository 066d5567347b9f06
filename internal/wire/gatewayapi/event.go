package gatewayapi

import (
	"fmt"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// Event is one decision of the log, as its tenant sees it.
type Event struct {
	ID       string `json:"id"`
	Tenant   string `json:"tenant"`
	Source   string `json:"source"`
	Key      string `json:"key"`
	Decision string `json:"decision" enum:"accept,duplicate_done,duplicate_pending,mismatch,bad_amount,unknown_key"`
	Reason   string `json:"reason" doc:"Why, for people."`
	Currency string `json:"currency"`
	Amount   string `json:"amount,omitempty" doc:"As it came, cut to 65 bytes."`
	Scope    string `json:"scope,omitempty" enum:"schema,wire" doc:"As judged."`
	State    string `json:"state" enum:"done,pending" doc:"As the source said."`
	At       int64  `json:"at" doc:"Unix ms at which it was entered."`
	SeenAt   int64  `json:"seenAt" doc:"Unix seconds as judged."`
	NamedAt  *int64 `json:"namedAt,omitempty" doc:"The time that the event names; where it was before the predecessor's, seenAt was raised to that."`
	WindowS  int64  `json:"windowS,omitempty" doc:"The window in force."`
	GapS     *int64 `json:"gapS,omitempty" doc:"Seconds since the predecessor."`
	Repeats  string `json:"repeats,omitempty" doc:"Of a repeat: the id of the accepted event at the root of its chain."`
	Forward  string `json:"forward,omitempty" enum:"waiting,dead,settled" doc:"Of an accepted event with a destination: where it stands; settled is delivered or discarded."`
}

// reading reads records of one view, and keeps the last ones: a chain asks for the same again and again.
type reading struct {
	view intake.View
	kept map[int64]*entry
}

// entry is a record of an event.
type entry struct {
	number int64
	at     int64
	*gateway.EventRecord
}

func newReading(v intake.View) *reading { return &reading{view: v, kept: make(map[int64]*entry)} }

// event returns the event of a number, nil where that is none or a record of another kind.
func (r *reading) event(number int64) (*entry, error) {
	if number == 0 {
		return nil, nil
	}
	if e, known := r.kept[number]; known {
		return e, nil
	}
	text, err := r.view.Record(number)
	if err != nil || text == nil {
		return nil, err
	}
	e, err := eventOf(text)
	if err != nil {
		return nil, err
	}
	if len(r.kept) >= 1000 { // a page asks for less
		clear(r.kept)
	}
	r.kept[number] = e
	return e, nil
}

// eventOf decodes a record, nil where it is of another kind.
func eventOf(text []byte) (*entry, error) {
	read, err := gateway.ReadRecord(text)
	if err != nil {
		return nil, err
	}
	rec, is := read.Record.(*gateway.EventRecord)
	if !is {
		return nil, nil
	}
	return &entry{number: read.Number, at: read.At, EventRecord: rec}, nil
}

// show makes the form of an event.
func (r *reading) show(e *entry) (Event, error) {
	o := Event{
		ID: e.ID, Tenant: e.Tenant, Source: e.Source, Key: e.Key, Decision: e.Decision.String(), Currency: e.Currency, Amount: e.Amount,
		Scope: e.Scope.String(), State: e.State.String(), At: e.at, SeenAt: e.SeenAt, WindowS: e.WindowS,
	}
	if e.Named {
		o.NamedAt = &e.NamedAt
	}
	before, err := r.event(e.Predecessor)
	if err != nil {
		return o, err
	}
	if before != nil && e.Decision != gateway.UnknownKey && e.Decision != gateway.BadAmount {
		gap := e.SeenAt - before.SeenAt
		o.GapS = &gap
	}
	o.Reason = reason(e, before)
	if e.Decision.Deduped() || e.Decision == gateway.Mismatch {
		root, err := r.event(e.Root)
		if err != nil {
			return o, err
		}
		if root != nil {
			o.Repeats = root.ID
		}
	}
	if e.Forwarded {
		o.Forward, err = r.forward(e.number)
	}
	return o, err
}

func (r *reading) forward(number int64) (string, error) {
	d, err := r.view.Delivery(number)
	switch {
	case err != nil:
		return "", err
	case d == nil:
		return "settled", nil
	case d.State == gateway.Dead:
		return "dead", nil
	}
	return "waiting", nil
}

// reason says why an event was judged as it was. before is its predecessor, nil where it has none.
func reason(e, before *entry) string {
	if before == nil {
		before = &entry{EventRecord: &gateway.EventRecord{}}
	}
	gap := fmt.Sprintf("%d s after its predecessor", e.SeenAt-before.SeenAt)
	within := fmt.Sprintf("%s, within the window of %d s", gap, e.WindowS)
	switch e.Decision {
	case gateway.UnknownKey:
		return "the key isn't registered"
	case gateway.BadAmount:
		return "the amount is no amount by the contract, or the currency none"
	case gateway.Mismatch:
		if e.Currency != before.Currency {
			return within + ", which is in another currency"
		}
		return within + ", but its content differs from the event that it repeats"
	case gateway.DuplicatePending:
		return within + "; the event that it repeats is pending"
	case gateway.DuplicateDone:
		return within + "; the event that it repeats is done"
	}
	switch {
	case e.Predecessor == 0:
		return "the first of its key"
	case e.SeenAt-before.SeenAt > e.WindowS:
		return fmt.Sprintf("%s, beyond the window of %d s", gap, e.WindowS)
	}
	return fmt.Sprintf("%s, which has the scope %s and not %s", gap, scopeName(before.Scope), scopeName(e.Scope))
}

func scopeName(s settle.Scope) string {
	if s == settle.ScopeNone {
		return "none"
	}
	return s.String()
}
