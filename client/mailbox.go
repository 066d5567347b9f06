package client

import (
	"sync"

	"hapax/client/session"
)

// mailbox holds what the app's goroutines ask of the loop. Its length is bounded by them: each that waits for an answer has one
// request in it.
type mailbox struct {
	mu     sync.Mutex
	inputs []session.Input
	shut   bool
	signal chan struct{}
}

func (b *mailbox) init() { b.signal = make(chan struct{}, 1) }

// put adds inputs; false when the loop has ended.
func (b *mailbox) put(in ...session.Input) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shut {
		return false
	}
	b.inputs = append(b.inputs, in...)
	select {
	case b.signal <- struct{}{}:
	default:
	}
	return true
}

// take empties the box.
func (b *mailbox) take() []session.Input {
	b.mu.Lock()
	defer b.mu.Unlock()
	in := b.inputs
	b.inputs = nil
	return in
}

// close refuses all that comes from now on and returns what was left.
func (b *mailbox) close() []session.Input {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shut = true
	return b.inputs
}
