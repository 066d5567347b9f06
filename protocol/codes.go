package protocol

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
