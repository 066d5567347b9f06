package limit

import (
	"log/slog"
	"sync"
	"time"
)

// tellEvery is how often at most the log has a line about one reason; the line says how many there were since the last.
const tellEvery = time.Second

// Teller counts what was closed or refused, by reason, and writes a sampled line about it. Reasons are from a fixed set.
type Teller struct {
	log   *slog.Logger
	count func(reason string)

	mu   sync.Mutex
	told map[string]*told
}

type told struct {
	at    time.Time
	since int
}

// NewTeller returns a teller. count is called for each, nil: for none.
func NewTeller(log *slog.Logger, count func(reason string)) *Teller {
	return &Teller{log: log, count: count, told: make(map[string]*told)}
}

// Tell counts one, and writes a line where the last about its reason is a second old.
func (t *Teller) Tell(reason, text string, c Client, more ...any) {
	if t == nil {
		return
	}
	if t.count != nil {
		t.count(reason)
	}
	now := time.Now()
	t.mu.Lock()
	last := t.told[reason]
	if last == nil {
		last = &told{}
		t.told[reason] = last
	}
	last.since++
	n := last.since
	due := now.Sub(last.at) >= tellEvery
	if due {
		last.at, last.since = now, 0
	}
	t.mu.Unlock()
	if due && t.log != nil {
		t.log.Info(text, append([]any{"reason", reason, "address", c.String(), "times", n}, more...)...)
	}
}
