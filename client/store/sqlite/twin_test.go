//go:build !js

package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/protocol"
)

// twin does the same things to a SQLite store on a disk that fails and to one in memory that doesn't, and compares all
// that they hold. What failed may be there or not, but whole: so two states are allowed after it, and one else.
type twin struct {
	testing.TB
	ctx    context.Context
	rng    *rand.Rand
	pragma string
	disk   *disk
	st     *Store
	before *memory.Medium // as of the last thing that was done
	after  *memory.Medium // and with the one that failed
	mem    *memory.Store
	device ids.Device
	fence  int64 // of st; no two drainers have the same
	shadow int64 // of mem
	clock  int64
	n      uint64
	last   ids.Ordinal    // the greatest ordinal ever handed out
	kinds  map[string]int // what was tried, and how often
}

func newTwin(tb testing.TB, seed uint64) *twin {
	return &twin{TB: tb, kinds: map[string]int{}, ctx: tb.Context(), rng: rand.New(rand.NewPCG(seed, 1)), clock: 1000, pragma: `PRAGMA wal_autocheckpoint = 12`}
}

// become makes a medium the one that nothing has failed on.
func (w *twin) become(m *memory.Medium) {
	m.Crash()
	w.before, w.after = m, m
	w.mem = memory.Open(m, memory.Options{Limits: w.limits()})
}

func (w *twin) limits() store.Limits { return store.Limits{}.OrDefault() }

// drain checks that the fence rises above every one that was told, also where a drain failed midway.
func (w *twin) drain() error {
	return w.do(func(st store.Store) (any, error) {
		fence, err := st.Drain(w.ctx)
		switch {
		case err != nil:
		case st != store.Store(w.st):
			w.shadow = fence
		case fence <= w.fence:
			w.Fatalf("fence %d after %d", fence, w.fence)
		default:
			w.fence = fence
		}
		return nil, err
	})
}

// fenceOf returns the fence under which a store is drained.
func (w *twin) fenceOf(st store.Store) int64 {
	if st == store.Store(w.st) {
		return w.fence
	}
	return w.shadow
}

// do does one thing to both.
func (w *twin) do(f func(store.Store) (any, error)) error {
	w.before = w.after.Copy()
	want, wantErr := f(w.mem)
	got, err := f(w.st)
	if err != nil && wantErr == nil {
		return err
	}
	w.before = w.after
	if fmt.Sprint(got, err) != fmt.Sprint(want, wantErr) {
		w.Fatalf("SQLite answers %v, %v\nmemory %v, %v", got, err, want, wantErr)
	}
	return nil
}

// step does one random thing.
func (w *twin) step() error {
	w.clock++
	rows, err := w.mem.List(w.ctx, 0, 1000)
	if err != nil {
		w.Fatal(err)
	}
	kind := w.rng.IntN(20)
	if len(rows) < 2 {
		kind = 0
	}
	switch kind {
	case 0, 1, 2, 3, 4, 5:
		w.kinds["add"]++
		return w.add()
	case 6, 7, 8:
		w.kinds["reserve"]++
		return w.reserve()
	case 9, 10, 11, 12:
		w.kinds["move"]++
		return w.apply(w.move(rows[w.rng.IntN(len(rows))]))
	case 13, 14:
		w.kinds["confirm"]++
		r, seq := rows[w.rng.IntN(len(rows))], w.rng.Int64N(40)+1
		return w.apply(store.Confirm{Key: r.Key, Epoch: "e", Seq: seq, MessageID: fmt.Sprint("m", seq), At: w.clock})
	case 15, 16:
		w.kinds["snapshot"]++
		return w.snapshot()
	case 17:
		w.kinds["rows"]++
		return w.rows()
	case 18:
		w.kinds["discard"]++
		k := rows[w.rng.IntN(len(rows))].Key
		return w.do(func(st store.Store) (any, error) { return st.Discard(w.ctx, k) })
	}
	w.kinds["reopen"]++
	return w.reopen()
}

func (w *twin) add() error {
	var entries []store.Entry
	for range 1 + w.rng.IntN(3) {
		w.n++
		e := store.Entry{
			Key:  store.Key{Room: "r", ID: ids.Make(ids.Device{}, ids.Ordinal{Lo: w.n}).String()},
			Body: store.Body{Text: strings.Repeat("x", w.rng.IntN(3000)), Data: fmt.Appendf(nil, `%d`, w.n)}, Fingerprint: fmt.Sprint("v1:", w.n),
			QueuedAt: w.clock, State: store.Queued,
		}
		if w.rng.IntN(3) == 0 {
			e.State, e.FirstSentAt, e.Schedule = store.Sending, w.clock, store.Schedule{Attempts: 1, Interval: 500, LastAttemptAt: w.clock}
		}
		entries = append(entries, e)
	}
	return w.do(func(st store.Store) (any, error) { return st.Add(w.ctx, w.fenceOf(st), entries) })
}

