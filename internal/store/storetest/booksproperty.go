package storetest

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

// booksProperty runs random batches, erasures and restarts against the oracle: same outcomes and, step by step, the same rows; the rows equal a fold
// over the records, and the books a settlement of the events in them.
func booksProperty(t *testing.T, fresh func(testing.TB) Place) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		at := &booksScene{p: fresh(outer), oracle: memory.New(), now: Start}
		at.s = must(at.p.TryOpen())(t)
		defer func() { at.s.Close() }()
		at.begin(t)
		t.Repeat(map[string]func(*rapid.T){
			"enter":  at.enter,
			"Enter":  at.enter, // more often than the rest
			"ENTER":  at.enter,
			"erase":  at.erase,
			"reopen": at.reopen,
			"fail":   at.fail,
			"":       at.check,
		})
		at.whole(t)
	})
}

type booksScene struct {
	p      Place
	s      store.Store
	oracle *memory.Store
	now    int64
	events int
	head   int64
	steps  int
}

var (
	someTenants = []string{"t", "t2"}
	someSources = []string{"s", "s!", "ß"}
	someKeys    = []string{"a", "b", "ab"}
)

func (at *booksScene) begin(t *rapid.T) {
	at.take(t, &gateway.SetPolicy{Policy: settle.Policy{
		BlockWindowS: rapid.Int64Range(0, 20).Draw(t, "block"), ScopeStrict: rapid.Bool().Draw(t, "strict"),
		LRUMinHits: rapid.Int64Range(0, 3).Draw(t, "hits"),
	}})
	for _, tenant := range someTenants {
		for _, source := range someSources {
			at.take(t, at.source(t, tenant, source))
		}
	}
}

func (at *booksScene) source(t *rapid.T, tenant, source string) gateway.Command {
	guard := gateway.Guard(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "guard"))
	return &gateway.SetSource{Tenant: tenant, Source: source, Settings: gateway.Settings{
		Guard: guard, GuardS: int64(min(guard, 1)) * 20,
		WindowS: rapid.SampledFrom([]int64{0, 10, 30}).Draw(t, "window"), Scope: at.scope(t, 1),
		LRUCapacity: rapid.Int64Range(0, 3).Draw(t, "capacity"), Open: rapid.IntRange(0, 3).Draw(t, "open") > 0,
		Forward: rapid.Bool().Draw(t, "forward"), Parts: rapid.Int64Range(1, 2).Draw(t, "parts"),
	}}
}

func (at *booksScene) scope(t *rapid.T, from int) settle.Scope {
	return settle.Scope(rapid.IntRange(from, 2).Draw(t, "scope"))
}

// take enters one batch into both stores, and expects the same outcomes.
func (at *booksScene) take(t *rapid.T, commands ...gateway.Command) {
	want := must(at.oracle.Enter(t.Context(), at.now, commands))(t)
	got, err := at.s.(store.Books).Enter(t.Context(), at.now, commands)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%+v, %v\nwant\n%+v", got, err, want)
	}
	for _, o := range want {
		at.head = max(at.head, o.Number)
	}
}

func (at *booksScene) enter(t *rapid.T) {
	at.now += rapid.SampledFrom([]int64{0, 1, 900, 5_000, 12_000, 40_000, -3_000}).Draw(t, "tick")
	at.take(t, rapid.SliceOfN(rapid.Custom(at.command), 1, 6).Draw(t, "commands")...)
}

func (at *booksScene) name(t *rapid.T) gateway.Name {
	return gateway.Name{
		Tenant: rapid.SampledFrom(someTenants).Draw(t, "tenant"), Source: rapid.SampledFrom(someSources).Draw(t, "source"),
		Key: rapid.SampledFrom(someKeys).Draw(t, "key"),
	}
}

func (at *booksScene) command(t *rapid.T) gateway.Command {
	switch n := at.name(t); rapid.IntRange(0, 19).Draw(t, "command") {
	case 0:
		return &gateway.Register{Name: n, Scope: at.scope(t, 1), WindowS: rapid.SampledFrom([]int64{0, 5, 50}).Draw(t, "window"), LRUCapacity: rapid.Int64Range(0, 4).Draw(t, "capacity"), By: "ann"}
	case 1:
		return &gateway.Unregister{Name: n, By: "ann"}
	case 2:
		return at.source(t, n.Tenant, n.Source)
	case 3:
		return &gateway.Proven{Proof: gateway.Proof{Number: at.head, At: at.now, OK: rapid.Bool().Draw(t, "ok"), Issues: []string{"i"}}}
	case 4, 5, 6, 7, 8:
		return at.try(t)
	case 9:
		return &gateway.Replay{Tenant: n.Tenant, ID: at.id(t), Key: rapid.Uint64Range(0, 3).Draw(t, "replay"), By: "ann"}
	case 10:
		return &gateway.Discard{Tenant: n.Tenant, ID: at.id(t), By: "ann"}
	default:
		return at.event(t, n)
	}
}

