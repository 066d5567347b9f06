// Package admin serves operators: whether the server lives and is ready, its metrics, profiles when asked for, and, on a socket
// that only the server's own user may open, checkpoints of the store.
//
// It owns the readiness: Health is told by others what holds the server back, and tells it with the reason. Invariant: the
// listener answers nothing that could change or show a room.
//
// Read next: health.go, server.go, socket.go.
package admin
