package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/room"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// everyCommand carries out each kind of command, and reads what it left.
func everyCommand(t *testing.T, p Place) {
	k := openBooks(t, p)
	policy := settle.Policy{BlockWindowS: 60, ScopeStrict: true, LRUMinHits: 2}
	n := gateway.Name{Tenant: "t", Source: "s", Key: "k"}
	settings := forwarding
	settings.Open = false
	k.all(gateway.NoPolicy, &gateway.SetSource{Tenant: "t", Source: "s", Settings: settings})
	k.all(gateway.NoSource, k.event("k"), &gateway.Register{Name: n, Scope: settle.ScopeWire})
	k.all(gateway.Done, &gateway.SetPolicy{Policy: policy}, &gateway.SetSource{Tenant: "t", Source: "s", Settings: settings})
	k.all(gateway.Done, &gateway.Register{Name: n, Scope: settle.ScopeSchema, LRUCapacity: 7, By: "ann"})
	k.all(gateway.Done, &gateway.Unregister{Name: n, By: "ann"})
	k.deliver(gateway.UnknownKey, k.event("k"))
	k.all(gateway.Done, &gateway.Register{Name: n, Scope: settle.ScopeSchema, LRUCapacity: 7, By: "ann"})
	k.all(gateway.HasEvent, &gateway.Unregister{Name: n, By: "ann"})
	first := k.deliver(gateway.Accept, k.event("k"))
	k.all(gateway.Done, &gateway.Attempt{Number: first.Number, IntervalMs: 500})
	k.all(gateway.Done, &gateway.Untried{Number: first.Number}, &gateway.Attempt{Number: first.Number, IntervalMs: 700}, &gateway.Failed{Number: first.Number, Reason: "503"})
	k.viewBooks(func(v store.BooksView) {
		want := gateway.Delivery{
			Number: first.Number, ID: first.ID, Name: n, Ordinal: 1, State: gateway.Waiting, Reason: "503", Since: Start,
			Attempts: 1, Sends: 1, IntervalMs: 700, LastMs: Start, Due: Start + 700,
		}
		if d := must(v.Delivery(first.Number))(t); d == nil || fmt.Sprint(*d) != fmt.Sprint(want) {
			t.Errorf("delivery %+v, want %+v", d, want)
		}
	})
	k.all(gateway.Done, &gateway.Settled{Number: first.Number, Reason: "404"})
	k.all(gateway.Done, &gateway.Replay{Tenant: "t", ID: first.ID, Key: 9, By: "ann"})
	k.all(gateway.Done, &gateway.Settled{Number: first.Number, Reason: "404"})
	k.all(gateway.Same, &gateway.Replay{Tenant: "t", ID: first.ID, Key: 9, By: "ann"})
	k.all(gateway.Done, &gateway.Discard{Tenant: "t", ID: first.ID, By: "ann"})
	k.all(gateway.Done, &gateway.Proven{Proof: gateway.Proof{Number: 3, At: Start, Events: 2, Issues: []string{"one", "two"}}})
	k.deliver(gateway.DuplicatePending, k.event("k"))
	var kinds []string
	k.viewBooks(func(v store.BooksView) {
		for record, err := range v.Records(0) {
			switch r := recordOf(t, must(record, err)(t)).Record.(type) {
			case *gateway.DeliveryRecord:
				kinds = append(kinds, r.What)
			case *gateway.EventRecord:
				kinds = append(kinds, r.Decision.String())
			default:
				kinds = append(kinds, fmt.Sprintf("%T", r)[len("*gateway."):])
			}
		}
		if h := v.Head(); h.Policy != policy || h.Proof.Number != 3 || len(h.Proof.Issues) != 2 || h.Number != int64(len(kinds)) {
			t.Errorf("head %+v after %d records", h, len(kinds))
		}
	})
	want := "[PolicyRecord SourceRecord RegisterRecord UnregisterRecord unknown_key RegisterRecord accept dead revived dead discarded duplicate_pending]"
	if fmt.Sprint(kinds) != want {
		t.Errorf("records %v\nwant %s", kinds, want)
	}
}

// oneBatchOneAccept: two deliveries of one key in one batch give one accept, and the second one knows the first.
func oneBatchOneAccept(t *testing.T, p Place) {
	k := ruled(t, p, shop)
	out := k.all(gateway.Done, k.event("k"), k.event("k"), k.event("other"), k.event("k"))
	for i, want := range []gateway.Decision{gateway.Accept, gateway.DuplicateDone, gateway.Accept, gateway.DuplicateDone} {
		if out[i].Decision != want || out[i].Number != out[0].Number+int64(i)+[]int64{0, 0, 1, 1}[i] { // a registration comes before the third
			t.Errorf("event %d: %+v, want %v", i, out[i], want)
		}
	}
	if out[3].RootID != out[0].ID || out[3].Repeats != 1 {
		t.Errorf("the last repeats %+v", out[3])
	}
}

