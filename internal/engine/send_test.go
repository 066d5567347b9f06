package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// The cases R.. are those of docs/spec/cases.md, as far as they are the engine's.

func bubble(t *testing.T, o engine.Options, f func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil, o)
		f(t, r)
		r.stop()
	})
}

func want(t *testing.T, got room.Outcome, kind room.Kind, res idem.Result) {
	t.Helper()
	if got.Kind != kind || got.Result != res {
		t.Errorf("%v %+v, want %v %+v", got.Kind, got.Result, kind, res)
	}
}

func TestR01AgedOutIsStillADuplicate(t *testing.T) {
	o := options()
	o.Policy.JournalRows = 2
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil, o)
		first := r.must("ann", "r", "a", "hello")
		r.fill("ann", "r", 5)
		time.Sleep(o.PurgeEvery + time.Second)
		if rows := r.log("r"); len(rows) != 2 {
			t.Fatalf("%d rows are left, want 2", len(rows))
		}
		r.stop()
		r = start(t, r.disk, o)
		want(t, r.say("ann", "r", "a", "hello"), room.Duplicate, first.Result)
		if rows := r.log("r"); rows[len(rows)-1].Seq != 6 {
			t.Errorf("the head is %d, want 6: nothing new", rows[len(rows)-1].Seq)
		}
		r.stop()
	})
}

func TestR02RetentionCountsFromTheFirstStore(t *testing.T) {
	o := options()
	o.PurgeEvery = time.Hour
	w := time.Duration(o.RetentionMs) * time.Millisecond
	bubble(t, o, func(t *testing.T, r *rig) {
		cmd := command("ann", "r", "a", "hello")
		cmd.SentAt = time.Now().UnixMilli()
		first := r.SendWait(context.Background(), cmd)
		time.Sleep(w * 9 / 10)
		want(t, r.SendWait(context.Background(), cmd), room.Duplicate, first.Result)
		time.Sleep(w * 9 / 10)
		want(t, r.SendWait(context.Background(), cmd), room.OutcomeUnknown, idem.Result{})
		if o := r.Status(context.Background(), cmd.Key, cmd.SentAt); o.Kind != room.OutcomeUnknown {
			t.Errorf("status: %v", o.Kind)
		}
		cmd.SentAt = time.Now().UnixMilli()
		if o := r.SendWait(context.Background(), cmd); o.Kind != room.Accepted || o.Result.Seq != 2 {
			t.Errorf("sent anew at a later time: %v seq %d", o.Kind, o.Result.Seq)
		}
	})
}

func TestR03AFailedCommitLeavesAFirstSend(t *testing.T) {
	for name, stored := range map[string]bool{"nothing was stored": false, "all was stored": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, options(), func(t *testing.T, r *rig) {
				watcher := &reader{actor: "bob"}
				r.join(watcher, "r", nil)
				fail := func(*store.Batch) error { return fmt.Errorf("cut off: %w", store.ErrAgain) }
				r.store.set(func(f *faults) {
					if f.before = fail; stored {
						f.before, f.after = nil, fail
					}
				})
				if o := r.say("ann", "r", "a", "hello"); o.Kind != room.Unavailable || o.RetryAfterMs == 0 {
					t.Fatalf("a failed commit: %+v", o)
				}
				r.store.set(func(f *faults) { f.before, f.after = nil, nil })
				again := r.say("ann", "r", "a", "hello")
				kind := room.Accepted
				if stored {
					kind = room.Duplicate
				}
				if again.Kind != kind || again.Result.Seq != 1 {
					t.Errorf("again: %v seq %d, want %v", again.Kind, again.Result.Seq, kind)
				}
				synctest.Wait()
				if rows := r.log("r"); len(rows) != 1 || rows[0].MessageID != again.Result.MessageID {
					t.Errorf("the room holds %v", rows)
				}
				r.sound(watcher, "r")
			})
		})
	}
}

