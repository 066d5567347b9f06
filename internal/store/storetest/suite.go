package storetest

import (
	"testing"

	"hapax/internal/store"
)

// Place is where a store lies. It outlives closing.
type Place interface {
	// Open opens the store there. The suite closes it.
	Open(t testing.TB) store.Store
	// TryOpen is Open for a place that may be in use.
	TryOpen() (store.Store, error)
	// Plant sets the head of a room to which nobody wrote, as though all rows up to it had aged out. No store is open.
	Plant(t testing.TB, name string, head int64, headID string)
}

// Run checks a store against the contract. fresh makes a new, empty place.
func Run(t *testing.T, fresh func(testing.TB) Place) {
	RunFixed(t, fresh)
	t.Run("Property", func(t *testing.T) { property(t, fresh) })
}

// RunFixed is Run without the random runs, for places that are slow to make.
func RunFixed(t *testing.T, fresh func(testing.TB) Place) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, Place)
	}{
		{"FirstDuplicateConflict", firstDuplicateConflict},
		{"OneBatchJudgedInOrder", oneBatchJudgedInOrder},
		{"Follows", follows},
		{"KeysAreThreeColumns", keysAreThreeColumns},
		{"OddNames", oddNames},
		{"BuffersAreNotShared", buffersAreNotShared},
		{"OneLastSeq", oneLastSeq},
		{"MessageIDsNeverTwice", messageIDsNeverTwice},
		{"ReopenKeepsAll", reopenKeepsAll},
		{"LockedThenFree", lockedThenFree},
		{"ClosedAnswersErrClosed", closedAnswersErrClosed},
		{"CancelledStoresNothing", cancelledStoresNothing},
		{"NothingAcceptedNothingChanged", nothingAcceptedNothingChanged},
		{"PagesAfterAndBefore", pagesAfterAndBefore},
		{"RoomsByName", roomsByName},
		{"ResultOutlivesMessage", resultOutlivesMessage},
		{"PurgeByNumber", purgeByNumber},
		{"PurgeByAgeAndHorizon", purgeByAgeAndHorizon},
		{"PurgeKeepsDecisions", purgeKeepsDecisions},
		{"PurgeOfFutureRows", purgeOfFutureRows},
		{"ViewsAreWholeCommits", viewsAreWholeCommits},
		{"CommitsFromManyGoroutines", commitsFromManyGoroutines},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, fresh(t)) })
	}
}
