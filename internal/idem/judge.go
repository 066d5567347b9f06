package idem

// Verdict says how an action stands to what is remembered of its key.
type Verdict uint8

// The verdicts. The zero Verdict is that of a key of which nothing is held.
const (
	Unknown Verdict = iota // nothing is held of the key: a first send, or one too old to tell
	Same                   // the same action again
	Other                  // another action under the same key
)

// Judge compares an action's fingerprint with the result held of its key. prior counts only where known
// (docs/spec/protocol.md, Judging 4 and 5).
func Judge(known bool, prior *Result, fp *Fingerprint) Verdict {
	switch {
	case !known:
		return Unknown
	case prior.Fingerprint == *fp:
		return Same
	default:
		return Other
	}
}

// Lapsed reports that nobody can tell any more whether an action of an unknown key was stored: it was first tried
// more than retention before now, or not after the horizon of its room, so that its result may have been dropped
// (docs/spec/protocol.md, Judging 7). All are Unix milliseconds; horizon 0 means that nothing was dropped there.
//
// sentAt is the client's claim. Where it is absent (0) or lies ahead it counts as now: a claim can make an
// action older, never younger than the moment at which it is judged.
func Lapsed(now, retention, sentAt, horizon int64) bool {
	if sentAt == 0 || sentAt > now {
		sentAt = now
	}
	if horizon > 0 && sentAt <= horizon {
		return true
	}
	return sentAt < now-retention
}
