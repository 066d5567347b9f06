package memory

import (
	"context"
	"maps"
	"slices"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// View calls f with the disk as it stands; commits wait until f returns.
func (s *Store) View(ctx context.Context, f func(store.View) error) error {
	s.disk.mu.RLock()
	defer s.disk.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return f(view{rooms: s.disk.rooms})
}

type view struct {
	rooms map[string]*ledger
}

func (v view) Result(key idem.Key) (idem.Result, bool, error) {
	l := v.rooms[key.Room]
	if l == nil {
		return idem.Result{}, false, nil
	}
	res, ok := l.results[key]
	return res, ok, nil
}

func (v view) Room(name string) (room.State, error) {
	if l := v.rooms[name]; l != nil {
		return l.state, nil
	}
	return room.State{}, nil
}

func (v view) MessageID(name string, seq int64) (string, bool, error) {
	l := v.rooms[name]
	if l == nil || seq <= l.state.Low || seq > l.state.Head {
		return "", false, nil
	}
	return l.rows[seq-l.state.Low-1].MessageID, true, nil
}

func (v view) After(name string, after int64, limit, maxBytes int) ([]room.Message, bool, error) {
	l := v.rooms[name]
	if l == nil || after >= l.state.Head {
		return nil, false, nil
	}
	from := l.rows[max(0, after-l.state.Low):]
	n := fitting(slices.All(from), limit, maxBytes)
	return copied(from[:n]), n < len(from), nil
}

func (v view) Before(name string, before int64, limit, maxBytes int) ([]room.Message, bool, error) {
	l := v.rooms[name]
	if l == nil || before <= l.state.Low+1 {
		return nil, false, nil
	}
	upTo := l.rows[:min(int64(len(l.rows)), before-l.state.Low-1)]
	n := fitting(slices.Backward(upTo), limit, maxBytes)
	return copied(upTo[len(upTo)-n:]), n < len(upTo), nil
}

// fitting counts the rows that a page may hold: limit at most, maxBytes of text and data at most, but one at least.
func fitting(rows func(func(int, room.Message) bool), limit, maxBytes int) (n int) {
	size := 0
	for _, m := range rows {
		size += len(m.Text) + len(m.Data)
		if n >= limit || (n > 0 && size > maxBytes) {
			return n
		}
		n++
	}
	return n
}

// copied keeps readers from sharing a buffer with the store.
func copied(rows []room.Message) []room.Message {
	if len(rows) == 0 {
		return nil
	}
	out := slices.Clone(rows)
	for i := range out {
		out[i].Data = clone(out[i].Data)
	}
	return out
}

func (v view) Rooms(after string, limit int) ([]store.RoomHead, error) {
	var heads []store.RoomHead
	for _, name := range slices.Sorted(maps.Keys(v.rooms)) {
		if name > after && len(heads) < limit {
			heads = append(heads, store.RoomHead{Name: name, State: v.rooms[name].state})
		}
	}
	return heads, nil
}
