package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// TestAgainstThePlainWorld runs random commands of a few actors in a few rooms, with held and failing commits, readers that
// come, go, resume and are too slow, purges and restarts, against a plain world: a list of rows for each room, a
// map of results, and what each answer must then be.
func TestAgainstThePlainWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { // without t.Deadline, which a bubble refuses
			w := newWorld(t, rt)
			rt.Cleanup(func() {
				w.release()
				w.stop()
			})
			rt.Repeat(map[string]func(*rapid.T){
				"send":    w.send,
				"again":   w.again,
				"burst":   func(rt *rapid.T) { w.send(rt); w.again(rt); w.send(rt) },
				"join":    w.join,
				"leave":   w.leave,
				"hold":    w.hold,
				"fail":    w.fail,
				"settle":  func(rt *rapid.T) { w.settle(rt) },
				"restart": w.restart,
				"purge":   func(*rapid.T) { time.Sleep(w.o.PurgeEvery) },
			})
			w.settle(rt)
		})
	})
}

type world struct {
	*rig
	o     engine.Options
	rooms []string
	conns []*reader
	where map[*reader]string // subscribed to

	next    int
	sent    []room.Command
	open    []sending
	results map[idem.Key]idem.Result // the plain world: what is stored
	rows    map[string][]string      // room → message ids
	held    gate
	stored  bool // the commit that fails has stored its rows
}

type sending struct {
	cmd    room.Command
	answer <-chan room.Outcome
}

func newWorld(t *testing.T, rt *rapid.T) *world {
	o := options()
	o.GroupCommands = rapid.IntRange(1, 5).Draw(rt, "group")
	o.DeltaRows = rapid.IntRange(1, 8).Draw(rt, "page")
	o.SnapshotRows = rapid.IntRange(1, 8).Draw(rt, "snapshot")
	o.JoinRows = rapid.IntRange(1, 8).Draw(rt, "waiting rows")
	o.Policy.JournalRows = rapid.Int64Range(0, 6).Draw(rt, "journal")
	w := &world{
		o: o, rig: start(t, nil, o), rooms: []string{"r", "q"},
		where: map[*reader]string{}, results: map[idem.Key]idem.Result{}, rows: map[string][]string{},
	}
	for i := range 4 {
		w.conns = append(w.conns, &reader{actor: []string{"ann", "bob"}[i%2], quota: 3 * (i / 3), agesOut: o.Policy.JournalRows > 0})
	}
	return w
}

func (w *world) send(rt *rapid.T) {
	w.next++
	cmd := command(rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "actor"), rapid.SampledFrom(w.rooms).Draw(rt, "room"),
		fmt.Sprint("id", w.next), "text")
	if len(w.sent) > 0 && rapid.IntRange(0, 3).Draw(rt, "follows") == 0 {
		cmd.Follows = w.sent[rapid.IntRange(0, len(w.sent)-1).Draw(rt, "which")].Key.ID
	}
	w.sent = append(w.sent, cmd)
	w.issue(rt, cmd, true)
}

// again repeats something sent before, with its content or another.
func (w *world) again(rt *rapid.T) {
	if len(w.sent) == 0 {
		return
	}
	cmd := w.sent[rapid.IntRange(0, len(w.sent)-1).Draw(rt, "which")]
	if rapid.IntRange(0, 4).Draw(rt, "change") == 0 {
		cmd.Text, cmd.Fingerprint = "other", fingerprint("other")
	}
	w.issue(rt, cmd, false)
}

func (w *world) issue(rt *rapid.T, cmd room.Command, first bool) {
	var c *reader
	for _, conn := range w.conns {
		if conn.actor == cmd.Key.Actor && rapid.Bool().Draw(rt, "by this connection") {
			c = conn
		}
	}
	if c != nil && first {
		c.mu.Lock()
		c.unacked = append(c.unacked, cmd.Key.ID)
		c.mu.Unlock()
	}
	w.open = append(w.open, sending{cmd, w.post(c, cmd)})
}

// join subscribes a connection to a room by its cursor, page by page, or without one.
func (w *world) join(rt *rapid.T) {
	c, name := w.conns[rapid.IntRange(0, len(w.conns)-1).Draw(rt, "connection")], rapid.SampledFrom(w.rooms).Draw(rt, "room")
	cursor := c.cursor()
	if w.where[c] != name || rapid.IntRange(0, 3).Draw(rt, "no cursor") == 0 {
		w.Leave(c)
		w.forget(c)
		cursor = nil
	}
	c.mu.Lock()
	c.slow, c.frames = false, nil
	c.mu.Unlock()
	for {
		a := w.rig.join(c, name, cursor)
		if a.Alarm {
			rt.Fatalf("%+v is an alarm", cursor)
		}
		if !a.More {
			break
		}
		cursor = c.cursor()
	}
	w.where[c] = name
}

