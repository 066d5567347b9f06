package fanouttest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"hapax/internal/fanout"
)

// ear is a listener that remembers what it heard.
type ear struct {
	mu    sync.Mutex
	heard []fanout.Hint
	more  chan struct{} // holds one token when something was heard
	stop  func()
}

func listen(b fanout.Bus) *ear {
	e := &ear{more: make(chan struct{}, 1)}
	e.stop = b.Listen(e.hear)
	return e
}

func (e *ear) hear(h fanout.Hint) {
	e.mu.Lock()
	e.heard = append(e.heard, h)
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
}

func (e *ear) all() []fanout.Hint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heard)
}

// awaits publishes h until the ear has heard it: single hints may be lost.
func (e *ear) awaits(t *testing.T, from fanout.Bus, h fanout.Hint) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	again := time.NewTicker(pause)
	defer again.Stop()
	from.Publish(h)
	for !slices.Contains(e.all(), h) {
		select {
		case <-e.more:
		case <-again.C:
			from.Publish(h)
		case <-end.C:
			t.Fatalf("hint %+v didn't arrive within %v", h, patience)
		}
	}
}
