package store

import (
	"fmt"
	"slices"

	"hapax/client/ids"
	"hapax/protocol"
)

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadChange}, args...)...)
}

// Check refuses an entry that no store takes: an id that ids.Check refuses, no room, no fingerprint, a state other than
// Queued and Sending, or one Sending that was not noted as sent. Content is bounded by the server's limits, not here.
func (e *Entry) Check() error {
	if err := ids.Check(e.ID); err != nil {
		return fmt.Errorf("%w: %w", ErrBadChange, err)
	}
	switch {
	case e.Room == "" || len(e.Room) > protocol.DefaultLimits.Room:
		return bad("room of %d bytes", len(e.Room))
	case e.Fingerprint == "":
		return bad("entry without fingerprint")
	case e.State != Queued && e.State != Sending:
		return bad("entry %v", e.State)
	case e.State == Sending && e.FirstSentAt <= 0:
		return bad("entry sending without FirstSentAt")
	case e.FirstSentAt < 0 || !e.Schedule.valid():
		return bad("negative time or count")
	}
	return nil
}

// row returns the row that the entry becomes.
func (e *Entry) row(position int64) Row {
	return Row{
		Position: position, Revision: 1, Key: e.Key, Fingerprint: e.Fingerprint, Size: len(e.Text) + len(e.Data),
		QueuedAt: e.QueuedAt, Schedule: e.Schedule, FirstSentAt: e.FirstSentAt, State: e.State,
	}
}

func (s Schedule) valid() bool { return s.Attempts >= 0 && s.Interval >= 0 && s.LastAttemptAt >= 0 }

// CheckChanges refuses changes that no state could allow, with ErrBadChange.
func CheckChanges(changes []Change) error {
	for i, c := range changes {
		var err error
		switch c := c.(type) {
		case Step:
			err = c.check()
		case Confirm:
			err = c.check()
		case Rows:
			err = c.check()
		case Snapshot:
			err = c.check()
		default:
			err = bad("a %T", c)
		}
		if err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	return nil
}

func (s Step) check() error {
	aside := s.To == Parked || s.To == Uncertain
	switch {
	case s.To < Queued || s.To > Uncertain:
		return bad("step to state %d", s.To)
	case !s.Schedule.valid():
		return bad("negative time or count")
	case s.To == Sending && s.FirstSentAt <= 0:
		return bad("sending without FirstSentAt")
	case s.To == Parked && s.Reason == "":
		return bad("parked without a reason")
	case aside != (s.AsideAt > 0):
		return bad("AsideAt %d in state %v", s.AsideAt, s.To)
	}
	return nil
}

func (c Confirm) check() error {
	if c.Epoch == "" || c.MessageID == "" || c.Seq < 1 || c.Seq > protocol.MaxSeq {
		return bad("confirmation without epoch, seq or messageId")
	}
	return nil
}

func checkCursor(c protocol.Cursor) error {
	if c.Epoch == "" || c.After < 0 || c.After > protocol.MaxSeq || (c.After == 0) != (c.MessageID == "") {
		return bad("cursor %+v", c)
	}
	return nil
}

// check keeps what a cursor means: no gap below it, one epoch, and its own row is the last.
func (r Rows) check() error {
	if err := checkCursor(r.To); err != nil {
		return err
	}
	if r.Room == "" || r.From.Epoch != r.To.Epoch || r.To.After != r.From.After+int64(len(r.Messages)) {
		return bad("%d rows from %+v to %+v", len(r.Messages), r.From, r.To)
	}
	last := r.From.MessageID
	for i, m := range r.Messages {
		if m.Seq != r.From.After+1+int64(i) {
			return bad("seq %d as row %d after %d", m.Seq, i+1, r.From.After)
		}
		if err := m.check(r.Room, r.To.Epoch, r.Now); err != nil {
			return err
		}
		last = m.MessageID
	}
	if last != r.To.MessageID {
		return bad("cursor at %q, its last row is %q", r.To.MessageID, last)
	}
	return nil
}

func (s Snapshot) check() error {
	if err := checkCursor(s.Cursor); err != nil {
		return err
	}
	if s.Room == "" {
		return bad("snapshot without a room")
	}
	for i, m := range s.Messages {
		if i > 0 && m.Seq <= s.Messages[i-1].Seq || m.Seq > s.Cursor.After {
			return bad("seq %d as row %d of a snapshot up to %d", m.Seq, i+1, s.Cursor.After)
		}
		if err := m.check(s.Room, s.Cursor.Epoch, s.Now); err != nil {
			return err
		}
	}
	if n := len(s.Messages); n > 0 && s.Messages[n-1].Seq == s.Cursor.After && s.Messages[n-1].MessageID != s.Cursor.MessageID {
		return bad("snapshot's last row %q, its cursor %q", s.Messages[n-1].MessageID, s.Cursor.MessageID)
	}
	return nil
}

func (a Arrived) check(room, epoch string, now int64) error {
	switch {
	case a.Room != room || a.Epoch != epoch:
		return bad("message of room %q, epoch %q among those of %q, %q", a.Room, a.Epoch, room, epoch)
	case a.MessageID == "" || a.Seq < 1:
		return bad("message without seq or messageId")
	case (a.ClientMessageID == "") != (a.Fingerprint == ""):
		return bad("a fingerprint belongs to a message with a clientMessageId")
	case a.Fingerprint != "" && now <= 0:
		return bad("own messages without the server's time")
	}
	return nil
}

// Admit judges an entry against the row of its key (nil: none) and the number of rows queued: what becomes of it, the row as
// it then is (position being that of a new one), and whether that has to be stored.
func (e *Entry) Admit(have *Row, queued, limit int, position int64) (a Added, write bool) {
	switch {
	case have == nil && queued >= limit:
		return Added{Outcome: Full}, false
	case have == nil:
		return Added{Outcome: Inserted, Row: e.row(position)}, true
	case have.Fingerprint != e.Fingerprint:
		return Added{Outcome: Conflict, Row: *have}, false
	case e.DueNow && have.State == Queued && have.Interval != 0:
		r := *have
		r.Interval = 0
		r.Revision++
		return Added{Outcome: Same, Row: r}, true
	}
	return Added{Outcome: Same, Row: *have}, false
}

// Evictable returns which of the rows aside are to go: those older than the age, and the oldest above the number.
func (l Limits) Evictable(aside []Row, now int64) []Row {
	aside = slices.Clone(aside)
	slices.SortFunc(aside, func(a, b Row) int {
		if a.AsideAt != b.AsideAt {
			return int(min(max(a.AsideAt-b.AsideAt, -1), 1))
		}
		return int(min(max(a.Position-b.Position, -1), 1))
	})
	n := max(0, len(aside)-l.Aside)
	for n < len(aside) && now-aside[n].AsideAt > l.AsideAge {
		n++
	}
	return aside[:n]
}

// CheckEntries refuses entries that no store takes; those Sending need a fence.
func CheckEntries(fence int64, entries []Entry) error {
	for i := range entries {
		err := entries[i].Check()
		if err == nil && entries[i].State == Sending && fence == 0 {
			err = ErrFenced
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return nil
}

// Check refuses an owner without a name.
func (o Owner) Check() error {
	if o.Actor == "" || o.Server == "" {
		return bad("owner %q on server %q", o.Actor, o.Server)
	}
	return nil
}
