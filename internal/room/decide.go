package room

import "hapax/internal/idem"

// MaxSeq is the greatest seq of a room, 2^53 − 1: exact in every JSON reader.
const MaxSeq = 1<<53 - 1

// Decide judges a send by docs/spec/protocol.md, Judging 4 to 8 and 10, in that order. Steps 1 to 3 are the wire's, and
// step 9, the sender's rate, is the engine's: it has a clock, and only what is Accepted here may cost a token.
// Step 6 needs no rule: commits are serial in each room, so a repeat in flight is either in the same commit, where
// the store counts the first as known, or in a later one.
//
// Of Accepted the Result holds all but MessageID and Epoch, which are the store's to give. Of Duplicate and Conflict it is
// the first result as it was stored.
func Decide(f Facts, c *Command) Outcome {
	switch idem.Judge(f.Known, &f.Prior, &c.Fingerprint) {
	case idem.Same:
		return Outcome{Kind: Duplicate, Result: f.Prior}
	case idem.Other:
		return Outcome{Kind: Conflict, Result: f.Prior}
	}
	if f.Head == 0 && !Makeable(c.Key.Room) {
		return Outcome{Kind: BadName}
	}
	if idem.Lapsed(f.Now, f.RetentionMs, c.SentAt, f.Horizon) {
		return Outcome{Kind: OutcomeUnknown}
	}
	if c.Follows != "" && !f.FollowsHeld {
		return Outcome{Kind: OutOfOrder}
	}
	if f.Head >= MaxSeq {
		return Outcome{Kind: Full}
	}
	return Outcome{Kind: Accepted, Result: idem.Result{Fingerprint: c.Fingerprint, Seq: f.Head + 1, At: f.Now}}
}

// Makeable says whether a room may be made under a name (docs/spec/protocol.md, Rights): not where it would pass for a prefix in a token's
// pattern, nor where no URL can name it: routers take a segment that is one escaped slash for the path's end. Rooms that are there go on.
func Makeable(name string) bool {
	return name != "." && name != ".." && name != "/" && (name == "" || name[len(name)-1] != '*')
}

// Look judges a `status`: what is held of a key, whatever its content. Of the facts it takes Now, RetentionMs, Known, Prior
// and Horizon. NotFound promises that the key was not stored up to now.
func Look(f Facts, sentAt int64) Outcome {
	switch {
	case f.Known:
		return Outcome{Kind: Duplicate, Result: f.Prior}
	case idem.Lapsed(f.Now, f.RetentionMs, sentAt, f.Horizon):
		return Outcome{Kind: OutcomeUnknown}
	default:
		return Outcome{Kind: NotFound}
	}
}
