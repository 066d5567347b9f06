// Package serve wires the rooms of the server together, and owns the order in which they start and stop.
//
// Start: the store (and with it the folder's lock), whose tokens are believed, the engine, the listeners; then ready. Stop: not
// ready, no new connections, clients told when to come back, commits finished, connections closed, engine, store.
//
// Invariant: nothing is served before the store is open, and the store is closed last, after the last commit. A store
// that can't go on ends the process: only a new opening knows what the disk kept.
//
// Read next: run.go (the order), open.go (the parts), stop.go.
package serve
