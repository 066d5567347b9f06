package storetest

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// model is what a store should hold, in the plainest form: every row ever stored, and what became of it.
type model struct {
	rooms map[string]*modelRoom
}

type modelRoom struct {
	rows    []modelRow
	horizon int64
}

type modelRow struct {
	room.Message
	result   idem.Result
	known    bool // its result is held
	readable bool // it is in the journal
}

func (m *model) room(name string) *modelRoom {
	if m.rooms[name] == nil {
		m.rooms[name] = &modelRoom{}
	}
	return m.rooms[name]
}

// find returns the result of a key: at most one row holds it.
func (r *modelRoom) find(key idem.Key) (idem.Result, bool) {
	for _, row := range r.rows {
		if row.known && row.Actor == key.Actor && row.ID == key.ID {
			return row.result, true
		}
	}
	return idem.Result{}, false
}

func (m *model) judge(b *store.Batch, cmd *room.Command) room.Outcome {
	r := m.room(cmd.Key.Room)
	f := room.Facts{Now: b.Now, RetentionMs: b.RetentionMs, Horizon: r.horizon, Head: int64(len(r.rows))}
	f.Prior, f.Known = r.find(cmd.Key)
	if cmd.Follows != "" {
		_, f.FollowsHeld = r.find(idem.Key{Actor: cmd.Key.Actor, ID: cmd.Follows})
	}
	return room.Decide(f, cmd)
}

// store adds an accepted row as the store under check numbered and named it.
func (m *model) store(cmd *room.Command, res idem.Result) {
	r := m.room(cmd.Key.Room)
	r.rows = append(r.rows, modelRow{
		Message: room.Message{Seq: res.Seq, MessageID: res.MessageID, Actor: cmd.Key.Actor, ID: cmd.Key.ID, Text: cmd.Text, Data: cmd.Data, At: res.At},
		result:  res, known: true, readable: true,
	})
}

func (m *model) purge(p store.Policy, now int64) (done store.Purged) {
	for _, r := range m.rooms {
		known := func(i int) *bool { return &r.rows[i].known }
		for _, i := range r.outdated(known, p.ResultRows, p.ResultAgeMs, now) {
			r.rows[i].known = false
			r.horizon = max(r.horizon, min(r.rows[i].At, now))
			done.Results++
		}
		readable := func(i int) *bool { return &r.rows[i].readable }
		for _, i := range r.outdated(readable, p.JournalRows, p.JournalAgeMs, now) {
			r.rows[i].readable = false
			done.Messages++
		}
	}
	return done
}

// outdated lists the rows to drop: each row that is too many; then, from the first that isn't, each that an old row follows or that is old itself,
// as long as no young row stands between.
func (r *modelRoom) outdated(held func(int) *bool, keep, age, now int64) (drop []int) {
	var future []int
	for i := range r.rows {
		if !*held(i) {
			continue
		}
		at := r.rows[i].At
		tooMany := keep > 0 && len(r.rows)-i > int(keep)
		switch {
		case tooMany, age > 0 && now-at >= age:
			drop = append(append(drop, future...), i)
			future = nil
		case age > 0 && at > now:
			future = append(future, i)
		default:
			return drop
		}
	}
	return drop
}

func (r *modelRoom) state() (st room.State) {
	st.Horizon = r.horizon
	for _, row := range r.rows {
		st.Head, st.HeadID = row.Seq, row.MessageID
		if !row.readable {
			st.Low, st.LowID = row.Seq, row.MessageID
		}
	}
	return st
}

func (r *modelRoom) readable() (rows []room.Message) {
	for _, row := range r.rows {
		if row.readable {
			rows = append(rows, row.Message)
		}
	}
	return rows
}

// check compares everything that can be read with the model.
func (m *model) check(t *rapid.T, s store.Store) {
	err := s.View(t.Context(), func(v store.View) error {
		names := slices.Sorted(maps.Keys(m.rooms))
		names = slices.DeleteFunc(names, func(n string) bool { return len(m.rooms[n].rows) == 0 })
		heads := must(v.Rooms("", 1000))(t)
		if len(heads) != len(names) {
			t.Fatalf("%d rooms, want %v", len(heads), names)
		}
		for i, name := range names {
			r := m.rooms[name]
			if heads[i].Name != name || heads[i].State != r.state() {
				t.Fatalf("room %q %+v, want %q %+v", heads[i].Name, heads[i].State, name, r.state())
			}
			rows, more, err := v.After(name, 0, 1<<20, 1<<30)
			if err != nil || more || fmt.Sprint(rows) != fmt.Sprint(r.readable()) {
				t.Fatalf("room %q: rows %v (more %v, %v), want %v", name, rows, more, err, r.readable())
			}
			for _, row := range r.rows {
				key := idem.Key{Actor: row.Actor, Room: name, ID: row.ID}
				want, held := r.find(key)
				if got, known, err := v.Result(key); err != nil || known != held || got != want {
					t.Fatalf("result of %v: %+v %v %v, want %+v %v", key, got, known, err, want, held)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
