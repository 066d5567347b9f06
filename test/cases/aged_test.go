package cases

import (
	"context"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// aged is a store all of whose rooms have had so many rows before, and hold none of these: nobody can wait for a room's
// 9 007 199 254 740 990th message.
type aged struct {
	store.Store
	by int64
}

const agedID = "aged"

// Commit implements store.Store.
func (a aged) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	judge := b.Judge
	older := *b
	older.Judge = func(f room.Facts, c *room.Command) room.Outcome {
		f.Head += a.by
		if f.Known {
			f.Prior.Seq += a.by
		}
		return judge(f, c)
	}
	outcomes, err := a.Store.Commit(ctx, &older)
	for i := range outcomes {
		if outcomes[i].Kind == room.Accepted { // others bear what the judge was told
			outcomes[i].Result.Seq += a.by
		}
	}
	return outcomes, err
}

// View implements store.Store.
func (a aged) View(ctx context.Context, f func(store.View) error) error {
	return a.Store.View(ctx, func(v store.View) error { return f(agedView{v, a.by}) })
}

type agedView struct {
	store.View
	by int64
}

func (v agedView) Result(key idem.Key) (idem.Result, bool, error) {
	r, ok, err := v.View.Result(key)
	r.Seq += v.by
	return r, ok, err
}

func (v agedView) state(s room.State) room.State {
	s.Head += v.by
	if s.HeadID == "" {
		s.HeadID = agedID
	}
	s.Low, s.LowID = s.Low+v.by, agedID
	return s
}

func (v agedView) Room(name string) (room.State, error) {
	s, err := v.View.Room(name)
	return v.state(s), err
}

func (v agedView) MessageID(name string, seq int64) (string, bool, error) {
	return v.View.MessageID(name, seq-v.by)
}

func (v agedView) After(name string, after int64, limit, maxBytes int) ([]room.Message, bool, error) {
	rows, more, err := v.View.After(name, max(0, after-v.by), limit, maxBytes)
	return v.rows(rows), more, err
}

func (v agedView) Before(name string, before int64, limit, maxBytes int) ([]room.Message, bool, error) {
	rows, more, err := v.View.Before(name, max(1, before-v.by), limit, maxBytes)
	return v.rows(rows), more, err
}

func (v agedView) rows(rows []room.Message) []room.Message {
	for i := range rows {
		rows[i].Seq += v.by
	}
	return rows
}
