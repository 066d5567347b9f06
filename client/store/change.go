package store

import "hapax/protocol"

// Change is what a drainer may do in Apply: Step, Confirm, Rows or Snapshot.
type Change interface{ change() }

// Step moves one outbox row. It is applied only if the row is there with Revision, and is Queued or Sending: rows that
// stepped aside move by Retry, Discard, Confirm and Evict alone.
type Step struct {
	Position int64
	Revision int64 // as read; the row then has Revision + 1
	To       State
	// Schedule replaces the row's: as of the attempt where To is Sending, as it was before where an outcome was no attempt.
	Schedule
	// FirstSentAt (server time) is needed, more than 0, where To is Sending: it is noted if the row has none yet, and
	// ignored else, as the first stays. In other steps it is ignored.
	FirstSentAt int64
	Reason      string // needed where To is Parked; in Queued it says that the row is held
	AsideAt     int64  // server time; needed where To is Parked or Uncertain, 0 else
}

// Confirm is an ack. The row of its key, in whatever state, is deleted and its body stored as a message with the seq, in
// one transaction. Without such a row nothing happens. The cursor doesn't move. A message that is held
// already (same MessageID, or same epoch and seq) stays as it is.
type Confirm struct {
	Key
	Epoch     string
	Seq       int64
	MessageID string
	At        int64
}

// Arrived is a message as it came from the server.
type Arrived struct {
	protocol.Message
	// Fingerprint is set where the message has a ClientMessageID, which only its author gets: the drainer computes it from the
	// content. The outbox row of that key is settled with it: by an equal one as by an ack, by another the row is
	// parked with ReasonConflict.
	Fingerprint string
}

// Rows are the rows that move a room's cursor forward: one live, or those of a delta. Applied only if the room's cursor
// equals From. Messages are the dense seqs From.After + 1 … To.After of one epoch, so an empty delta has To equal to From.
type Rows struct {
	Room     string
	From, To protocol.Cursor
	Messages []Arrived
	Now      int64 // server time, for rows parked by a conflict
}

// Snapshot replaces a room's view, cursor and messages together. Messages that the old view held too (by MessageID, which
// is never given twice) keep their position; those of its epoch that an ack stored beyond the new head stay.
type Snapshot struct {
	Room     string
	Cursor   protocol.Cursor
	Messages []Arrived // by rising seq, none past Cursor.After
	Now      int64     // server time, for rows parked by a conflict
}

// Receipt is that of the row.
func (c Confirm) Receipt() Receipt {
	return Receipt{MessageID: c.MessageID, Seq: c.Seq, Epoch: c.Epoch, At: c.At}
}

// Receipt is that of the row which the message settles.
func (a *Arrived) Receipt() Receipt {
	return Receipt{MessageID: a.MessageID, Seq: a.Seq, Epoch: a.Epoch, At: a.At}
}

func (Step) change()     {}
func (Confirm) change()  {}
func (Rows) change()     {}
func (Snapshot) change() {}

// Result answers a Change.
type Result struct {
	Applied bool
	// Row is, for a Step, the row as it is now, zero (Position 0) where it is gone; for a Confirm, the row deleted.
	Row Row
	// Confirmed and Conflicts are, for Rows and Snapshot, the outbox rows that their messages settled: deleted, and parked.
	Confirmed []Row
	Conflicts []Row
	// Cursor is, for Rows, the room's cursor as it is now.
	Cursor protocol.Cursor
}

// ReasonConflict is the reason of a row parked because another content is stored under its id.
const ReasonConflict = string(protocol.IDConflict)
