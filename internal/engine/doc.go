// Package engine is the pipeline: load → decide → commit → acknowledge → hint.
//
// It owns the goroutines, the bounds and the clock, and gathers commands into group commits. It decides nothing by
// itself: package room judges, package store applies.
//
// Invariants: an outcome is told only after the store said that it is synced; the rows of a room reach each
// subscriber in the order of seq, none missing and none twice; an author's ack goes out before that row's message.
//
// Read next: engine.go (a command's way), feed.go (a row's way to its readers).
package engine
