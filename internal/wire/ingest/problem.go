package ingest

import (
	"fmt"
	"net/http"
	"slices"

	"hapax/internal/gateway"
)

// Code names why a delivery was refused or rejected.
type Code string

// The codes. Those that package protocol has too mean the same there.
const (
	RateLimited     Code = "rate_limited"
	TooLarge        Code = "too_large"
	Unauthorized    Code = "unauthorized"
	UnsupportedType Code = "unsupported_type"
	IncompleteBody  Code = "incomplete_body"
	BadBody         Code = "bad_body"
	BadKey          Code = "bad_key"
	BadField        Code = "bad_field"
	TimeAhead       Code = "time_ahead"
	TimeBehind      Code = "time_behind"
	UnknownKey      Code = "unknown_key"
	BadAmount       Code = "bad_amount"
	Mismatch        Code = "mismatch"
	Unavailable     Code = "unavailable"
	Unproved        Code = "unproved"
	Draining        Code = "draining"
)

// Retry says what a sender does about a problem.
type Retry string

// The kinds of advice (docs/spec/gateway.md, Ingest).
const (
	SameKey Retry = "same_key" // the event may be sent again with its key: later where the problem is retryable, else once what the detail names is put right
	NewKey  Retry = "new_key"  // under this key never: another event has it
	Never   Retry = "never"    // this request will never do
)

// Rule is what follows from a code.
type Rule struct {
	Code      Code
	Title     string // for people, the same for every occurrence
	Status    int    // HTTP status; of a decision: where the source doesn't ask for another
	Retry     Retry
	Retryable bool // the same request may succeed later, without anybody doing anything about it
}

// Type is the URI of the code's problem documents (RFC 9457).
func (r Rule) Type() string { return "urn:hapax:problem:" + string(r.Code) }

// rules is the one table of codes.
var rules = []Rule{
	{RateLimited, "Too many deliveries", http.StatusTooManyRequests, SameKey, true},
	{TooLarge, "The delivery is over a limit", http.StatusRequestEntityTooLarge, Never, false},
	{Unauthorized, "No such source, or no good signature", http.StatusUnauthorized, SameKey, false},
	{UnsupportedType, "The source doesn't take this kind of content", http.StatusUnsupportedMediaType, Never, false},
	{IncompleteBody, "The body did not arrive whole", http.StatusBadRequest, SameKey, false},
	{BadBody, "The body can't be read", http.StatusBadRequest, Never, false},
	{BadKey, "The event has no valid key", http.StatusBadRequest, Never, false},
	{BadField, "A field of the event is none", http.StatusBadRequest, Never, false},
	{TimeAhead, "The event is dated too far ahead", http.StatusBadRequest, SameKey, false},
	{TimeBehind, "The event is dated too far back", http.StatusBadRequest, SameKey, false},
	{UnknownKey, "The key isn't registered", http.StatusUnprocessableEntity, SameKey, false},
	{BadAmount, "The amount is none", http.StatusUnprocessableEntity, SameKey, false},
	{Mismatch, "The key names another event", http.StatusUnprocessableEntity, NewKey, false},
	{Unavailable, "The server can't answer now", http.StatusServiceUnavailable, SameKey, true},
	{Unproved, "The server's books are being proved", http.StatusServiceUnavailable, SameKey, true},
	{Draining, "The server is going down", http.StatusServiceUnavailable, SameKey, true},
}

// Rules returns the table. The caller may change its copy.
func Rules() []Rule { return slices.Clone(rules) }

// Rule returns what follows from a code; every code has one.
func (c Code) Rule() Rule {
	for _, r := range rules {
		if r.Code == c {
			return r
		}
	}
	panic("ingest: the code " + string(c) + " has no rule")
}

// rejections are the codes of the decisions that are problems.
var rejections = map[gateway.Decision]Code{
	gateway.UnknownKey: UnknownKey, gateway.BadAmount: BadAmount, gateway.Mismatch: Mismatch,
}

// Problem is why a delivery isn't taken.
type Problem struct {
	Code         Code
	Detail       string // of this occurrence; it names fields by the configuration's words and shows nothing of the body
	RetryAfterMs int64  // where retryable
}

func problem(code Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Detail: fmt.Sprintf(format, args...)}
}
