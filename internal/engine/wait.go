package engine

import (
	"context"

	"hapax/internal/room"
)

// SendWait sends a command and waits for its outcome. Where ctx ends first it is InProgress: the command goes on, and its
// outcome is nobody's until it is asked for again.
func (e *Engine) SendWait(ctx context.Context, cmd room.Command) room.Outcome {
	w := make(waiter, 1)
	e.Send(cmd, w)
	select {
	case o := <-w:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-w: // both at once: the outcome is worth more
		return o
	default:
		return e.turnedAway(room.InProgress)
	}
}

type waiter chan room.Outcome

func (w waiter) Complete(o room.Outcome) { w <- o }
