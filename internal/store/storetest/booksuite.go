package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// RunBooks checks the gateway's half of a store against its contract. The stores of the places are store.Books too.
func RunBooks(t *testing.T, fresh func(testing.TB) Place) {
	RunBooksFixed(t, fresh)
	t.Run("BooksProperty", func(t *testing.T) { booksProperty(t, fresh) })
}

// RunBooksFixed is RunBooks without the random runs, for places that are slow to make.
func RunBooksFixed(t *testing.T, fresh func(testing.TB) Place) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, Place)
	}{
		{"EmptyBooks", emptyBooks},
		{"EveryCommand", everyCommand},
		{"OneBatchOneAccept", oneBatchOneAccept},
		{"ManyAtOnce", manyAtOnce},
		{"NothingOfAFailedBatch", nothingOfAFailedBatch},
		{"NothingChangedNothingWritten", nothingChangedNothingWritten},
		{"RoomsAndBooks", roomsAndBooks},
		{"HeldByKey", heldByKey},
		{"RequestsThatComeAgain", requestsThatComeAgain},
		{"HeldAcrossCommits", heldAcrossCommits},
		{"DueInOrder", dueInOrder},
		{"DeadLetters", deadLetters},
		{"CapacityOfASource", capacityOfASource},
		{"RepeatedKeys", repeatedKeys},
		{"BodiesErased", bodiesErased},
		{"GuardedBodies", guardedBodies},
		{"NamesApart", namesApart},
		{"RecordsInPages", recordsInPages},
		{"EventsOfATenant", eventsOfATenant},
		{"BooksAreNotShared", booksAreNotShared},
		{"ViewsAreWholeBatches", viewsAreWholeBatches},
		{"BooksReopened", booksReopened},
		{"BooksClosed", booksClosed},
		{"BooksCancelled", booksCancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, fresh(t)) })
	}
}

// booksKit is a store under check, with short words for what the checks of the books do.
type booksKit struct {
	*kit
	now int64
	ids int
}

// shop is the source of most checks: open, with a window of 100 s.
var shop = gateway.Settings{WindowS: 100, Scope: settle.ScopeWire, LRUCapacity: 5, Open: true, Parts: 1}

// forwarding is shop with a destination.
var forwarding = func() gateway.Settings { s := shop; s.Forward = true; return s }()

func openBooks(t testing.TB, p Place) *booksKit { return &booksKit{kit: open(t, p), now: Start} }

// ruled opens a store with a policy and the source "t"/"s".
func ruled(t testing.TB, p Place, s gateway.Settings) *booksKit {
	k := openBooks(t, p)
	k.all(gateway.Done, &gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 60, LRUMinHits: 2}}, &gateway.SetSource{Tenant: "t", Source: "s", Settings: s})
	return k
}

func (k *booksKit) books() store.Books { return k.s.(store.Books) }

func (k *booksKit) enter(commands ...gateway.Command) []gateway.Outcome {
	k.t.Helper()
	out, err := k.books().Enter(context.Background(), k.now, commands)
	if err != nil || len(out) != len(commands) {
		k.t.Fatalf("enter: %d outcomes of %d commands, %v", len(out), len(commands), err)
	}
	return out
}

// all enters one batch and expects one kind of outcome of all its commands.
func (k *booksKit) all(want gateway.Kind, commands ...gateway.Command) []gateway.Outcome {
	k.t.Helper()
	out := k.enter(commands...)
	for i, o := range out {
		if o.Kind != want {
			k.t.Fatalf("command %d %+v: kind %d, want %d", i, commands[i], o.Kind, want)
		}
	}
	return out
}

// event makes a delivery of 1.00 in a key of "t"/"s", with a fresh id.
func (k *booksKit) event(key string) *gateway.Event {
	k.ids++
	return NewEvent(gateway.Name{Tenant: "t", Source: "s", Key: key}, fmt.Sprintf("ev_%d", k.ids))
}

// deliver enters one event and expects a decision.
func (k *booksKit) deliver(want gateway.Decision, e *gateway.Event) gateway.Outcome {
	k.t.Helper()
	o := k.all(gateway.Done, e)[0]
	if o.Decision != want {
		k.t.Fatalf("event %s of %q at %d: %v, want %v", e.ID, e.Key, k.now, o.Decision, want)
	}
	return o
}

// NewEvent makes a delivery of 1.00 XXX whose body and content are its id.
func NewEvent(n gateway.Name, id string) *gateway.Event {
	return &gateway.Event{
		Name: n, ID: id, Amount: "1.00", AmountOK: true, Value: settle.Amount{Whole: 1}, Currency: "XXX",
		Fingerprint: sha256.Sum256([]byte(n.Key)), Digest: sha256.Sum256([]byte(id)),
		Body: &gateway.Body{ContentType: "text/plain", Headers: []gateway.Header{{Name: "X-Id", Value: id}}, Bytes: []byte(id)},
	}
}

func (k *booksKit) viewBooks(f func(store.BooksView)) {
	k.t.Helper()
	viewBooks(k.t, k.books(), f)
}

func viewBooks(t Failer, s store.Books, f func(store.BooksView)) {
	t.Helper()
	if err := s.ViewBooks(context.Background(), func(v store.BooksView) error { f(v); return nil }); err != nil {
		t.Fatal("view of the books:", err)
	}
}

func emptyBooks(t *testing.T, p Place) {
	k := openBooks(t, p)
	k.viewBooks(func(v store.BooksView) {
		if h := v.Head(); h.Number != 0 || h.Ruled || h.Hash != (gateway.Hash{}) {
			t.Errorf("the head of an empty log is %+v", h)
		}
		lines := picture(t, v)
		if len(lines) != 1 {
			t.Errorf("an empty store holds %q", lines)
		}
		rows, next, err := v.Due("t", "s", 1<<60, 10)
		if len(rows) > 0 || next != gateway.Held || err != nil {
			t.Errorf("due: %v, next %d, %v", rows, next, err)
		}
		if n, err := v.Capacity("t", "s"); n != 0 || err != nil {
			t.Errorf("capacity %d, %v", n, err)
		}
	})
}
