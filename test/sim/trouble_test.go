package sim

import "testing"

// TestTroubleHappens: a simulation in which nothing goes wrong proves nothing. Over some seeds each kind of trouble comes about, and each kind of
// answer, so many times at least.
func TestTroubleHappens(t *testing.T) {
	t.Parallel()
	const seeds = 200
	seen := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		w := Run(NewPlan(seed), 0, 0)
		for what, n := range w.seen {
			seen[what] += n
		}
	}
	for what, least := range map[string]int{
		"judged accepted": 5000, "judged duplicate": 300, "judged conflict": 5, "judged out_of_order": 50, "judged rate_limited": 100,
		"judged outcome_unknown": 3, "refused forbidden": 100, "refused not_subscribed": 100, "subscribed for sending": 500, "refused session_invalid": 10,
		"refused unavailable": 100, "refused draining": 5,

		"crash " + unsynced + ", kept true": 10, "crash " + unsynced + ", kept false": 10, "crash " + synced + ", kept false": 20,
		"crash " + acknowledged + ", kept false": 20, "crash " + gathering + ", kept false": 20, "crash " + idle + ", kept false": 100,
		"commit failed, goes on true": 30, "commit failed, goes on false": 30, "drain": 20, "slow reader cut": 20, "restore": 5,
		"purged results": 300, "purged messages": 300, "session ran out": 20,

		"resume fits": 1000, "resume no_cursor": 300, "resume other_epoch": 10, "resume aged_out": 10, "delta with more behind it": 300,
		"status duplicate": 20, "status not_found": 100, "status outcome_unknown": 20, "status unavailable": 3,

		"frame of an ended connection": 100, "death within a Send": 50, "death within a store call": 30, "death between two effects": 100,
		"client's disk failed": 20, "copied device": 10, "row parked: attempts": 30, "row parked: id_conflict": 5, "row held: forbidden": 50,
		"row uncertain: outcome_unknown": 20, "retry of a row uncertain": 3, "evicted": 1, "added 3": 5, "added 4": 50,
		"Cancel, refused true": 30, "Cancel, refused false": 100, "Discard, refused false": 50,
	} {
		if seen[what] < least {
			t.Errorf("%q happened %d times in %d seeds, not %d", what, seen[what], seeds, least)
		}
	}
	if t.Failed() {
		for _, what := range sortedKeys(seen) {
			t.Logf("%6d %s", seen[what], what)
		}
	}
}
