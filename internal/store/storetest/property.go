package storetest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"hapax/internal/room"
	"hapax/internal/store"
)

// property runs random batches, purges and restarts, with a clock that may jump either way, against the model: same outcomes, and after each
// step the same rows, results and states.
func property(t *testing.T, fresh func(testing.TB) Place) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		at := &scene{p: fresh(outer), m: &model{rooms: map[string]*modelRoom{}}, now: Start, ids: map[string]bool{}}
		at.s = must(at.p.TryOpen())(t)
		defer func() { at.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"commit": at.commit,
			"Commit": at.commit, // twice as often as the rest
			"purge":  at.purge,
			"reopen": at.reopen,
			"":       func(t *rapid.T) { at.m.check(t, at.s) },
		})
	})
}

type scene struct {
	p   Place
	s   store.Store
	m   *model
	now int64
	ids map[string]bool
}

// tick moves the clock, mostly a little forward.
func (at *scene) tick(t *rapid.T) {
	at.now += rapid.SampledFrom([]int64{0, 1, 10, 300, 2_000, 9_000, -500, 100_000, -100_000}).Draw(t, "tick")
}

func (at *scene) commit(t *rapid.T) {
	at.tick(t)
	b := &store.Batch{Now: at.now, RetentionMs: Retention, Judge: room.Decide, Commands: rapid.SliceOfN(rapid.Custom(at.command), 1, 6).Draw(t, "commands")}
	out, err := at.s.Commit(t.Context(), b)
	if err != nil || len(out) != len(b.Commands) {
		t.Fatalf("%d outcomes, %v", len(out), err)
	}
	for i := range b.Commands {
		cmd, want := &b.Commands[i], at.m.judge(b, &b.Commands[i])
		got := out[i]
		if got.Kind == room.Accepted {
			if id := got.Result.MessageID; id == "" || at.ids[id] {
				t.Fatalf("messageId %q given twice", id)
			}
			at.ids[got.Result.MessageID] = true
			want.Result.MessageID, want.Result.Epoch = got.Result.MessageID, at.s.Identity().Epoch
		}
		if got != want {
			t.Fatalf("command %+v: %+v, want %+v", *cmd, got, want)
		}
		if got.Kind == room.Accepted {
			at.m.store(cmd, got.Result)
		}
	}
}

func (at *scene) command(t *rapid.T) room.Command {
	some := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	id := func(label string) string { return fmt.Sprint("i", rapid.IntRange(0, 12).Draw(t, label)) }
	c := Send(some("room", "a", "a_b", "ü", "b"), some("actor", "u", "u_b"), id("id"), some("text", "x", "x", "x", "other"))
	if rapid.IntRange(0, 3).Draw(t, "follows?") == 0 {
		c.Follows = id("follows")
	}
	if rapid.Bool().Draw(t, "data?") {
		c.Data = []byte(`{"k":1}`)
	}
	if rapid.Bool().Draw(t, "sentAt?") {
		c.SentAt = at.now - rapid.Int64Range(-5, 2*Retention).Draw(t, "age")
	}
	return c
}

func (at *scene) purge(t *rapid.T) {
	at.tick(t)
	bound := func(label string, of ...int64) int64 { return rapid.SampledFrom(of).Draw(t, label) }
	p := store.Policy{
		ResultAgeMs: bound("resultAge", 0, 400, Retention), ResultRows: bound("resultRows", 0, 0, 1, 3, 10),
		JournalAgeMs: bound("journalAge", 0, 400, Retention), JournalRows: bound("journalRows", 0, 0, 1, 3, 10),
	}
	got := must(at.s.Purge(t.Context(), p, at.now))(t)
	if want := at.m.purge(p, at.now); got != want {
		t.Fatalf("purge %+v at %d: %+v, want %+v", p, at.now, got, want)
	}
	sums := must(at.s.Stats(t.Context()))(t)
	for _, r := range at.m.rooms {
		for _, row := range r.rows {
			if row.readable {
				sums.Messages--
			}
			if row.known {
				sums.Results--
			}
		}
	}
	if sums.Messages != 0 || sums.Results != 0 {
		t.Fatalf("stats are off by %d messages, %d results", sums.Messages, sums.Results)
	}
}

func (at *scene) reopen(t *rapid.T) {
	before := at.s.Identity()
	if err := at.s.Close(); err != nil {
		t.Fatal(err)
	}
	at.s = must(at.p.TryOpen())(t)
	if at.s.Identity() != before {
		t.Fatalf("identity %+v, was %+v", at.s.Identity(), before)
	}
}
