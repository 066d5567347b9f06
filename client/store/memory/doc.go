// Package memory is the store that keeps nothing past its process: for tests, for wasm, for clients that need no outbox
// after a crash. It behaves as the sqlite store does, which one conformance suite shows.
//
// A Medium stands for the file; handles opened on it stand for processes. Crash ends them all as kill -9 would.
//
// Invariant: a method changes all that it says or nothing, as it checks before it changes; no byte of a caller is kept or
// handed out without a copy.
//
// Read next: medium.go, outbox.go, apply.go, view.go.
package memory
