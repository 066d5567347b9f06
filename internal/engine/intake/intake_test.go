package intake_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a store that answers each command with the number of its event's key, and whose commits can be held and failed.
type scripted struct {
	store.Books // what no test asks for

	mu     sync.Mutex
	groups [][]string // keys of each commit
	nows   []int64
	hold   chan struct{} // a commit waits until it gets a value, where not nil
	err    error         // of the next commit
	short  bool          // give an outcome too few
	view   error
}

func (s *scripted) Enter(ctx context.Context, now int64, commands []gateway.Command) ([]gateway.Outcome, error) {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.err; err != nil {
		s.err = nil
		return nil, err
	}
	var keys []string
	var out []gateway.Outcome
	for _, c := range commands {
		o := gateway.Outcome{Kind: gateway.Done, Decision: gateway.Accept}
		if e, ok := c.(*gateway.Event); ok {
			keys = append(keys, e.Key)
			o.ID = "id of " + e.Key
			if e.Key == "rejected" {
				o.Decision = gateway.BadAmount
			}
		}
		out = append(out, o)
	}
	s.groups, s.nows = append(s.groups, keys), append(s.nows, now)
	if s.short {
		out = out[1:]
	}
	return out, nil
}

func (s *scripted) ViewBooks(_ context.Context, f func(store.BooksView) error) error {
	if s.view != nil {
		return s.view
	}
	return f(nil)
}

func (s *scripted) EraseBodies(context.Context, string, string, int64) (int64, error) {
	return 3, s.view
}

func event(key string) gateway.Command {
	return &gateway.Event{Name: gateway.Name{Tenant: "t", Source: "s", Key: key}, Body: &gateway.Body{Bytes: []byte("0123456789")}}
}

func batch(prefix string, n int) (out []gateway.Command) {
	for i := range n {
		out = append(out, event(fmt.Sprint(prefix, i)))
	}
	return out
}

func start(t *testing.T, s *scripted, change func(o *intake.Options)) *intake.Intake {
	t.Helper()
	o := intake.DefaultOptions()
	if change != nil {
		change(&o)
	}
	i, err := intake.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func end(t *testing.T, i *intake.Intake) {
	t.Helper()
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// entering enters beside, and gives the answer on a channel.
func entering(ctx context.Context, i *intake.Intake, commands ...gateway.Command) <-chan error {
	done := make(chan error, 1)
	go func() {
		outcomes, err := i.Enter(ctx, commands...)
		for n := range outcomes {
			if e, ok := commands[n].(*gateway.Event); ok && outcomes[n].ID != "id of "+e.Key {
				err = fmt.Errorf("%s was answered for %s", outcomes[n].ID, e.Key)
			}
		}
		if err == nil && len(outcomes) != len(commands) {
			err = fmt.Errorf("%d outcomes for %d commands", len(outcomes), len(commands))
		}
		done <- err
	}()
	return done
}

func TestWhatComesDuringACommitIsTheNextGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{hold: make(chan struct{})}
		i := start(t, s, nil)
		first := entering(t.Context(), i, event("a"))
		synctest.Wait()
		var others []<-chan error
		for _, k := range []string{"b", "c", "d"} {
			others = append(others, entering(t.Context(), i, event(k)))
			synctest.Wait()
		}
		many := entering(t.Context(), i, batch("m", 5)...)
		synctest.Wait()
		if st := i.Stats(); st.QueueCommands != 8 || st.QueueBytes < 80 {
			t.Errorf("8 commands of 10 bytes wait, not %d of %d bytes", st.QueueCommands, st.QueueBytes)
		}
		select {
		case err := <-first:
			t.Fatalf("answered before the commit: %v", err)
		default:
		}
		time.Sleep(time.Second) // of the bubble: the second commit is stamped later
		s.hold <- struct{}{}
		s.hold <- struct{}{}
		for _, done := range append(others, first, many) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := fmt.Sprint(s.groups); got != "[[a] [b c d m0 m1 m2 m3 m4]]" {
			t.Errorf("groups: %s", got)
		}
		if s.nows[1]-s.nows[0] != 1000 {
			t.Errorf("stamps: %v", s.nows)
		}
		end(t, i)
		if st := i.Stats(); st.CommitSeconds.Count() != 2 || st.GroupSize.Sum != 9 || st.QueueCommands != 0 || st.QueueBytes != 0 || !st.Draining {
			t.Errorf("%+v", st)
		}
	})
}

func TestABatchStaysInOneGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{hold: make(chan struct{})}
		i := start(t, s, func(o *intake.Options) { o.GroupCommands = 4 })
		var all []<-chan error
		all = append(all, entering(t.Context(), i, event("first")))
		synctest.Wait()
		for _, c := range [][]gateway.Command{batch("a", 3), batch("b", 2), batch("c", 9), batch("d", 1)} {
			all = append(all, entering(t.Context(), i, c...))
			synctest.Wait()
		}
		close(s.hold)
		for _, done := range all {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := fmt.Sprint(s.groups); got != "[[first] [a0 a1 a2] [b0 b1] [c0 c1 c2 c3 c4 c5 c6 c7 c8] [d0]]" {
			t.Errorf("groups: %s", got)
		}
		end(t, i)
	})
}

func TestTheQueueIsBounded(t *testing.T) {
	for _, bound := range []struct {
		name string
		set  func(o *intake.Options)
	}{
		{"commands", func(o *intake.Options) { o.QueueCommands = 3 }},
		{"bytes", func(o *intake.Options) { o.QueueBytes = 3 * 600 }},
	} {
		t.Run(bound.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{hold: make(chan struct{})}
				i := start(t, s, bound.set)
				under := entering(t.Context(), i, batch("large", 50)...) // nothing waits: it is taken though over the bound
				synctest.Wait()
				waits := entering(t.Context(), i, batch("w", 2)...)
				synctest.Wait()
				if _, err := i.Enter(t.Context(), batch("more", 2)...); !errors.Is(err, intake.ErrBusy) {
					t.Errorf("more than may wait: %v", err)
				}
				if n := i.Stats().TurnedAway; n != 1 {
					t.Errorf("turned away: %d", n)
				}
				close(s.hold)
				for _, done := range []<-chan error{under, waits} {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if err := <-entering(t.Context(), i, event("again")); err != nil {
					t.Errorf("after the queue is empty: %v", err)
				}
				end(t, i)
			})
		})
	}
}

func TestDrainAnswersWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{hold: make(chan struct{})}
		i := start(t, s, nil)
		first := entering(t.Context(), i, event("a"))
		synctest.Wait()
		second := entering(t.Context(), i, event("b"))
		synctest.Wait()
		i.Drain()
		if _, err := i.Enter(t.Context(), event("late")); !errors.Is(err, intake.ErrDraining) {
			t.Errorf("while draining: %v", err)
		}
		close(s.hold)
		for _, done := range []<-chan error{first, second} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		end(t, i)
	})
}

func TestACommitThatWontEndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{hold: make(chan struct{})}
		i := start(t, s, nil)
		done := entering(t.Context(), i, event("a"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := i.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if err := <-done; !errors.Is(err, intake.ErrUnavailable) {
			t.Errorf("Enter: %v", err)
		}
	})
}

func TestWhoGivesUpLeavesTheRestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{hold: make(chan struct{})}
		i := start(t, s, nil)
		first := entering(t.Context(), i, event("a"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := entering(ctx, i, event("b"))
		synctest.Wait()
		last := entering(t.Context(), i, event("c"))
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up: %v", err)
		}
		if _, err := i.Enter(ctx, event("never")); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context: %v", err)
		}
		close(s.hold)
		for _, done := range []<-chan error{first, last} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		end(t, i)
		if got := fmt.Sprint(s.groups); got != "[[a] [b c]]" {
			t.Errorf("groups: %s", got)
		}
	})
}

