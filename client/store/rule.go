package store

// The rules by which a row moves, the same for every store: a store reads the row, asks the rule and writes what it says,
// in one transaction.

// On returns the row after the step, false where its guard fails.
func (s Step) On(r Row) (Row, bool) {
	if r.Revision != s.Revision || r.Aside() {
		return r, false
	}
	r.Revision++
	r.State, r.Schedule, r.Reason, r.AsideAt = s.To, s.Schedule, s.Reason, s.AsideAt
	if s.To == Sending && r.FirstSentAt == 0 {
		r.FirstSentAt = s.FirstSentAt
	}
	return r, true
}

// Aside reports whether the row has stepped aside, so that rows behind it don't wait for it.
func (r Row) Aside() bool { return r.State == Parked || r.State == Uncertain }

// Cancel refuses to cancel a row that may have been sent.
func (r Row) Cancel() error {
	if r.FirstSentAt != 0 {
		return ErrMayHaveBeenSent
	}
	return nil
}

// Retry returns the row as Store.Retry leaves it.
func (r Row) Retry(sentAt int64) (Row, error) {
	switch {
	case r.State == Sending:
		return r, ErrInFlight
	case r.State == Uncertain && sentAt <= 0:
		return r, bad("an uncertain row is retried as of a server time")
	case r.State == Uncertain:
		r.FirstSentAt = sentAt
	}
	r.Revision++
	r.State, r.Schedule, r.Reason, r.AsideAt = Queued, Schedule{}, "", 0
	return r, nil
}

// Requeue returns a row that a dead drainer left Sending as the next one finds it: its attempt stands, Sending doesn't.
func (r Row) Requeue() Row {
	r.State = Queued
	r.Revision++
	return r
}

// Conflict returns the row parked, as another content is stored under its id; false where it is so already.
func (r Row) Conflict(now int64) (Row, bool) {
	if r.State == Parked && r.Reason == ReasonConflict {
		return r, false
	}
	r.Revision++
	r.State, r.Reason, r.AsideAt = Parked, ReasonConflict, now
	return r, true
}

// Message returns what a confirmed row becomes. It has no position until a cursor covers it.
func (c Confirm) Message(owner Owner, b Body) Message {
	m := Message{}
	m.Room, m.Epoch, m.Seq, m.MessageID, m.At = c.Room, c.Epoch, c.Seq, c.MessageID, c.At
	m.Actor, m.ClientMessageID, m.Text, m.Data = owner.Actor, c.ID, b.Text, b.Data
	return m
}