func TestR04OneKeyFromFourWhileTheCommitIsHeld(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		var answers []<-chan room.Outcome
		for range 4 {
			answers = append(answers, r.post(nil, command("ann", "r", "a", "hello")))
		}
		other := r.post(nil, command("ann", "r", "a", "good bye"))
		time.Sleep(5 * time.Second)
		for _, a := range append(answers, other) {
			select {
			case o := <-a:
				t.Fatalf("answered before the commit: %v", o.Kind)
			default:
			}
		}
		close(g)
		first := <-answers[0]
		if first.Kind != room.Accepted || first.Result.Seq != 1 {
			t.Fatalf("first: %v seq %d", first.Kind, first.Result.Seq)
		}
		for _, a := range answers[1:] {
			want(t, <-a, room.Duplicate, first.Result)
		}
		want(t, <-other, room.Conflict, first.Result)
		if n := len(r.log("r")); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestR05OrderOfARepeatIsThatOfItsFirst(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		a := r.post(nil, command("ann", "r", "a", "1"))
		follower := command("ann", "r", "b", "2")
		follower.Follows = "a"
		b := r.post(nil, follower)
		first, second := <-a, <-b
		if first.Result.Seq != 1 || second.Result.Seq != 2 {
			t.Fatalf("order %d, %d", first.Result.Seq, second.Result.Seq)
		}
		want(t, r.say("ann", "r", "a", "1"), room.Duplicate, first.Result)
		want(t, r.SendWait(context.Background(), follower), room.Duplicate, second.Result)
	})
}

func TestR06OtherContentIsAConflict(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		first := r.must("ann", "r", "a", "hello")
		want(t, r.say("ann", "r", "a", "other"), room.Conflict, first.Result)
		if rows := r.log("r"); len(rows) != 1 || rows[0].Text != "hello" {
			t.Errorf("the room holds %v", rows)
		}
	})
}

func TestR08FourPipelined(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		a := r.must("ann", "r", "a", "a")
		c := r.must("ann", "r", "c", "c")
		var answers []<-chan room.Outcome
		for _, cmd := range []room.Command{
			command("ann", "r", "a", "a"), command("ann", "r", "b", "b"),
			command("ann", "r", "a", "a"), command("ann", "r", "c", "not c"),
		} {
			answers = append(answers, r.post(nil, cmd))
		}
		want(t, <-answers[0], room.Duplicate, a.Result)
		if b := <-answers[1]; b.Kind != room.Accepted || b.Result.Seq != 3 {
			t.Errorf("b: %v seq %d", b.Kind, b.Result.Seq)
		}
		want(t, <-answers[2], room.Duplicate, a.Result)
		want(t, <-answers[3], room.Conflict, c.Result)
		if n := len(r.log("r")); n != 3 {
			t.Errorf("%d rows, want 3", n)
		}
	})
}

func TestR10AndR27KeysAreThreeColumns(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		a := r.must("ann", "r", "x", "ann's")
		b := r.must("bob", "r", "x", "bob's") // another actor: other content, yet no conflict
		if a.Result.MessageID == b.Result.MessageID || b.Result.Seq != 2 {
			t.Errorf("bob got %+v", b.Result)
		}
		r.must("ann", "a_b", "c", "1")
		r.must("ann", "a", "b_c", "2")
		if o := r.Status(context.Background(), idem.Key{Actor: "eve", Room: "r", ID: "x"}, 0); o.Kind != room.NotFound {
			t.Errorf("eve is told %v of ann's key", o.Kind)
		}
	})
}