func TestAFailedCommit(t *testing.T) {
	for _, c := range []struct {
		name    string
		plan    func(s *scripted)
		goesOn  bool
		carries error
	}{
		{"the store goes on", func(s *scripted) { s.err = fmt.Errorf("busy: %w", store.ErrAgain) }, true, store.ErrAgain},
		{"a sync failed", func(s *scripted) { s.err = store.ErrBroken }, false, store.ErrBroken},
		{"an unknown error", func(s *scripted) { s.err = errors.New("the disk is on fire") }, false, intake.ErrUnavailable},
		{"an outcome too few", func(s *scripted) { s.short = true }, false, intake.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{}
				c.plan(s)
				i := start(t, s, nil)
				_, err := i.Enter(t.Context(), event("a"))
				if !errors.Is(err, intake.ErrUnavailable) || !errors.Is(err, c.carries) {
					t.Errorf("Enter: %v", err)
				}
				failed := false
				select {
				case <-i.Failed():
					failed = true
				default:
				}
				_, again := i.Enter(t.Context(), event("b"))
				if failed == c.goesOn || (again == nil) != c.goesOn || i.Stats().Failed == c.goesOn || i.Stats().CommitErrors != 1 {
					t.Errorf("failed %v, then %v, %+v", failed, again, i.Stats())
				}
				end(t, i)
			})
		})
	}
}

func TestQueuedHintsAtWhatMayBeDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := start(t, &scripted{}, nil)
		for _, c := range []struct {
			command gateway.Command
			hints   bool
		}{
			{event("a"), true},
			{event("rejected"), false},
			{&gateway.Settled{Number: 1, OK: true}, true},
			{&gateway.Replay{}, true},
			{&gateway.Attempt{Number: 1}, false},
			{&gateway.Register{}, false},
		} {
			for range 3 { // the channel holds one value: a commit never waits for a reader
				if _, err := i.Enter(t.Context(), c.command); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			hinted := false
			select {
			case <-i.Queued():
				hinted = true
			default:
			}
			if hinted != c.hints {
				t.Errorf("%T: hint %v", c.command, hinted)
			}
		}
		end(t, i)
	})
}

func TestReadingTellsTheCallersErrorsFromTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		i := start(t, s, nil)
		own := errors.New("not found")
		if err := i.View(t.Context(), func(intake.View) error { return own }); err != own {
			t.Errorf("the caller's own error: %v", err)
		}
		if n, err := i.EraseBodies(t.Context(), "t", "s", 1); n != 3 || err != nil {
			t.Error(n, err)
		}
		s.view = errors.New("a bad block")
		if err := i.View(t.Context(), func(intake.View) error { return nil }); !errors.Is(err, intake.ErrUnavailable) || i.Stats().Failed {
			t.Errorf("a reading that failed: %v", err)
		}
		s.view = store.ErrBroken
		if _, err := i.EraseBodies(t.Context(), "t", "s", 1); !errors.Is(err, intake.ErrUnavailable) {
			t.Error(err)
		}
		<-i.Failed()
		end(t, i)
	})
}

func TestALimitOfZeroIsRefused(t *testing.T) {
	for _, set := range []func(o *intake.Options){
		func(o *intake.Options) { o.QueueCommands = 0 }, func(o *intake.Options) { o.QueueBytes = 0 },
		func(o *intake.Options) { o.GroupCommands = 0 }, func(o *intake.Options) { o.GroupBytes = -1 },
	} {
		o := intake.DefaultOptions()
		set(&o)
		if _, err := intake.New(&scripted{}, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// Many callers with batches of their own: everybody gets the answers to what they entered, and each commit holds whole batches.
func TestManyCallers(t *testing.T) {
	s := &scripted{}
	i := start(t, s, func(o *intake.Options) { o.GroupCommands = 32; o.QueueCommands = 1 << 20 })
	const callers, rounds = 16, 50
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for r := range rounds {
				if err := <-entering(t.Context(), i, batch(fmt.Sprintf("%d/%d/", c, r), 1+(c+r)%7)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	end(t, i)
	want, got := 0, 0
	for c := range callers {
		for r := range rounds {
			want += 1 + (c+r)%7
		}
	}
	for _, g := range s.groups {
		got += len(g)
		if len(g) > 32 {
			t.Errorf("a group of %d", len(g))
		}
	}
	if got != want {
		t.Errorf("%d commands were committed, not %d", got, want)
	}
}
