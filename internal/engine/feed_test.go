package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine"
	"hapax/internal/fanout"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

func TestRowsReachEveryReaderOnceInOrder(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		readers := []*reader{{actor: "ann"}, {actor: "bob"}, {actor: "bob"}}
		for _, c := range readers {
			if a := r.join(c, "r", nil); !a.Reset || a.Alarm || a.Head != 0 || a.HeadID != "" {
				t.Errorf("an empty room: %+v", a)
			}
		}
		r.fill("ann", "r", 10)
		r.fill("bob", "other", 3)
		synctest.Wait()
		for _, c := range readers {
			r.sound(c, "r")
			if n := len(c.frames); n != 10 {
				t.Errorf("%s got %d frames", c.actor, n)
			}
		}
		if s := r.Stats(); s.Delivered != 30 || s.ActiveRooms != 1 || s.Subscribers != 3 || s.Loads != 0 {
			t.Errorf("stats: %d delivered, %d rooms, %d subscribers, %d loads", s.Delivered, s.ActiveRooms, s.Subscribers, s.Loads)
		}
	})
}

// R24, the server's side: only the author's copy names the client message id, and the ack goes ahead of it.
func TestR24AuthorsCopyAfterItsAck(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		ann, bob := &reader{actor: "ann"}, &reader{actor: "bob"}
		r.join(ann, "r", nil)
		r.join(bob, "r", nil)
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		var answers []<-chan room.Outcome
		for i := range 4 {
			answers = append(answers, r.post(ann, command("ann", "r", fmt.Sprint("id", i), "x")))
			if synctest.Wait(); i == 0 {
				continue // the first is under way, the others are a group
			}
		}
		close(g)
		for _, a := range answers {
			<-a
		}
		synctest.Wait()
		want := "answer 0, ack id0, row 1, ack id1, ack id2, ack id3, row 2, row 3, row 4"
		if _, events, _ := ann.seen(); strings.Join(events, ", ") != want {
			t.Errorf("ann: %s", strings.Join(events, ", "))
		}
		if ann.flushes != 2 || bob.flushes != 2 {
			t.Errorf("%d and %d flushes for two commits, want one each", ann.flushes, bob.flushes)
		}
		for i, f := range ann.frames {
			if !strings.Contains(f, fmt.Sprintf("|ann|id%d|", i)) {
				t.Errorf("the author's copy %q", f)
			}
		}
		for _, f := range bob.frames {
			if strings.Contains(f, "id") {
				t.Errorf("another's copy %q names the author's id", f)
			}
		}
		r.sound(ann, "r")
		r.sound(bob, "r")
	})
}

// A store may show a commit before it has told the engine. The author's ack still goes ahead of its row in an answer.
func TestAnswerWaitsForTheAckOfItsRows(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		ann, bob := &reader{actor: "ann"}, &reader{actor: "bob"}
		g := make(gate)
		r.store.set(func(f *faults) { f.after = g.hold })
		a := r.post(ann, command("ann", "r", "a", "x"))
		synctest.Wait()
		if got := r.join(bob, "r", nil); got.Head != 1 {
			t.Fatalf("the store shows head %d", got.Head) // bob has no ack to wait for
		}
		joined := make(chan struct{})
		go func() { defer close(joined); r.join(ann, "r", nil) }()
		synctest.Wait()
		select {
		case <-joined:
			t.Fatal("ann was shown her row before its ack")
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := r.Subscribe(ctx, &reader{actor: "ann"}, "r", nil, engine.Whole, func(engine.Catchup) { t.Error("answered") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a joiner that gives up: %v", err)
		}
		close(g)
		<-a
		<-joined
		synctest.Wait()
		if _, events, _ := ann.seen(); strings.Join(events, ", ") != "ack a, answer 1" {
			t.Errorf("ann: %s", strings.Join(events, ", "))
		}
		r.must("ann", "r", "b", "y")
		synctest.Wait()
		r.sound(ann, "r")
		r.sound(bob, "r")
	})
}

