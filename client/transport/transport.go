// Package transport is the contract between the client and a network that carries frames: whole messages, in order, each at
// most once, until the connection ends.
//
// It owns no implementation: package ws speaks WebSocket, package memory connects two ends in one process for tests.
package transport

import (
	"context"
	"errors"
)

// ErrClosed is the error of a connection that was closed from this end.
var ErrClosed = errors.New("transport: closed")

// Dialer opens connections.
type Dialer interface {
	// Dial opens a connection. It gives up when ctx ends; the connection outlives ctx.
	Dial(ctx context.Context, url string) (Conn, error)
}

// Limited is what a Conn may be besides: one whose reading is bounded.
type Limited interface {
	// SetReadLimit sets how many bytes a frame may have from now on; a longer one ends the connection. It is called by
	// whoever reads, between two Reads.
	SetReadLimit(bytes int64)
}

// Conn is an open connection. Read, Write and Close may be called from three goroutines at once, each from one.
type Conn interface {
	// Read returns the next frame, which the caller may keep. An error ends the connection.
	Read(ctx context.Context) ([]byte, error)
	// Write sends frames in their order, in as few writes to the network as it can. Where it fails, any of them may
	// have left, wholly or in part.
	Write(ctx context.Context, frames [][]byte) error
	// Close ends the connection at once. Read and Write return soon after.
	Close() error
}
