// Package engine is the pipeline: load → decide → commit → acknowledge → hint.
//
// It owns the goroutines, the bounds and the clock, and gathers commands into group commits. It decides nothing by
// itself: package room judges, package store applies.
//
// # A command's way
//
// Send (commit.go) takes a look-up's token and appends to a bounded queue (queue.go). One goroutine takes all that waits, up to
// the size of a group, and has the store judge and store it in one synced transaction. Then it answers every
// command in order, hands the rows to the feeds of active rooms, flushes each connection once, and publishes
// hints for other processes.
//
// # A row's way
//
// A feed (feed.go) hands rows to a room's subscribers. It takes only the row that follows its head; a row or a hint from
// further ahead has it read what is missing from the store (load.go). A subscriber joins (join.go) by first
// holding its live rows back, then reading the room, then getting its answer and what was held back past it.
//
// Invariants: an outcome is told only after the store said that it is synced; the rows of a room reach each
// subscriber in the order of seq, none missing and none twice; an author's ack goes out before that row's message;
// nothing assumes that this is the store's only process.
//
// Locks are taken in the order members, feed; the queue's is taken alone. Methods of connections are called under a feed's
// mutex, so they neither block nor call the engine.
package engine