func TestR17ARolledBackSendLeavesNoHole(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		watcher := &reader{actor: "eve"}
		r.join(watcher, "r", nil)
		g := make(gate)
		r.store.set(func(f *faults) {
			f.before = func(b *store.Batch) error {
				if b.Commands[0].Key.ID == "a" {
					<-g
					return store.ErrAgain
				}
				return nil
			}
		})
		a := r.post(nil, command("ann", "r", "a", "1"))
		synctest.Wait()
		b := r.post(nil, command("bob", "r", "b", "2"))
		time.Sleep(time.Second)
		if view, _, _ := watcher.seen(); len(view) != 0 {
			t.Fatalf("seen before the commit: %v", view)
		}
		close(g)
		if o := <-a; o.Kind != room.Unavailable {
			t.Errorf("the stalled one: %v", o.Kind)
		}
		if o := <-b; o.Kind != room.Accepted || o.Result.Seq != 1 {
			t.Errorf("the other: %v seq %d, want 1", o.Kind, o.Result.Seq)
		}
		synctest.Wait()
		r.sound(watcher, "r")
	})
}

func TestR28ARepeatCostsNoToken(t *testing.T) {
	o := options()
	o.SendRate, o.SendBurst = 1, 2
	bubble(t, o, func(t *testing.T, r *rig) {
		a := r.must("ann", "r", "a", "a")
		r.must("ann", "r", "b", "b")
		over := r.say("ann", "r", "c", "c")
		if over.Kind != room.RateLimited || over.RetryAfterMs < 1 || over.RetryAfterMs > 1000 {
			t.Fatalf("over the rate: %+v", over)
		}
		for range 5 {
			want(t, r.say("ann", "r", "a", "a"), room.Duplicate, a.Result)
		}
		r.must("bob", "r", "c", "another actor")
		time.Sleep(time.Duration(over.RetryAfterMs) * time.Millisecond)
		if c := r.must("ann", "r", "c", "c"); c.Result.Seq != 4 {
			t.Errorf("seq %d, want 4: what was refused left no hole", c.Result.Seq)
		}
	})
}

func TestLookUpsHaveTenTimesTheRate(t *testing.T) {
	o := options()
	o.SendRate, o.SendBurst = 1, 1
	bubble(t, o, func(t *testing.T, r *rig) {
		r.must("ann", "r", "a", "a")
		for i := range 8 {
			if got := r.say("ann", "r", "a", "a"); got.Kind != room.Duplicate {
				t.Fatalf("look-up %d: %v", i+2, got.Kind)
			}
		}
		if got := r.Status(context.Background(), idem.Key{Actor: "ann", Room: "r", ID: "a"}, 0); got.Kind != room.Duplicate {
			t.Fatalf("the tenth: %v", got.Kind)
		}
		for _, got := range []room.Outcome{
			r.say("ann", "r", "a", "a"), r.Status(context.Background(), idem.Key{Actor: "ann", Room: "r", ID: "a"}, 0),
		} {
			if got.Kind != room.RateLimited || got.RetryAfterMs != 100 {
				t.Errorf("the eleventh: %+v", got)
			}
		}
	})
}

// A store may judge a command again, when its transaction is repeated; it pays once, also where a copy is judged.
func TestARepeatedTransactionPaysOnce(t *testing.T) {
	o := options()
	o.SendRate, o.SendBurst = 1, 3
	bubble(t, o, func(t *testing.T, r *rig) {
		r.store.set(func(f *faults) {
			f.before = func(b *store.Batch) error {
				for range 5 {
					for i := range b.Commands {
						b.Judge(room.Facts{Now: b.Now, RetentionMs: b.RetentionMs}, &b.Commands[i])
					}
				}
				return nil
			}
		})
		var answers []<-chan room.Outcome
		for i := range 4 {
			answers = append(answers, r.post(nil, command("ann", "r", fmt.Sprint(i), "x")))
		}
		var kinds []room.Kind
		for _, a := range answers {
			kinds = append(kinds, (<-a).Kind)
		}
		if want := []room.Kind{room.Accepted, room.Accepted, room.Accepted, room.RateLimited}; !slices.Equal(kinds, want) {
			t.Errorf("%v, want %v", kinds, want)
		}
	})
}

