package protocol

import "slices"

// Code names what went wrong. Clients go by the code, or by retryable for one that they don't know.
type Code string

// The codes of version 1.
const (
	Unavailable    Code = "unavailable"
	RateLimited    Code = "rate_limited"
	InProgress     Code = "in_progress"
	OutOfOrder     Code = "out_of_order"
	Draining       Code = "draining"
	SlowReader     Code = "slow_reader"
	SessionInvalid Code = "session_invalid"
	NotSubscribed  Code = "not_subscribed"
	BadRequest     Code = "bad_request"
	TooLarge       Code = "too_large"
	Forbidden      Code = "forbidden"
	ActorMismatch  Code = "actor_mismatch"
	IDConflict     Code = "id_conflict"
	NotFound       Code = "not_found"
	OutcomeUnknown Code = "outcome_unknown"
)

// Advice is what a client does about a code.
type Advice string

// The kinds of advice (docs/spec/protocol.md, Codes).
const (
	TryAgain  Advice = "try_again"  // the same command, later, with the same id
	AfterStep Advice = "after_step" // the same command, once the client did something: a new token, a subscribe
	Final     Advice = "final"      // the same command will never do
)

// Rule is what follows from a code on every transport.
type Rule struct {
	Code      Code
	Title     string // for people, the same for every occurrence
	Status    int    // HTTP status
	Close     int    // WebSocket close code where it ends the connection, 0 where it never does
	Advice    Advice
	Retryable bool // the same command may succeed later, without the client doing anything about it
}

// Type is the URI of the code's problem documents (RFC 9457).
func (r Rule) Type() string { return "urn:hapax:problem:" + string(r.Code) }

// rules is the one table of codes. Close codes from 4000 on are Hapax's own, the others the registered ones:
// 1012 is a restart, 1009 a message too big to be read on.
var rules = []Rule{
	{Unavailable, "The server can't answer now", 503, 0, TryAgain, true},
	{RateLimited, "Too many commands", 429, 0, TryAgain, true},
	{InProgress, "The same message is being stored", 409, 0, TryAgain, true},
	{OutOfOrder, "The message before this one isn't stored", 409, 0, TryAgain, true},
	{Draining, "The server is going down", 503, 1012, TryAgain, true},
	{SlowReader, "The connection couldn't keep up", 503, 4008, TryAgain, true},
	{SessionInvalid, "No valid session", 401, 4401, AfterStep, false},
	{NotSubscribed, "Not subscribed to the room", 409, 0, AfterStep, false},
	{BadRequest, "The command is malformed", 400, 0, Final, false},
	{TooLarge, "The command is over a limit", 413, 1009, Final, false},
	{Forbidden, "The actor has no right to this", 403, 0, Final, false},
	{ActorMismatch, "The connection belongs to another actor", 403, 4403, Final, false},
	{IDConflict, "The id names another message", 422, 0, Final, false},
	{NotFound, "There is no such thing", 404, 0, Final, false},
	{OutcomeUnknown, "Too old to be told from a repeat", 410, 0, Final, false},
}

// Rules returns the table, in the order of docs/spec/protocol.md. The caller may change its copy.
func Rules() []Rule { return slices.Clone(rules) }

// Rule returns what follows from a code. One that version 1 doesn't know is answered like a server that can't answer,
// but isn't called retryable: a client goes by what the frame said.
func (c Code) Rule() Rule {
	for _, r := range rules {
		if r.Code == c {
			return r
		}
	}
	return Rule{Code: c, Title: "Unknown", Status: 500, Advice: Final}
}