// manyAtOnce: fifty deliveries of one key from as many goroutines give one accept (G08).
func manyAtOnce(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	var wg sync.WaitGroup
	outcomes := make([]gateway.Outcome, 50)
	for i := range outcomes {
		e := k.event("k")
		wg.Go(func() {
			out, err := k.books().Enter(t.Context(), Start, []gateway.Command{e})
			if err != nil {
				t.Error(err)
				return
			}
			outcomes[i] = out[0]
		})
	}
	wg.Wait()
	accepted, numbers := 0, map[int64]bool{}
	for _, o := range outcomes {
		if numbers[o.Number] = true; o.Decision == gateway.Accept {
			accepted++
		}
	}
	if accepted != 1 || len(numbers) != len(outcomes) {
		t.Errorf("%d accepts, %d numbers", accepted, len(numbers))
	}
}

// nothingOfAFailedBatch: a batch with a command that is none leaves nothing, and costs those after it nothing.
func nothingOfAFailedBatch(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	k.deliver(gateway.Accept, k.event("k"))
	before := k.picture()
	if _, err := k.books().Enter(t.Context(), k.now, []gateway.Command{k.event("k"), k.event("new"), nil}); err == nil {
		t.Fatal("no command was taken for one")
	}
	same(t, k.picture(), before)
	k.reopen()
	same(t, k.picture(), before)
	k.deliver(gateway.DuplicatePending, k.event("k"))
}

// nothingChangedNothingWritten: what stands already leaves no record.
func nothingChangedNothingWritten(t *testing.T, p Place) {
	k := ruled(t, p, shop)
	reg := &gateway.Register{Name: k.event("k").Name, Scope: settle.ScopeWire, LRUCapacity: 3}
	k.all(gateway.Done, reg)
	before := k.picture()
	k.all(gateway.Same, reg, &gateway.SetSource{Tenant: "t", Source: "s", Settings: shop}, &gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 60, LRUMinHits: 2}})
	k.all(gateway.Fixed, &gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 61, LRUMinHits: 2}})
	k.all(gateway.NoRow, &gateway.Attempt{Number: 1}, &gateway.Settled{Number: 99}, &gateway.Discard{Tenant: "t", ID: "ev_none"})
	ahead := k.event("k")
	ahead.Named, ahead.SeenAt = true, Start/1000+gateway.MaxAheadS+1
	k.all(gateway.Ahead, ahead)
	ahead.SeenAt = Start/1000 - gateway.MaxBehindS - 1
	k.all(gateway.Behind, ahead)
	k.all(gateway.NoKey, &gateway.Unregister{Name: k.event("none").Name})
	same(t, k.picture(), before)
}

// roomsAndBooks: both halves of a store live beside each other.
func roomsAndBooks(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	for i := range 20 {
		k.send(Start, room.Accepted, Send("r", "ann", fmt.Sprint(i), "x"))
		k.deliver(gateway.Accept, k.event(fmt.Sprint(i)))
	}
	before := k.picture()
	k.purge(store.Policy{JournalRows: 3, ResultRows: 4}, Start)
	same(t, k.picture(), before)
	k.reopen()
	same(t, k.picture(), before)
	k.seqs("r", 18, 19, 20)
	k.send(Start, room.Duplicate, Send("r", "ann", "19", "x"))
	k.deliver(gateway.DuplicatePending, k.event("19"))
}

func (k *booksKit) picture() (lines []string) {
	k.t.Helper()
	k.viewBooks(func(v store.BooksView) { lines = picture(k.t, v) })
	return lines
}

// booksClosed: a closed store answers no question of the books.
func booksClosed(t *testing.T, p Place) {
	k := ruled(t, p, shop)
	s := k.books()
	if err := k.s.Close(); err != nil {
		t.Fatal(err)
	}
	_, enter := s.Enter(t.Context(), Start, []gateway.Command{k.event("k")})
	view := s.ViewBooks(t.Context(), func(store.BooksView) error { t.Error("a closed store was read"); return nil })
	_, erase := s.EraseBodies(t.Context(), "t", "s", 1)
	for what, err := range map[string]error{"enter": enter, "view": view, "erase": erase} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
	k.s = p.Open(t)
}

// booksCancelled: a call whose context has ended changes nothing and reads nothing.
func booksCancelled(t *testing.T, p Place) {
	k := ruled(t, p, shop)
	before := k.picture()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, enter := k.books().Enter(ctx, Start, []gateway.Command{k.event("k")})
	view := k.books().ViewBooks(ctx, func(store.BooksView) error { t.Error("read after all"); return nil })
	_, erase := k.books().EraseBodies(ctx, "t", "s", 2*Start)
	for what, err := range map[string]error{"enter": enter, "view": view, "erase": erase} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", what, err)
		}
	}
	same(t, k.picture(), before)
	failed := errors.New("the reader's own")
	if err := k.books().ViewBooks(t.Context(), func(store.BooksView) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("view: %v, want the reader's error", err)
	}
}

// booksReopened: a store opened anew shows what it showed, and goes on where it was.
func booksReopened(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	for i := range 30 {
		k.now += 7_000
		k.all(gateway.Done, k.event(fmt.Sprint(i%4)), k.event(fmt.Sprint(i%7)))
	}
	before := k.picture()
	for range 2 {
		k.reopen()
		same(t, k.picture(), before)
	}
	k.viewBooks(func(v store.BooksView) { FoldsTo(t, v); SettlesTo(t, v) })
	head := int64(0)
	k.viewBooks(func(v store.BooksView) { head = v.Head().Number })
	if o := k.deliver(gateway.DuplicatePending, k.event("1")); o.Number != head+1 {
		t.Errorf("number %d after %d", o.Number, head)
	}
}