func TestResumes(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		for i := range 3 { // R14, R15: an empty delta, however often
			if a := r.join(c, "r", c.cursor()); a.Reset || len(a.Messages) > 0 || a.Head != 0 {
				t.Fatalf("resume %d of an empty room: %+v", i, a)
			}
		}
		r.fill("ann", "r", 250)
		synctest.Wait()
		for range 3 {
			if a := r.join(c, "r", c.cursor()); a.Reset || len(a.Messages) > 0 || a.Head != 250 {
				t.Fatalf("resume at the head: %+v", a)
			}
		}
		fresh := &reader{actor: "bob"}
		if a := r.join(fresh, "r", nil); !a.Reset || len(a.Messages) != 200 || a.Messages[0].Seq != 51 || a.More {
			t.Fatalf("snapshot: reset %v, %d rows", a.Reset, len(a.Messages))
		}
		epoch := r.Identity().Epoch
		for _, bad := range []engine.Cursor{ // R20
			{Epoch: epoch, After: 251, MessageID: "x"}, {Epoch: epoch, After: 7, MessageID: "foreign"}, {Epoch: epoch, After: 7},
		} {
			if a := r.join(&reader{actor: "eve"}, "r", &bad); !a.Reset || !a.Alarm {
				t.Errorf("%+v: reset %v, alarm %v", bad, a.Reset, a.Alarm)
			}
		}
		if a := r.join(&reader{actor: "eve"}, "r", &engine.Cursor{Epoch: "gone", After: 1, MessageID: "x"}); !a.Reset || a.Alarm {
			t.Errorf("another history: reset %v, alarm %v", a.Reset, a.Alarm)
		}
		s := r.Stats().Resumes
		for fit, n := range map[room.Fit]uint64{
			room.NoCursor: 2, room.Fits: 6, room.Future: 1, room.Foreign: 1, room.Malformed: 1, room.OtherEpoch: 1,
		} {
			if s[fit] != n {
				t.Errorf("%v is counted %d times, want %d", fit, s[fit], n)
			}
		}
		r.sound(c, "r")
		r.sound(fresh, "r")
	})
}

// Every row still in the journal, and the last that aged out, is a place to go on from.
func TestResumeFromEveryRow(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		r.fill("ann", "r", 9)
		all := r.log("r")
		if _, err := r.store.Purge(context.Background(), store.Policy{JournalRows: 5}, time.Now().UnixMilli()); err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			c := engine.Cursor{Epoch: r.Identity().Epoch, After: m.Seq, MessageID: m.MessageID}
			a := r.join(&reader{actor: "bob", head: m.Seq, headID: m.MessageID, epoch: c.Epoch}, "r", &c)
			if a.Reset != (m.Seq < 4) || a.Alarm || !a.Reset && len(a.Messages) != int(9-m.Seq) {
				t.Errorf("from %d: reset %v, alarm %v, %d rows", m.Seq, a.Reset, a.Alarm, len(a.Messages))
			}
		}
	})
}

func TestSnapshotLimits(t *testing.T) {
	o := options()
	o.PageBytes = 1000
	bubble(t, o, func(t *testing.T, r *rig) {
		r.fill("ann", "r", 20)
		for limit, want := range map[int]int{0: 0, 1: 1, 7: 7, 200: 20, 500: 20, -1: 20} {
			var got engine.Catchup
			c := &reader{actor: "bob"}
			err := r.Subscribe(context.Background(), c, "r", nil, engine.Page{Rows: limit}, func(a engine.Catchup) { got = a; c.answer(a) })
			if err != nil || len(got.Messages) != want || got.Head != 20 || got.HeadID == "" {
				t.Errorf("limit %d: %d rows, head %d %q, %v", limit, len(got.Messages), got.Head, got.HeadID, err)
			}
		}
		for i := range 3 {
			r.must("ann", "r", fmt.Sprint("long", i), strings.Repeat("x", 400))
		}
		if a := r.join(&reader{actor: "bob"}, "r", nil); len(a.Messages) >= 20 || a.Messages[len(a.Messages)-1].Seq != a.Head {
			t.Errorf("bounded by bytes: %d rows", len(a.Messages))
		}
	})
}

// R18, R19: more missed than a page holds is told page by page; live rows start after the last, none missed.
func TestR18DeltaInPages(t *testing.T) {
	o := options()
	o.DeltaRows = 24
	bubble(t, o, func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		r.Unsubscribe(c, "r")
		r.fill("ann", "r", 50)
		for page := 0; ; page++ {
			a := r.join(c, "r", c.cursor())
			r.must("ann", "r", fmt.Sprint("live", page), "meanwhile")
			synctest.Wait()
			if !a.More {
				break
			}
			if n := r.Stats().Subscribers; n != 0 {
				t.Fatalf("%d subscribers after a page that isn't the last", n)
			}
			if _, events, _ := c.seen(); strings.HasPrefix(events[len(events)-1], "row") {
				t.Fatal("a live row came before the last page")
			}
		}
		r.sound(c, "r")
		if c.head != 53 || len(c.frames) != 1 {
			t.Errorf("at %d, %d live rows", c.head, len(c.frames))
		}
	})
}

