// Package store is the contract between the client and whatever keeps its rows: marks, outbox, messages, cursors.
//
// # The contract in words
//
// Durability. A method that changes something returns without an error only once the change is synced: it survives
// kill -9 and power loss. With an error, either all of the change is there or nothing is.
//
// Ownership. A store belongs to one actor on one server, noted by Bind at the first welcome. With another, Bind answers
// ErrWrongStore and nothing changes.
//
// One drainer. Any number of handles, in any number of processes, may add, list, cancel, retry and discard. One of
// them drains: Drain takes a lock that the kernel frees when its process dies, raises the fence, and puts rows that a
// dead drainer left Sending back to Queued, as Sending is never believed after a restart. Whatever the drainer changes
// goes through Apply and names that fence; a drainer that lost its lock without noticing changes nothing.
//
// Guards. A row has a revision, raised by exactly one with each change. A Step names the revision that it read and is
// applied only if the row is still there with it; the Result tells how the row is now. Changes from outside the drainer
// are guarded by the row's state, inside the transaction. Nothing but Add creates a row, and a position is never given twice.
//
// Cursor. A room's cursor changes only as a whole, and in the transaction that stores the rows which it covers. The
// same transaction settles this actor's outbox rows among them.
//
// Feed. Events are hints. A message gets a position of this store once a cursor covers it, rising, per room in the order
// of seq; an app reads Feed after a position of its own, so a crash between storing and handling loses none. A message
// that an ack alone stored has no position until its row arrives, but shows in View at once.
//
// Nothing vanishes. No migration or Reset deletes an outbox row; one that can't be read is set aside with its bytes,
// counted and reported. Only Evict removes settled rows unasked, and it returns them.
//
// Times are Unix milliseconds: of the server's clock where a comment says so, else of this machine's wall clock.
//
// Read next: store.go (the interface), row.go (outbox rows), change.go (what a drainer may change), message.go.
// Packages: memory (every platform), sqlite (files), storetest (one conformance suite for both).
package store