func (at *booksScene) event(t *rapid.T, n gateway.Name) gateway.Command {
	at.events++
	e := NewEvent(n, fmt.Sprintf("ev_%d", at.events))
	e.Currency = rapid.SampledFrom([]string{"USD", "USD", "JPY"}).Draw(t, "currency")
	e.Scope, e.State = at.scope(t, 0), settle.State(rapid.IntRange(0, 1).Draw(t, "state"))
	e.Fingerprint[0] = rapid.SampledFrom([]byte{1, 1, 2}).Draw(t, "content")
	e.Strict = rapid.Bool().Draw(t, "reject")
	e.Body.Bytes = []byte(rapid.SampledFrom([]string{"", "x", e.ID}).Draw(t, "body"))
	e.Digest = gateway.HashOf(e.Body.Bytes)
	e.Amount = rapid.SampledFrom([]string{"1.00", "0.00000001", "999999999999999999", "-1"}).Draw(t, "amount")
	e.Value, e.AmountOK = settle.ParseAmount([]byte(e.Amount))
	if e.Named = rapid.Bool().Draw(t, "named"); e.Named {
		e.SeenAt = at.now/1000 + rapid.Int64Range(-20, 20).Draw(t, "seen")
	}
	if rapid.IntRange(0, 4).Draw(t, "body") == 0 {
		e.Body = nil
	}
	return e
}

// id is one that the stores may know.
func (at *booksScene) id(t *rapid.T) string {
	return fmt.Sprintf("ev_%d", rapid.IntRange(0, at.events).Draw(t, "id"))
}

func (at *booksScene) try(t *rapid.T) gateway.Command {
	number := rapid.Int64Range(1, max(at.head, 1)).Draw(t, "number")
	if waiting := at.waiting(t); len(waiting) > 0 && rapid.IntRange(0, 4).Draw(t, "real") > 0 {
		number = rapid.SampledFrom(waiting).Draw(t, "waiting")
	}
	interval := rapid.Int64Range(0, 9_000).Draw(t, "interval")
	switch rapid.IntRange(0, 4).Draw(t, "try") {
	case 0:
		return &gateway.Attempt{Number: number, IntervalMs: interval}
	case 1:
		return &gateway.Untried{Number: number, IntervalMs: interval, LastMs: at.now}
	case 2:
		return &gateway.Failed{Number: number, Reason: "503", RetryAtMs: at.now + interval, TookMs: interval / 2}
	case 3:
		return &gateway.Settled{Number: number, Reason: "404"}
	}
	return &gateway.Settled{Number: number, OK: true}
}

func (at *booksScene) waiting(t *rapid.T) (numbers []int64) {
	viewBooks(t, at.oracle, func(v store.BooksView) {
		for d, err := range v.Deliveries() {
			if must(d, err)(t); d.State == gateway.Waiting {
				numbers = append(numbers, d.Number)
			}
		}
	})
	return numbers
}

func (at *booksScene) erase(t *rapid.T) {
	n, before := at.name(t), at.now-rapid.SampledFrom([]int64{-1, 0, 5_000, 50_000}).Draw(t, "age")
	want := must(at.oracle.EraseBodies(t.Context(), n.Tenant, n.Source, before))(t)
	if got := must(at.s.(store.Books).EraseBodies(t.Context(), n.Tenant, n.Source, before))(t); got != want {
		t.Fatalf("erased %d, want %d", got, want)
	}
}

func (at *booksScene) reopen(t *rapid.T) {
	if err := at.s.Close(); err != nil {
		t.Fatal(err)
	}
	at.s = must(at.p.TryOpen())(t)
}

// fail enters a batch whose last command is none: nothing of it may stay.
func (at *booksScene) fail(t *rapid.T) {
	commands := append(rapid.SliceOfN(rapid.Custom(at.command), 1, 6).Draw(t, "commands"), nil)
	if _, err := at.s.(store.Books).Enter(context.Background(), at.now, commands); err == nil {
		t.Fatal("a batch with no command in it was taken")
	}
	if _, err := at.oracle.Enter(context.Background(), at.now, commands); err == nil {
		t.Fatal("the oracle took a batch with no command in it")
	}
}

// check holds the store against the oracle after every third step: a difference stays.
func (at *booksScene) check(t *rapid.T) {
	if at.steps++; at.steps%3 == 0 {
		at.whole(t)
	}
}

func (at *booksScene) whole(t *rapid.T) {
	var is, want []string
	viewBooks(t, at.s.(store.Books), func(v store.BooksView) {
		is = picture(t, v)
		FoldsTo(t, v)
		SettlesTo(t, v)
	})
	viewBooks(t, at.oracle, func(v store.BooksView) { want = picture(t, v) })
	same(t, is, want)
}