func TestR12R13AStoreThatWentBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil, options())
		empty, full := &reader{actor: "bob"}, &reader{actor: "bob"}
		r.join(empty, "new", nil)
		r.join(full, "r", nil)
		r.fill("ann", "r", 7)
		backup := r.disk.Copy()
		r.must("ann", "new", "first", "1")
		for i := range 3 {
			r.must("ann", "r", fmt.Sprint("lost", i), "x")
		}
		synctest.Wait()
		r.Leave(empty)
		r.Leave(full)
		r.stop()
		r = start(t, backup.Restored(), options())
		for i := range 4 {
			r.must("ann", "r", fmt.Sprint("other", i), "y")
		}
		if a := r.join(full, "r", full.cursor()); !a.Reset || a.Alarm || a.Head != 11 {
			t.Errorf("a longer room after a restore: %+v", a)
		}
		if a := r.join(empty, "new", empty.cursor()); !a.Reset || a.Head != 0 {
			t.Errorf("a room back to empty: %+v", a)
		}
		r.must("ann", "new", "second", "2")
		synctest.Wait()
		r.sound(full, "r")
		r.sound(empty, "new")
		r.stop()
	})
}

// R29: while a commit is held nobody reads its row, by whatever door.
func TestR29NothingUnsyncedIsRead(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		watcher := &reader{actor: "bob"}
		r.join(watcher, "r", nil)
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		a := r.post(nil, command("ann", "r", "a", "x"))
		time.Sleep(500 * time.Millisecond)
		ctx := context.Background()
		rows, _, err := r.History(ctx, "r", 10, engine.Page{Rows: 10})
		once, err2 := r.Read(ctx, "r", nil, engine.Page{Rows: 10})
		list, err3 := r.List(ctx, "", 10)
		if err := errors.Join(err, err2, err3); err != nil || len(rows)+len(once.Messages)+len(list) > 0 || once.Head != 0 {
			t.Errorf("read before the sync: %v %v %v, %v", rows, once, list, err)
		}
		if o := r.Status(ctx, idem.Key{Actor: "ann", Room: "r", ID: "a"}, 0); o.Kind != room.InProgress {
			t.Errorf("status before the sync: %v", o.Kind)
		}
		if got := r.join(&reader{actor: "ann"}, "r", nil); got.Head != 0 {
			t.Errorf("snapshot before the sync: %+v", got)
		}
		if view, _, _ := watcher.seen(); len(view) > 0 {
			t.Errorf("live before the sync: %v", view)
		}
		close(g)
		<-a
	})
}

func TestUnsubscribeAndLeave(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		c, stays := &reader{actor: "bob"}, &reader{actor: "bob"}
		for _, name := range []string{"a", "b", "c"} {
			r.join(&reader{actor: c.actor}, name, nil)
		}
		conn := &reader{actor: "bob"}
		r.join(conn, "a", nil)
		r.join(stays, "a", nil)
		r.Unsubscribe(conn, "a")
		r.Unsubscribe(conn, "a")
		r.Unsubscribe(conn, "never")
		r.must("ann", "a", "1", "x")
		synctest.Wait()
		if view, _, _ := conn.seen(); len(view) > 0 {
			t.Errorf("rows after unsubscribe: %v", view)
		}
		r.sound(stays, "a")
		r.join(conn, "a", nil)
		r.Leave(conn)
		r.Leave(conn)
		r.must("ann", "a", "2", "x")
		synctest.Wait()
		if view, _, _ := conn.seen(); len(view) != 1 {
			t.Errorf("rows after leave: %v", view)
		}
		r.sound(stays, "a")
		if s := r.Stats(); s.ActiveRooms != 3 || s.Subscribers != 4 {
			t.Errorf("%d rooms, %d subscribers", s.ActiveRooms, s.Subscribers)
		}
		r.Leave(stays)
		r.join(stays, "d", nil)
		r.Unsubscribe(stays, "d") // its last reader: the room is no longer active
		if s := r.Stats(); s.ActiveRooms != 3 || s.Subscribers != 3 {
			t.Errorf("in the end %d rooms, %d subscribers", s.ActiveRooms, s.Subscribers)
		}
	})
}

