// Package pebble keeps rooms, and the gateway's log, books and outbox, in a folder: the embedded store.
//
// It owns the folder and everything in it. One process has it open, one goroutine writes at a time, any number read.
//
// Invariants. A message, its key's result and its seq are in one batch of the database, which is synced before Commit returns. Readers
// hold a snapshot that is taken after a sync and before the next write: what they see is on disk. The first write or sync that fails breaks
// the store, and nothing written after it reaches the disk. A purge drops a result together with raising the horizon, and never anything but a
// room's low end.
//
// Rows (keys.go): a result stands under its key, a message under its seq. The journal serves the purge as index of results by
// seq: a row that ages out before its result is rewritten without body, and goes when both are past. Two low marks per room say how far.
//
// The gateway's tables (bookkeys.go) are written by the same writer under the same rules: enter.go is a commit's way, entering.go what it reads, entered.go what
// it writes. A row and all that it is found by change in one batch; verify_books.go holds them against each other.
//
// Whether a folder is the same that it was, or a copy, or went back, is told by a mark and a head note (mark.go, note.go).
//
// Read next: commit.go (a commit's way), view.go, purge.go, guard.go (what happens when the disk fails), open.go.
package pebble
