package intake

import (
	"errors"
	"fmt"
	"runtime"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// commandCost is what a waiting command takes beside its texts: its fields, and what a commit makes of it.
const commandCost = 512

// cost is what commands take while they wait.
func cost(commands []gateway.Command) int {
	n := 0
	for _, c := range commands {
		n += commandCost
		e, ok := c.(*gateway.Event)
		if !ok {
			continue
		}
		n += len(e.Key) + len(e.Amount)
		if e.Body == nil {
			continue
		}
		n += len(e.Body.Bytes)
		for _, h := range e.Body.Headers {
			n += len(h.Name) + len(h.Value)
		}
	}
	return n
}

// commits takes group after group until the queue is drained.
func (i *Intake) commits() {
	defer close(i.committed)
	var commands []gateway.Command // used again and again
	for i.queue.await() {
		// Those who were just answered, and whoever woke this goroutine, get to queue what they have: a sync is dear,
		// and the group is closed once it is taken.
		runtime.Gosched()
		g := i.queue.take()
		commands = commands[:0]
		for _, t := range g.tickets {
			commands = append(commands, t.commands...)
		}
		outcomes, err := i.commit(commands)
		tell(g, outcomes, err)
		if err == nil && anyDue(commands, outcomes) {
			select {
			case i.queued <- struct{}{}:
			default: // the one that is there already says the same
			}
		}
		clear(commands)
	}
}

// commit enters commands. An error means that nothing of them may be told.
func (i *Intake) commit(commands []gateway.Command) ([]gateway.Outcome, error) {
	if i.broken.Load() {
		return nil, ErrUnavailable
	}
	began := i.o.Now()
	outcomes, err := i.books.Enter(i.ctx, began.UnixMilli(), commands)
	if err == nil && len(outcomes) != len(commands) {
		err = fmt.Errorf("intake: the store gave %d outcomes for %d commands", len(outcomes), len(commands))
	}
	i.stats.commit(i.o.Now().Sub(began), len(commands), err)
	switch {
	case err == nil:
		return outcomes, nil
	case errors.Is(err, store.ErrFull): // the store says when that begins and ends
	case errors.Is(err, store.ErrAgain):
		i.o.Log.Warn("a commit failed; the store goes on", "commands", len(commands), "error", err)
	default:
		i.fail(err)
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// tell answers everybody of a group. Each gets a piece of the outcomes that nobody else sees.
func tell(g *group, outcomes []gateway.Outcome, err error) {
	for _, t := range g.tickets {
		if err != nil {
			t.done <- answer{err: err}
			continue
		}
		n := len(t.commands)
		t.done <- answer{outcomes: outcomes[:n:n]}
		outcomes = outcomes[n:]
	}
}

// anyDue reports whether a commit may have made an outbox row due: an event that was accepted or repeats one, the end of a delivery,
// which lets the next one of its key go, a replay. It may say so once too often.
func anyDue(commands []gateway.Command, outcomes []gateway.Outcome) bool {
	for i, c := range commands {
		if outcomes[i].Kind != gateway.Done {
			continue
		}
		switch c.(type) {
		case *gateway.Event:
			if !outcomes[i].Decision.Rejected() {
				return true
			}
		case *gateway.Settled, *gateway.Replay, *gateway.Untried:
			return true
		}
	}
	return false
}