func TestUnsubscribedWhileJoining(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		g := make(gate)
		r.store.set(func(f *faults) { f.view = func() error { <-g; return nil } })
		c := &reader{actor: "bob"}
		ended := make(chan error, 1)
		go func() {
			ended <- r.Subscribe(context.Background(), c, "r", nil, engine.Whole, func(engine.Catchup) { t.Error("answered") })
		}()
		synctest.Wait()
		r.Leave(c)
		close(g)
		if err := <-ended; !errors.Is(err, engine.ErrUnsubscribed) {
			t.Errorf("left while joining: %v", err)
		}
	})
}

// Rows that come while a joiner reads wait for its answer; where more come than may wait it reads again.
func TestRowsWhileJoining(t *testing.T) {
	for name, bound := range map[string]int{"all wait": 100, "too many wait": 2} {
		for moment, set := range map[string]func(*faults, func()){
			"before it has read": func(f *faults, hold func()) { f.view = func() error { hold(); return nil } },
			"after it has read":  func(f *faults, hold func()) { f.viewed = hold },
		} {
			t.Run(name+" "+moment, func(t *testing.T) {
				o := options()
				o.JoinRows = bound
				bubble(t, o, func(t *testing.T, r *rig) {
					other := &reader{actor: "eve"}
					r.join(other, "r", nil) // the room is active: its head is known
					r.fill("ann", "r", 3)
					reading, g := make(chan struct{}, 1), make(gate)
					r.store.set(func(f *faults) { set(f, func() { reading <- struct{}{}; <-g }) })
					c := &reader{actor: "bob"}
					joined := make(chan struct{})
					go func() { defer close(joined); r.join(c, "r", nil) }()
					<-reading
					for i := range 5 {
						r.must("ann", "r", fmt.Sprint("live", i), "x")
					}
					r.store.set(func(f *faults) { f.view, f.viewed = nil, nil })
					close(g)
					<-joined
					synctest.Wait()
					r.sound(c, "r")
					r.must("ann", "r", "last", "x")
					synctest.Wait()
					r.sound(c, "r")
					r.sound(other, "r")
				})
			})
		}
	}
}

func TestARoomThatOutrunsItsJoiner(t *testing.T) {
	o := options()
	o.JoinRows = 1
	bubble(t, o, func(t *testing.T, r *rig) {
		r.join(&reader{actor: "eve"}, "r", nil)
		n := 0
		r.store.set(func(f *faults) {
			f.view = func() error {
				n++
				r.must("ann", "r", fmt.Sprint("a", n), "x")
				r.must("ann", "r", fmt.Sprint("b", n), "x")
				synctest.Wait() // both are handed on
				return nil
			}
		})
		c := &reader{actor: "bob"}
		err := r.Subscribe(context.Background(), c, "r", nil, engine.Whole, func(engine.Catchup) { t.Error("answered") })
		if !errors.Is(err, engine.ErrBehind) {
			t.Errorf("%v", err)
		}
		if s := r.Stats(); s.Subscribers != 1 {
			t.Errorf("%d subscribers: the one who gave up is still there", s.Subscribers)
		}
	})
}

// Two engines on one store, as two server processes on one database, with a bus that loses every hint, or some, or none.
func TestRowsOfAnotherProcess(t *testing.T) {
	for name, lose := range map[string]func(int) bool{
		"every hint arrives":  func(int) bool { return false },
		"every other is lost": func(n int) bool { return n%2 == 0 },
		"all are lost":        func(int) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Poll = time.Second
			bubble(t, o, func(t *testing.T, here *rig) {
				bus := &lossy{Bus: here.bus, lose: lose}
				there, err := engine.New(here.store, bus, o)
				if err != nil {
					t.Fatal(err)
				}
				c := &reader{actor: "ann"}
				here.join(c, "r", nil)
				for i := range 20 {
					if i%3 == 0 {
						here.must("ann", "r", fmt.Sprint("here", i), "x")
						continue
					}
					if o := there.SendWait(context.Background(), command("ann", "r", fmt.Sprint("there", i), "x")); o.Kind != room.Accepted {
						t.Fatal(o.Kind)
					}
				}
				time.Sleep(2 * time.Second)
				here.sound(c, "r")
				if err := there.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

type lossy struct {
	fanout.Bus
	lose func(int) bool
	n    int
}

func (b *lossy) Publish(h fanout.Hint) {
	if b.n++; !b.lose(b.n) {
		b.Bus.Publish(h)
	}
}

func TestAHintOfNothingAndAReadingThatFails(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 99})
		r.bus.Publish(fanout.Hint{Room: "nobody's", Seq: 1})
		synctest.Wait()
		fails := 3
		r.store.set(func(f *faults) {
			f.view = func() error {
				if fails--; fails >= 0 {
					return errors.New("cut off")
				}
				return nil
			}
		})
		r.elsewhere(command("ann", "r", "elsewhere", "x"))
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 1})
		time.Sleep(5 * time.Second)
		r.sound(c, "r")
		if s := r.Stats(); s.LoadErrors != 3 || s.ReadErrors != 3 || s.Failed {
			t.Errorf("%d load errors, %d read errors, failed %v", s.LoadErrors, s.ReadErrors, s.Failed)
		}
	})
}

