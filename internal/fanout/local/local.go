// Package local is the hint bus of a single process: a hint reaches each listener in the publisher's own goroutine.
//
// Invariant: a Publish that begins after stop has returned doesn't call that listener. Nothing is queued, so nothing is
// lost and nothing needs a goroutine.
//
// Read next: package fanouttest, which every bus passes.
package local

import (
	"slices"
	"sync"

	"hapax/internal/fanout"
)

// Bus carries hints inside one process. Use New.
type Bus struct {
	mu        sync.RWMutex
	listeners []*listener // replaced as a whole, never changed in place
	closed    bool
}

type listener struct{ f func(fanout.Hint) }

var _ fanout.Bus = (*Bus)(nil)

// New returns a bus without listeners.
func New() *Bus { return &Bus{} }

// Publish calls every listener before it returns. On a closed bus it does nothing.
func (b *Bus) Publish(h fanout.Hint) {
	b.mu.RLock()
	listeners := b.listeners
	b.mu.RUnlock()
	for _, l := range listeners {
		l.f(h)
	}
}

// Listen registers f. It may be called, as may stop, from within a listener: no lock is held there.
func (b *Bus) Listen(f func(fanout.Hint)) (stop func()) {
	l := &listener{f}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.listeners = append(slices.Clone(b.listeners), l)
	}
	return func() { b.drop(l) }
}

func (b *Bus) drop(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.listeners, l); i >= 0 {
		b.listeners = slices.Delete(slices.Clone(b.listeners), i, i+1)
	}
}

// Close drops all listeners. It is safe to call twice.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.listeners = true, nil
	return nil
}
