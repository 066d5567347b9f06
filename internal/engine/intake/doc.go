// Package intake is the gateway's pipeline: commands from many goroutines are gathered into groups, each entered by one synced commit
// of the store, and answered in order. It judges nothing: the rule is package gateway's, and the store's transaction runs it.
//
// Invariant: nobody is answered before the commit that carries the command has been synced; what one caller enters together is in one
// commit; after a commit that the store can't recover from everybody is answered ErrUnavailable until the store has been opened anew.
//
// It has a queue of its own beside that of the rooms (package engine): here a caller waits for a whole batch and nobody looks for a
// command in flight, so what the two have in common is a mutex and a slice.
//
// Read next: api.go (what the wire sees), queue.go, commit.go.
package intake
