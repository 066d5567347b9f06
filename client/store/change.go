package store

import "hapax/protocol"

// Change is what a drainer may do in Apply: Step, Confirm, Rows or Snapshot.
type Change interface{ change() }

// Step moves one outbox row. It is applied only if the row is there with Revision.
type Step struct {
	Position int64
	Revision int64 // as read; the row then has Revision + 1
	To       State
	// Schedule replaces the row's: as of the attempt where To is Sending, as it was before where an outcome was no attempt.
	Schedule
	// FirstSentAt is noted if the row has none yet, and ignored else: the first stays. It is needed (more than 0) where To
	// is Sending and the row has none.
	FirstSentAt int64
	Reason      string // needed where To is Parked; in Queued it says that the row is held
	AsideAt     int64  // server time; needed where To is Parked or Uncertain, 0 else
}

// Confirm is an ack. The row of its key, in whatever state, is deleted and its body stored as a message with the seq, in
// one transaction. Without such a row nothing happens. The cursor doesn't move, and a message already held stays as it is.
type Confirm struct {
	Key
	Epoch     string
	Seq       int64
	MessageID string
	At        int64
}

// Own is what the drainer says of a message of this actor's own, so that the store can settle the outbox row of its
// ClientMessageID: with the same fingerprint as by an ack, with another it is parked with the reason "id_conflict".
type Own struct {
	Fingerprint string
}

// Arrived is a message as it came from the server.
type Arrived struct {
	protocol.Message
	Own *Own // set for messages with a ClientMessageID, which only the author gets
}

// Rows are the rows that move a room's cursor forward: one live, or those of a delta. Applied only if the room's cursor
// equals From. Messages are the dense seqs From.After + 1 … To.After of one epoch, so an empty delta has To equal to From.
type Rows struct {
	Room     string
	From, To protocol.Cursor
	Messages []Arrived
	Now      int64 // server time, for rows parked by a conflict
}

// Snapshot replaces a room's view, cursor and messages together. Messages that the old view held in the same epoch under the
// same messageId keep their position; those that an ack stored beyond the new head stay.
type Snapshot struct {
	Room     string
	Cursor   protocol.Cursor
	Messages []Arrived // by rising seq, none past Cursor.After
	Now      int64     // server time, for rows parked by a conflict
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
