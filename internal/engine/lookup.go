package engine

import (
	"context"
	"time"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Status implements Rooms. A key that isn't stored but is under way is waited for, so that NotFound is never said of a
// send that came before; where that takes longer than Options.StatusWait it is InProgress.
func (e *Engine) Status(ctx context.Context, key idem.Key, sentAt int64) room.Outcome {
	o := e.status(ctx, key, sentAt)
	e.stats.asked(o.Kind)
	return o
}

func (e *Engine) status(ctx context.Context, key idem.Key, sentAt int64) room.Outcome {
	if e.readable() != nil {
		return e.turnedAway(room.Unavailable)
	}
	if limited, ok := e.overLooks(key.Actor); ok {
		return limited
	}
	// First who carries it, then the store: what was carried before is in the store by then.
	told := e.queue.carrying(&key)
	o := e.look(ctx, key, sentAt)
	if told == nil || o.Kind == room.Duplicate || o.Kind == room.Unavailable {
		return o
	}
	t := time.NewTimer(e.o.StatusWait)
	defer t.Stop()
	select {
	case <-told:
		return e.look(ctx, key, sentAt)
	case <-t.C:
	case <-ctx.Done():
	}
	return e.turnedAway(room.InProgress)
}

func (e *Engine) look(ctx context.Context, key idem.Key, sentAt int64) room.Outcome {
	now, _ := e.o.Clock.Now()
	f := room.Facts{Now: now, RetentionMs: e.o.RetentionMs}
	err := e.view(ctx, func(v store.View) (err error) {
		if f.Prior, f.Known, err = v.Result(key); err != nil || f.Known {
			return err
		}
		s, err := v.Room(key.Room)
		f.Horizon = s.Horizon
		return err
	})
	if err != nil {
		return e.turnedAway(room.Unavailable)
	}
	return room.Look(f, sentAt)
}

// History implements Rooms.
func (e *Engine) History(ctx context.Context, name string, before int64, p Page) (rows []room.Message, more bool, err error) {
	if err := e.readable(); err != nil {
		return nil, false, err
	}
	err = e.view(ctx, func(v store.View) (err error) {
		rows, more, err = e.before(v, name, before, max(1, bounded(p.Rows, e.o.PageRows)), p.Bytes)
		return err
	})
	return rows, more, err
}

// List implements Rooms.
func (e *Engine) List(ctx context.Context, after string, limit int) (rooms []RoomHead, err error) {
	if err := e.readable(); err != nil {
		return nil, err
	}
	err = e.view(ctx, func(v store.View) (err error) {
		rooms, err = v.Rooms(after, bounded(limit, e.o.ListRooms))
		return err
	})
	return rooms, err
}
