package store

// State of an outbox row. A confirmed row is none: it was deleted.
type State uint8

// The states. Their numbers are those on disk.
const (
	Queued    State = 1 // waits for its turn or its time; with a Reason: held until a new token, Retry or Discard
	Sending   State = 2 // a drainer sends it; never believed after a restart
	Parked    State = 3 // stepped aside with a Reason, until Retry or Discard
	Uncertain State = 4 // may have been accepted; never re-sent unasked
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Queued:
		return "queued"
	case Sending:
		return "sending"
	case Parked:
		return "parked"
	case Uncertain:
		return "uncertain"
	}
	return "invalid"
}

// Key names a row. The actor is the store's own.
type Key struct {
	Room string
	ID   string // the client message id as it travels
}

// Schedule is when a row is tried again: at LastAttemptAt + Interval, both wall clock, ms.
type Schedule struct {
	Attempts      int
	Interval      int64
	LastAttemptAt int64
}

// Body is what a row says.
type Body struct {
	Text string
	Data []byte // canonical JSON; nil, or empty, where there is none
}

// Row is an outbox row without its body.
type Row struct {
	Position int64 // the order of Add in this store; never given twice
	Revision int64 // raised by one with each change
	Key
	Fingerprint string
	Size        int   // bytes of text and data
	QueuedAt    int64 // wall clock
	Schedule
	FirstSentAt int64 // server time; 0: was never sent. Never cleared: with it, the row may have been accepted
	State       State
	Reason      string
	AsideAt     int64 // server time at which it was parked or became uncertain; 0 in other states
}

// Entry is a row to be added.
type Entry struct {
	Key
	Body
	Fingerprint string
	QueuedAt    int64 // wall clock
	// State is Queued, or Sending for a row that goes out right away: then with the schedule as of its first attempt and
	// FirstSentAt, so that one sync serves both.
	State State
	Schedule
	FirstSentAt int64
	// DueNow: where a row of this key and content is Queued already, its Interval becomes 0 (Resend).
	DueNow bool
}

// AddOutcome says what became of an Entry.
type AddOutcome uint8

// The outcomes of Add.
const (
	Inserted AddOutcome = iota + 1
	Same                // a row of this key and fingerprint is there; Row is that one
	Conflict            // a row of this key with another fingerprint is there; Row is that one, unchanged
	Full                // Limits.Queued rows are queued; Row is zero
)

// Added answers an Entry.
type Added struct {
	Outcome AddOutcome
	Row     Row
}