func TestOutOfOrder(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		cmd := command("ann", "r", "b", "2")
		cmd.Follows = "a"
		if o := r.SendWait(context.Background(), cmd); o.Kind != room.OutOfOrder {
			t.Fatalf("it follows nothing: %v", o.Kind)
		}
		r.must("ann", "r", "a", "1")
		if o := r.SendWait(context.Background(), cmd); o.Kind != room.Accepted || o.Result.Seq != 2 {
			t.Errorf("then: %v seq %d", o.Kind, o.Result.Seq)
		}
	})
}

// Judging 8: what follows a row whose commit is under way waits for it, and is judged by how that ended.
func TestFollowsARowUnderWay(t *testing.T) {
	for _, ok := range []bool{true, false} {
		bubble(t, options(), func(t *testing.T, r *rig) {
			g := make(gate)
			r.store.set(func(f *faults) {
				f.before = func(b *store.Batch) error {
					if <-g; b.Commands[0].Key.ID == "a" && !ok {
						return store.ErrAgain
					}
					return nil
				}
			})
			a := r.post(nil, command("ann", "r", "a", "1"))
			synctest.Wait()
			cmd := command("ann", "r", "b", "2")
			cmd.Follows = "a"
			b := r.post(nil, cmd)
			close(g)
			<-a
			want := room.OutOfOrder
			if ok {
				want = room.Accepted
			}
			if o := <-b; o.Kind != want {
				t.Errorf("the first stored: %v; then the second is %v, want %v", ok, o.Kind, want)
			}
		})
	}
}

func TestAFailedStoreEndsAcknowledging(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		r.must("ann", "r", "a", "a")
		g := make(gate)
		r.store.set(func(f *faults) { f.before = func(*store.Batch) error { <-g; return errors.New("no space left") } })
		b := r.post(nil, command("ann", "r", "b", "b"))
		synctest.Wait()
		queued := r.post(nil, command("ann", "r", "c", "c"))
		close(g)
		for name, o := range map[string]room.Outcome{"in the commit": <-b, "queued": <-queued} {
			if o.Kind != room.Unavailable || o.RetryAfterMs == 0 {
				t.Errorf("%s: %+v", name, o)
			}
		}
		<-r.Failed()
		r.store.set(func(f *faults) { f.before = nil })
		if o := r.say("ann", "r", "a", "a"); o.Kind != room.Unavailable {
			t.Errorf("a duplicate after the failure: %v", o.Kind)
		}
		if o := r.Status(context.Background(), idem.Key{Actor: "ann", Room: "r", ID: "a"}, 0); o.Kind != room.Unavailable {
			t.Errorf("a status after the failure: %v", o.Kind)
		}
		ctx := context.Background()
		_, _, err := r.History(ctx, "r", 10, engine.Page{Rows: 10})
		_, err2 := r.Read(ctx, "r", nil, engine.Page{Rows: 10})
		_, err3 := r.List(ctx, "", 10)
		err4 := r.Subscribe(ctx, &reader{actor: "ann"}, "r", nil, engine.Page{Rows: 10}, func(engine.Catchup) { t.Error("answered") })
		for i, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("reading %d after the failure: %v", i, err)
			}
		}
		if n := len(r.log("r")); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
		if s := r.Stats(); !s.Failed || s.CommitErrors != 1 {
			t.Errorf("stats: failed %v, %d errors", s.Failed, s.CommitErrors)
		}
	})
}

func TestDrainFinishesWhatIsQueued(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		a := r.post(nil, command("ann", "r", "a", "a"))
		synctest.Wait()
		b := r.post(nil, command("ann", "r", "b", "b"))
		r.Drain()
		late := <-r.post(nil, command("ann", "r", "c", "c"))
		if late.Kind != room.Draining || late.RetryAfterMs < 1000 || late.RetryAfterMs > 2000 {
			t.Errorf("too late: %+v", late)
		}
		close(g)
		if x, y := <-a, <-b; x.Kind != room.Accepted || y.Kind != room.Accepted {
			t.Errorf("what was queued: %v, %v", x.Kind, y.Kind)
		}
		if !r.Stats().Draining {
			t.Error("stats don't say that it drains")
		}
	})
}

func TestCloseGivesUpACommitThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil, options())
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		a := r.post(nil, command("ann", "r", "a", "a"))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(g)
		if o := <-a; o.Kind != room.Unavailable {
			t.Errorf("given up: %v", o.Kind)
		}
		r.stop()
	})
}

func TestAFullQueueTurnsAway(t *testing.T) {
	for name, set := range map[string]func(*engine.Options){
		"commands": func(o *engine.Options) { o.QueueCommands = 3 },
		"bytes":    func(o *engine.Options) { o.QueueBytes = 3 * 257 },
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			set(&o)
			bubble(t, o, func(t *testing.T, r *rig) {
				g := make(gate)
				r.store.set(func(f *faults) { f.before = g.hold })
				answers := []<-chan room.Outcome{r.post(nil, command("ann", "r", "0", "x"))}
				synctest.Wait() // under way: it no longer waits
				for i := range 3 {
					answers = append(answers, r.post(nil, command("ann", "r", fmt.Sprint(i+1), "x")))
				}
				if s := r.Stats(); s.QueueCommands != 3 || s.QueueBytes != 3*257 {
					t.Errorf("queued: %d commands, %d bytes", s.QueueCommands, s.QueueBytes)
				}
				var waits []int64
				for range 4 {
					over := <-r.post(nil, command("ann", "r", "4", "x"))
					if over.Kind != room.Unavailable || over.RetryAfterMs < 1000 || over.RetryAfterMs > 2000 {
						t.Errorf("over the bound: %+v", over)
					}
					waits = append(waits, over.RetryAfterMs)
				}
				slices.Sort(waits)
				if len(slices.Compact(waits)) != 4 {
					t.Errorf("turned away together, they come back together: %v", waits)
				}
				close(g)
				for _, a := range answers {
					if o := <-a; o.Kind != room.Accepted {
						t.Errorf("queued: %v", o.Kind)
					}
				}
			})
		})
	}
}

func TestGroupsAreBounded(t *testing.T) {
	o := options()
	o.GroupCommands, o.GroupBytes = 4, 2*(256+100)
	bubble(t, o, func(t *testing.T, r *rig) {
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		answers := []<-chan room.Outcome{r.post(nil, command("ann", "r", "first", "x"))}
		synctest.Wait()
		long := string(make([]byte, 100))
		for i := range 5 {
			answers = append(answers, r.post(nil, command("ann", "r", fmt.Sprint("long", i), long)))
		}
		answers = append(answers, r.post(nil, command("ann", "r", "huge", string(make([]byte, 5000)))))
		close(g)
		for i, a := range answers {
			if o := <-a; o.Result.Seq != int64(i+1) {
				t.Errorf("command %d got seq %d", i, o.Result.Seq)
			}
		}
		r.store.set(func(f *faults) {
			if want := []int{1, 2, 2, 1, 1}; !slices.Equal(f.sizes, want) {
				t.Errorf("groups of %v, want %v", f.sizes, want)
			}
		})
	})
}

func TestSendWaitEndsWithItsContext(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		began := time.Now()
		if o := r.SendWait(ctx, command("ann", "r", "a", "a")); o.Kind != room.InProgress || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), o.Kind)
		}
		close(g)
		synctest.Wait()
		if o := r.say("ann", "r", "a", "a"); o.Kind != room.Duplicate {
			t.Errorf("then: %v", o.Kind)
		}
	})
}

