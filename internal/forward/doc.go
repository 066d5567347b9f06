// Package forward carries accepted events from the outbox to their destinations (docs/spec/gateway.md, Forwarding).
//
// A try is on disk before its request leaves, and its outcome after; between the two a crash costs one try and never an event.
// A destination gets an event at least once, always under the same Idempotency-Key, and the events of one key one after the other: the
// store holds back the next one.
//
// One goroutine, the dispatcher, owns all state: it learns from the log which sources have something due, reads the due rows, notes
// outcomes and tries in one commit, and sets off one goroutine for each request. What is in memory is bounded by the number
// of sources and of requests under way, never by the length of the outbox.
//
// Invariants: no request leaves before its Attempt is synced; at most one request of an event is under way; a connection is only
// ever made to an address that was checked at that moment; nothing of a body or a secret gets into a log line or a reason.
//
// Read next: dispatch.go (the loop), lane.go (one source: its rows, its rest), send.go (one request), outcome.go (what an answer
// means), dial.go and address.go (what may be dialled).
package forward