func (w *world) forget(c *reader) {
	delete(w.where, c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view, c.head, c.headID, c.epoch = nil, 0, "", ""
}

func (w *world) leave(rt *rapid.T) {
	c := w.conns[rapid.IntRange(0, len(w.conns)-1).Draw(rt, "connection")]
	if name := w.where[c]; rapid.Bool().Draw(rt, "one room") {
		w.Unsubscribe(c, name)
	} else {
		w.Leave(c)
	}
	w.forget(c)
}

// hold keeps commits waiting until the world settles.
func (w *world) hold(*rapid.T) {
	if w.held == nil {
		w.held = make(gate)
		w.store.set(func(f *faults) { f.before = w.held.hold })
	}
}

// fail has the next commit fail, before or after all of it was stored.
func (w *world) fail(rt *rapid.T) {
	w.settle(rt)
	once := true
	fails := func(*store.Batch) error {
		if once {
			once = false
			return fmt.Errorf("cut off: %w", store.ErrAgain)
		}
		return nil
	}
	w.stored = rapid.Bool().Draw(rt, "stored")
	w.store.set(func(f *faults) {
		if w.stored {
			f.after = fails
		} else {
			f.before = fails
		}
	})
}

func (w *world) restart(rt *rapid.T) {
	w.settle(rt)
	w.stop()
	w.rig = start(w.t, w.disk, w.o)
	for c, name := range w.where {
		w.rig.join(c, name, nil)
	}
}

func (w *world) release() {
	if w.held != nil {
		close(w.held)
		w.held = nil
	}
}

// settle lets everything come to rest, then holds every answer and every view against the plain world.
func (w *world) settle(rt *rapid.T) {
	w.release()
	synctest.Wait()
	w.store.set(func(f *faults) { f.before, f.after = nil, nil })
	for _, s := range w.open {
		w.check(rt, s.cmd, <-s.answer)
	}
	w.open = nil
	for _, c := range w.conns {
		if name, ok := w.where[c]; ok {
			w.checkView(rt, c, name)
		}
	}
}

// check judges one answer, in the order of the sends.
func (w *world) check(rt *rapid.T, cmd room.Command, got room.Outcome) {
	prior, known := w.results[cmd.Key]
	_, follows := w.results[idem.Key{Actor: cmd.Key.Actor, Room: cmd.Key.Room, ID: cmd.Follows}]
	want := room.Accepted
	switch {
	case known && prior.Fingerprint == cmd.Fingerprint:
		want = room.Duplicate
	case known:
		want = room.Conflict
	case cmd.Follows != "" && !follows:
		want = room.OutOfOrder
	}
	if got.Kind == room.Unavailable { // by the commit that failed, which stored all that it accepted, or nothing
		if !w.stored || want != room.Accepted {
			return
		}
		o := w.Status(context.Background(), cmd.Key, 0)
		if o.Kind != room.Duplicate {
			rt.Fatalf("%+v was stored by a commit that failed: status says %v", cmd.Key, o.Kind)
		}
		got = room.Outcome{Kind: room.Accepted, Result: o.Result}
	}
	if got.Kind != want {
		rt.Fatalf("%+v: %v, want %v", cmd.Key, got.Kind, want)
	}
	if known && got.Result != prior {
		rt.Fatalf("%+v: %+v, first %+v", cmd.Key, got.Result, prior)
	}
	if want == room.Accepted {
		w.results[cmd.Key] = got.Result
		if w.rows[cmd.Key.Room] = append(w.rows[cmd.Key.Room], got.Result.MessageID); got.Result.Seq != int64(len(w.rows[cmd.Key.Room])) {
			rt.Fatalf("%+v got seq %d, the room has %d rows", cmd.Key, got.Result.Seq, len(w.rows[cmd.Key.Room]))
		}
	}
}

// agedOut reports whether rows are missing in what a reader saw. Only such may be as aged out before a feed had read them, each of
// which the engine has counted.
func (w *world) agedOut(rt *rapid.T, c *reader, name string) bool {
	c.mu.Lock()
	lost := c.lost
	c.lost = nil
	c.mu.Unlock()
	for _, gap := range lost {
		rows, _, err := w.History(context.Background(), name, gap[1]+1, engine.Page{Rows: 1})
		if err != nil || len(rows) > 0 && rows[0].Seq >= gap[0] || w.Stats().Gaps == 0 {
			rt.Fatalf("%s in %s missed rows %d to %d, which are there (%v, %v)", c.actor, name, gap[0], gap[1], rows, err)
		}
	}
	return len(lost) > 0
}

// checkView: what a reader sees is the end of the room, dense, each row once. It has noticed itself what came out of order.
func (w *world) checkView(rt *rapid.T, c *reader, name string) {
	view, events, faults := c.seen()
	if len(faults) > 0 {
		rt.Fatalf("%s in %s: %s\n%s", c.actor, name, strings.Join(faults, "; "), strings.Join(events, ", "))
	}
	head := int64(len(w.rows[name]))
	if w.agedOut(rt, c, name) {
		w.Leave(c) // its cursor fits no more, and it begins anew
		w.forget(c)
		return
	}
	if c.slow {
		w.Leave(c) // as a connection does that is too slow; it resumes later
		return
	}
	if c.head != head || head > 0 && c.headID != w.rows[name][head-1] {
		rt.Fatalf("%s is at %d %s, %s at %d\n%s", c.actor, c.head, c.headID, name, head, strings.Join(events, ", "))
	}
	for i, seq := range view {
		if seq != head-int64(len(view))+int64(i)+1 {
			rt.Fatalf("%s sees %v, %s ends at %d", c.actor, view, name, head)
		}
	}
}
