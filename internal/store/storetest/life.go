package storetest

import (
	"context"
	"errors"
	"testing"

	"hapax/internal/room"
	"hapax/internal/store"
)

func lockedThenFree(t *testing.T, p Place) {
	k := open(t, p)
	if s, err := p.TryOpen(); !errors.Is(err, store.ErrLocked) {
		if s != nil {
			s.Close()
		}
		t.Fatalf("a second opening: %v, want ErrLocked", err)
	}
	k.fill("r", 0, 1, Start) // the first is none the worse
	k.reopen()
	k.seqs("r", 1)
}

func closedAnswersErrClosed(t *testing.T, p Place) {
	k := open(t, p)
	k.fill("r", 0, 1, Start)
	for range 2 {
		if err := k.s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	ctx := t.Context()
	_, commit := k.s.Commit(ctx, &store.Batch{Now: Start, Judge: room.Decide, Commands: []room.Command{Send("r", "ann", "B", "b")}})
	view := k.s.View(ctx, func(store.View) error { t.Error("a closed store was read"); return nil })
	_, purge := k.s.Purge(ctx, store.Policy{JournalRows: 1}, Start)
	_, stats := k.s.Stats(ctx)
	for what, err := range map[string]error{"commit": commit, "view": view, "purge": purge, "stats": stats} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
}

func cancelledStoresNothing(t *testing.T, p Place) {
	k := open(t, p)
	k.fill("r", 0, 2, Start)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, commit := k.s.Commit(ctx, &store.Batch{Now: Start, Judge: room.Decide, Commands: []room.Command{Send("r", "ann", "B", "b")}})
	view := k.s.View(ctx, func(store.View) error { t.Error("read after all"); return nil })
	_, purge := k.s.Purge(ctx, store.Policy{JournalRows: 1, ResultRows: 1}, Start)
	_, stats := k.s.Stats(ctx)
	for what, err := range map[string]error{"commit": commit, "view": view, "purge": purge, "stats": stats} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", what, err)
		}
	}
	k.seqs("r", 1, 2)
	failed := errors.New("the reader's own")
	if err := k.s.View(t.Context(), func(store.View) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("view: %v, want the reader's error", err)
	}
}