// reserve checks beside that no ordinal is handed out twice, whatever the two stores agree on.
func (w *twin) reserve() error {
	return w.do(func(st store.Store) (any, error) {
		l, err := st.Reserve(w.ctx, w.device, 8, 0)
		if st == store.Store(w.st) && err == nil {
			if l.Start.Cmp(w.last) <= 0 {
				w.Fatalf("lease %+v after ordinal %+v was handed out", l, w.last)
			}
			w.last, _ = l.Last()
		}
		return l, err
	})
}

func (w *twin) apply(c store.Change) error {
	return w.do(func(st store.Store) (any, error) { return st.Apply(w.ctx, w.fenceOf(st), []store.Change{c}) })
}

func (w *twin) move(r store.Row) store.Step {
	c := store.Step{
		Position: r.Position, Revision: r.Revision, To: store.Sending, FirstSentAt: w.clock,
		Schedule: store.Schedule{Attempts: r.Attempts + 1, Interval: 1000 + w.rng.Int64N(1000), LastAttemptAt: w.clock},
	}
	switch w.rng.IntN(4) {
	case 0:
		c.To = store.Queued
	case 1:
		c.To, c.Reason, c.AsideAt = store.Parked, "too_large", w.clock
	}
	return c
}

func (w *twin) cursor() protocol.Cursor {
	r, _, err := w.mem.Room(w.ctx, "r")
	if err != nil {
		w.Fatal(err)
	}
	return r.Cursor
}

func (w *twin) arrived(from, to int64) (rows []store.Arrived) {
	for seq := from; seq <= to; seq++ {
		rows = append(rows, store.Arrived{Message: protocol.Message{
			Room: "r", Epoch: "e", Seq: seq, MessageID: fmt.Sprint("m", seq), Actor: "b", Text: strings.Repeat("y", w.rng.IntN(900)), At: w.clock,
		}})
	}
	return rows
}

func (w *twin) snapshot() error {
	head := w.rng.Int64N(30) + 1
	return w.apply(store.Snapshot{
		Room: "r", Cursor: protocol.Cursor{Epoch: "e", After: head, MessageID: fmt.Sprint("m", head)}, Messages: w.arrived(max(1, head-4), head),
	})
}

func (w *twin) rows() error {
	from := w.cursor()
	if from.Epoch == "" {
		return w.snapshot()
	}
	to := protocol.Cursor{Epoch: "e", After: from.After + 2, MessageID: fmt.Sprint("m", from.After+2)}
	return w.apply(store.Rows{Room: "r", From: from, To: to, Messages: w.arrived(from.After+1, to.After)})
}

// reopen closes the store in good order and opens it again.
func (w *twin) reopen() error {
	if err := w.st.Close(); err != nil {
		return err
	}
	if err := w.mem.Close(); err != nil {
		w.Fatal(err)
	}
	st, err := Open(w.ctx, "outbox.db", w.disk.options(w.pragma))
	if err != nil {
		return err
	}
	w.st, w.mem = st, memory.Open(w.after, memory.Options{Limits: w.limits()})
	return w.drain()
}

// settle finds which of the two allowed states the store is in, as opened after a failure, and goes on from that one.
func (w *twin) settle() error {
	got, err := w.dump(w.st)
	if err != nil {
		return err
	}
	var allowed []string
	for _, m := range []*memory.Medium{w.after, w.before} {
		m = m.Copy()
		mem := memory.Open(m, memory.Options{Limits: w.limits()})
		want, err := w.dump(mem)
		if err != nil {
			w.Fatal(err)
		}
		if got == want {
			w.become(m)
			return nil
		}
		allowed = append(allowed, want)
	}
	return fmt.Errorf("%w: the store holds\n%s\nallowed is\n%s\nor\n%s", errLost, got, allowed[0], allowed[1])
}

// errLost says that something accepted was lost, or came back.
var errLost = fmt.Errorf("lost")

// dump tells all that a store holds.
func (w *twin) dump(st store.Store) (string, error) {
	var b strings.Builder
	say := func(v any, err error) error {
		fmt.Fprintf(&b, "%+v\n", v)
		return err
	}
	if err := st.Export(w.ctx, func(r store.Row, body store.Body) error {
		return say(fmt.Sprintf("%+v %d %s", r, len(body.Text), body.Data), nil)
	}); err != nil {
		return "", err
	}
	feed, _, err1 := st.Feed(w.ctx, "", 0, 1000)
	view, err2 := st.View(w.ctx, "r", 0, 1000)
	rooms, err3 := st.Rooms(w.ctx)
	counts, err4 := st.Counts(w.ctx)
	mark, err5 := markOf(st, w.device)
	for _, err := range []error{say(feed, err1), say(view, err2), say(rooms, err3), say(counts, err4), say(mark, err5)} {
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// markOf reads a mark without changing it.
func markOf(st store.Store, d ids.Device) (mark ids.Ordinal, err error) {
	if s, ok := st.(*Store); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.mark(d)
	}
	return ids.OrdinalFrom(st.(*memory.Store).Medium().Marks()[d])
}
