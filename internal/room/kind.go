package room

import "hapax/internal/idem"

// Kind says what becomes of a command.
type Kind uint8

// The kinds of outcome. The zero Kind is no outcome.
const (
	_              Kind = iota
	Accepted            // stored as a new row
	Duplicate           // the key is known, same content: the first result
	Conflict            // the key is known, other content; Result names the original
	OutcomeUnknown      // too old to be judged; nothing stored
	OutOfOrder          // the row it follows isn't there; nothing stored
	RateLimited         // over the sender's rate; nothing stored
	InProgress          // still being decided; nothing known
	Unavailable         // the store can't answer; nothing promised
	NotFound            // status only: no result of that key
	Full                // the room's seq is exhausted; nothing stored
	BadName             // the room isn't there, and none of its name may be made; nothing stored
	Draining            // the server is going away: nothing stored, come back after RetryAfterMs
	kinds               // one more than the last
)

var kindNames = [kinds]string{"none", "accepted", "duplicate", "conflict", "outcome_unknown", "out_of_order",
	"rate_limited", "in_progress", "unavailable", "not_found", "full", "bad_name", "draining"}

// String returns the kind's name in metrics and logs.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "invalid"
}

// Kinds returns all kinds of outcome, for tables that have to be total.
func Kinds() []Kind {
	all := make([]Kind, 0, kinds-1)
	for k := Accepted; k < kinds; k++ {
		all = append(all, k)
	}
	return all
}

// Outcome is the answer to a command.
type Outcome struct {
	Kind         Kind
	Result       idem.Result // of Accepted, Duplicate, Conflict
	RetryAfterMs int64       // of RateLimited, Unavailable, Draining; 0 where unsaid
}