func TestStatusWaitsForASendOfItsKey(t *testing.T) {
	bubble(t, options(), func(t *testing.T, r *rig) {
		g := make(gate)
		r.store.set(func(f *faults) { f.before = g.hold })
		a := r.post(nil, command("ann", "r", "a", "a"))
		synctest.Wait()
		b := r.post(nil, command("ann", "r", "b", "b"))
		ctx := context.Background()
		key := func(id string) idem.Key { return idem.Key{Actor: "ann", Room: "r", ID: id} }
		if o := r.Status(ctx, key("never"), 0); o.Kind != room.NotFound {
			t.Errorf("of another key: %v", o.Kind)
		}
		if o := r.Status(ctx, key("a"), 0); o.Kind != room.InProgress {
			t.Errorf("under way for long: %v", o.Kind)
		}
		said := make(chan room.Outcome, 2)
		go func() { said <- r.Status(ctx, key("a"), 0); said <- r.Status(ctx, key("b"), 0) }()
		synctest.Wait()
		close(g)
		for _, sent := range []<-chan room.Outcome{a, b} {
			want(t, <-said, room.Duplicate, (<-sent).Result)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*engine.Options){
		"no encoder":       func(o *engine.Options) { o.Encode = nil },
		"no group":         func(o *engine.Options) { o.GroupCommands = 0 },
		"negative page":    func(o *engine.Options) { o.PageBytes = -1 },
		"results too soon": func(o *engine.Options) { o.Policy.ResultAgeMs = o.RetentionMs - 1 },
		"rate, no burst":   func(o *engine.Options) { o.SendRate = 1 },
		"negative rate":    func(o *engine.Options) { o.SendRate = -1 },
		"negative poll":    func(o *engine.Options) { o.Poll = -1 },
	} {
		o := options()
		spoil(&o)
		if e, err := engine.New(nil, nil, o); err == nil || e != nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What was dropped by number is told as unknown by status and send alike: it lies behind the room's horizon.
func TestBehindTheHorizon(t *testing.T) {
	o := options()
	o.Policy = store.Policy{ResultRows: 1}
	bubble(t, o, func(t *testing.T, r *rig) {
		cmd := command("ann", "r", "a", "1")
		cmd.SentAt = time.Now().UnixMilli()
		r.SendWait(context.Background(), cmd)
		time.Sleep(time.Second)
		r.must("ann", "r", "b", "2")
		time.Sleep(o.PurgeEvery)
		if got := r.Status(context.Background(), cmd.Key, cmd.SentAt); got.Kind != room.OutcomeUnknown {
			t.Errorf("status: %v", got.Kind)
		}
		if got := r.SendWait(context.Background(), cmd); got.Kind != room.OutcomeUnknown {
			t.Errorf("send: %v", got.Kind)
		}
		if got := r.Status(context.Background(), idem.Key{Actor: "ann", Room: "r", ID: "never"}, 0); got.Kind != room.NotFound {
			t.Errorf("status of a young key: %v", got.Kind)
		}
	})
}

// A key is queued twice behind a commit that hangs; its first send fails. Status speaks of the last.
func TestStatusWaitsForTheLastSend(t *testing.T) {
	o := options()
	o.GroupCommands = 1
	bubble(t, o, func(t *testing.T, r *rig) {
		g := make(gate)
		n := 0
		r.store.set(func(f *faults) {
			f.before = func(*store.Batch) error {
				if <-g; n == 0 {
					n++
					return store.ErrAgain
				}
				return nil
			}
		})
		first := r.post(nil, command("ann", "r", "a", "x"))
		again := r.post(nil, command("ann", "r", "a", "x"))
		synctest.Wait()
		said := make(chan room.Outcome, 1)
		go func() { said <- r.Status(context.Background(), idem.Key{Actor: "ann", Room: "r", ID: "a"}, 0) }()
		synctest.Wait()
		g <- struct{}{}
		if o := <-first; o.Kind != room.Unavailable {
			t.Errorf("the first: %v", o.Kind)
		}
		synctest.Wait()
		select {
		case o := <-said:
			t.Errorf("status of a key that is under way: %v", o.Kind)
		default:
			g <- struct{}{}
			want(t, <-said, room.Duplicate, (<-again).Result)
		}
	})
}
