// Package ws serves the room protocol over WebSocket, subprotocol hapax.v1: bytes and identity to commands, outcomes and
// rows to frames.
//
// It owns the connections: one goroutine each that reads, and one that writes only while there is something to write. Answers
// and rows are appended to a bounded buffer of finished frames and leave in as few writes as the network takes; a connection
// whose buffer is full is cut (slow_reader) and catches up by its cursor, so nobody waits for it.
//
// Invariants: frames leave in the order in which they were appended, whole; after the first hello the actor of a connection
// never changes; a command over its limits, without a session or without the right never reaches the engine
// (docs/spec/protocol.md, Judging 1–3; the rest is the engine's).
//
// Read next: server.go (who gets in), conn.go (a connection's life), commands.go (a command's way), outbound.go (a frame's way).
package ws
