// Package memory carries frames inside one process, for tests and examples: the client dials, the test is the server.
//
// Invariant: a frame written before an end is closed is read before the end of the connection is.
package memory

import (
	"context"
	"sync"

	"hapax/client/transport"
)

// depth is how many frames one direction holds before a writer waits, as a network's buffers do.
const depth = 1024

// Network is a Dialer whose other side is Accept.
type Network struct {
	mu      sync.Mutex
	refuse  error
	backlog chan *End
}

// New returns a network.
func New() *Network { return &Network{backlog: make(chan *End)} }

// Refuse makes dials fail with err from now on; nil lets them through again.
func (n *Network) Refuse(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = err
}

// Dial implements transport.Dialer. It waits for an Accept.
func (n *Network) Dial(ctx context.Context, _ string) (transport.Conn, error) {
	n.mu.Lock()
	err := n.refuse
	n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	client, server := Pipe()
	select {
	case n.backlog <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the server's end of the next dial.
func (n *Network) Accept(ctx context.Context) (*End, error) {
	select {
	case e := <-n.backlog:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// End is one end of a connection.
type End struct {
	in, out chan []byte
	closed  chan struct{} // of both
	once    *sync.Once
}

// Pipe returns the two ends of a connection.
func Pipe() (*End, *End) {
	a, b := make(chan []byte, depth), make(chan []byte, depth)
	closed, once := make(chan struct{}), new(sync.Once)
	return &End{a, b, closed, once}, &End{b, a, closed, once}
}

// Read implements transport.Conn.
func (e *End) Read(ctx context.Context) ([]byte, error) {
	select {
	case f := <-e.in:
		return f, nil
	default:
	}
	select {
	case f := <-e.in:
		return f, nil
	case <-e.closed:
		return nil, transport.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements transport.Conn.
func (e *End) Write(ctx context.Context, frames [][]byte) error {
	for _, f := range frames {
		select {
		case <-e.closed:
			return transport.ErrClosed
		default:
		}
		select {
		case e.out <- append([]byte(nil), f...):
		case <-e.closed:
			return transport.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close implements transport.Conn. It ends both ends.
func (e *End) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}
