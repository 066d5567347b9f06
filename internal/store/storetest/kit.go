package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Retention is the one that the checks promise, in ms. Their clock starts at Start.
const (
	Retention = int64(10_000)
	Start     = int64(1_000_000)
)

// Send makes a command whose fingerprint is that of its text.
func Send(roomName, actor, id, text string) room.Command {
	c := room.Command{Key: idem.Key{Actor: actor, Room: roomName, ID: id}, Text: text}
	sum := sha256.Sum256([]byte(text))
	c.Fingerprint[0] = 1
	copy(c.Fingerprint[1:], sum[:])
	return c
}

// kit is a store under check, with short words for what the checks do.
type kit struct {
	t testing.TB
	p Place
	s store.Store
}

func open(t testing.TB, p Place) *kit {
	k := &kit{t: t, p: p, s: p.Open(t)}
	t.Cleanup(func() { k.s.Close() })
	return k
}

func (k *kit) reopen() {
	k.t.Helper()
	if err := k.s.Close(); err != nil {
		k.t.Fatalf("close: %v", err)
	}
	k.s = k.p.Open(k.t)
}

func (k *kit) commit(now int64, cmds ...room.Command) []room.Outcome {
	k.t.Helper()
	out, err := k.s.Commit(context.Background(), &store.Batch{Now: now, RetentionMs: Retention, Commands: cmds, Judge: room.Decide})
	if err != nil {
		k.t.Fatalf("commit: %v", err)
	}
	if len(out) != len(cmds) {
		k.t.Fatalf("%d outcomes of %d commands", len(out), len(cmds))
	}
	return out
}

// send commits one command and expects an outcome.
func (k *kit) send(now int64, want room.Kind, cmd room.Command) room.Outcome {
	k.t.Helper()
	out := k.commit(now, cmd)[0]
	if out.Kind != want {
		k.t.Fatalf("%s/%s/%s at %d: %v, want %v", cmd.Key.Room, cmd.Key.Actor, cmd.Key.ID, now, out.Kind, want)
	}
	return out
}

// fill sends n messages of one actor, a commit and a millisecond each.
func (k *kit) fill(name string, from, n int, now int64) {
	k.t.Helper()
	for i := from; i < from+n; i++ {
		k.send(now+int64(i-from), room.Accepted, Send(name, "ann", fmt.Sprintf("id-%d", i), fmt.Sprintf("text %d", i)))
	}
}

func (k *kit) view(f func(store.View)) {
	k.t.Helper()
	if err := k.s.View(context.Background(), func(v store.View) error { f(v); return nil }); err != nil {
		k.t.Fatalf("view: %v", err)
	}
}

func (k *kit) state(name string) (st room.State) {
	k.t.Helper()
	k.view(func(v store.View) { st = must(v.Room(name))(k.t) })
	return st
}

func (k *kit) rows(name string) (rows []room.Message) {
	k.t.Helper()
	k.view(func(v store.View) {
		var more bool
		var err error
		rows, more, err = v.After(name, 0, 1<<30, 1<<30)
		if err != nil || more {
			k.t.Fatalf("after: more %v, %v", more, err)
		}
	})
	return rows
}

func (k *kit) result(key idem.Key) (res idem.Result, known bool) {
	k.t.Helper()
	k.view(func(v store.View) {
		var err error
		if res, known, err = v.Result(key); err != nil {
			k.t.Fatalf("result: %v", err)
		}
	})
	return res, known
}

func (k *kit) purge(p store.Policy, now int64) store.Purged {
	k.t.Helper()
	return must(k.s.Purge(context.Background(), p, now))(k.t)
}

func (k *kit) seqs(name string, want ...int64) {
	k.t.Helper()
	rows := k.rows(name)
	got := make([]int64, len(rows))
	for i := range rows {
		got[i] = rows[i].Seq
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.t.Fatalf("room %q holds rows %v, want %v", name, got, want)
	}
}

// Failer is a test or a property.
type Failer interface {
	Helper()
	Fatal(args ...any)
}

func must[T any](v T, err error) func(Failer) T {
	return func(t Failer) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