// Rows that aged out before this process read them: the reader gets what there is, and sees the gap.
func TestAGapThatAgedOut(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		c := &reader{actor: "bob"}
		r.join(c, "r", nil)
		var batch []room.Command
		for i := range 10 {
			batch = append(batch, command("ann", "r", fmt.Sprint(i), "x"))
		}
		r.elsewhere(batch...)
		if _, err := r.store.Purge(context.Background(), store.Policy{JournalRows: 4}, 1); err != nil {
			t.Fatal(err)
		}
		r.bus.Publish(fanout.Hint{Room: "r", Seq: 10})
		synctest.Wait()
		view, _, faults := c.seen()
		if !slices.Equal(view, []int64{7, 8, 9, 10}) || len(faults) != 1 {
			t.Errorf("given %v, noticed %v", view, faults)
		}
		if n := r.Stats().Gaps; n != 1 {
			t.Errorf("%d gaps counted", n)
		}
	})
}

// TestTwoWhoJoinAtOnceMissNothing: of two who join a room that nobody listened to, the one who read it first, and is answered last, gets the rows
// that came in between, though the other's answer has told the feed how far the room is.
func TestTwoWhoJoinAtOnceMissNothing(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		r.fill("ann", "r", 1)
		bob, cleo := &reader{actor: "bob"}, &reader{actor: "cleo"}
		read := make(chan struct{})
		first := true
		r.store.set(func(f *faults) {
			f.viewed = func() {
				if first {
					first = false
					<-read
				}
			}
		})
		joined := make(chan struct{})
		go func() {
			defer close(joined)
			r.join(bob, "r", nil)
		}()
		synctest.Wait() // bob has read row 1, and has no answer yet
		r.fill("dan", "r", 2)
		r.join(cleo, "r", nil)
		close(read)
		<-joined
		r.fill("eve", "r", 1)
		synctest.Wait()
		for _, c := range []*reader{bob, cleo} {
			if view, events, faults := c.seen(); !slices.Equal(view, []int64{1, 2, 3, 4}) || len(faults) > 0 {
				t.Errorf("%s sees %v, noticed %v (%s)", c.actor, view, faults, strings.Join(events, ", "))
			}
		}
	})
}

func TestHistoryAndList(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		r.fill("ann", "b", 5)
		r.fill("ann", "a", 2)
		ctx := context.Background()
		rows, more, err := r.History(ctx, "b", 5, engine.Page{Rows: 3})
		if err != nil || !more || len(rows) != 3 || rows[0].Seq != 2 || rows[2].Seq != 4 {
			t.Errorf("history: %v, more %v, %v", rows, more, err)
		}
		if rows, more, err = r.History(ctx, "b", 1, engine.Page{Rows: 3}); err != nil || more || len(rows) > 0 {
			t.Errorf("below the first: %v, more %v, %v", rows, more, err)
		}
		list, err := r.List(ctx, "", 1)
		if err != nil || len(list) != 1 || list[0].Name != "a" || list[0].State.Head != 2 {
			t.Errorf("list: %+v, %v", list, err)
		}
		if list, err = r.List(ctx, "a", -1); err != nil || len(list) != 1 || list[0].Name != "b" {
			t.Errorf("the rest: %+v, %v", list, err)
		}
		if a, err := r.Read(ctx, "b", nil, engine.Page{Rows: 2}); err != nil || !a.Reset || len(a.Messages) != 2 || a.Head != 5 {
			t.Errorf("read: %+v, %v", a, err)
		}
	})
}

// A commit may hang while it holds a repeat of a row stored long ago: its author joins all the same.
func TestAHangingRepeatHoldsNobodyUp(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		first := r.must("ann", "r", "a", "x")
		g := make(gate)
		r.store.set(func(f *faults) { f.after = g.hold })
		again := r.post(nil, command("ann", "r", "a", "x"))
		synctest.Wait()
		c := &reader{actor: "ann"}
		if a := r.join(c, "r", nil); len(a.Messages) != 1 {
			t.Errorf("ann's snapshot: %+v", a)
		}
		close(g)
		want(t, <-again, room.Duplicate, first.Result)
	})
}
