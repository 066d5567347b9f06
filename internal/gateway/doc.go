// Package gateway owns the online rule (docs/spec/gateway.md): what one delivery of an event, one change of the
// registry, or one outcome of a forwarding does to the log and the books.
//
// It is pure: no clock, disk, network, lock or logger. Take is given a Command, the moment, and the Rows of a commit; it
// judges by package settle, appends records to the log, and changes rows. A store lends the rows and writes what changed, all in
// one transaction, so that log, books and outbox can't part.
//
// Invariants: records are numbered 1, 2, 3 … and each holds the hash of the one before; the books equal a fold over
// the log; a key's events rise in seen_at; exporting the log and settling it gives the online report of each currency.
//
// Read next: take.go (one command), event.go (one delivery), record.go (the bytes of the log), rows.go (what is kept).
package gateway
