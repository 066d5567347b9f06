package storetest

import (
	"fmt"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// accepted enters fresh events of a key as far apart as its window wants, each in a commit, and returns their numbers.
func (k *booksKit) accepted(key string, n int) (numbers []int64) {
	k.t.Helper()
	for range n {
		k.now += 101_000
		numbers = append(numbers, k.deliver(gateway.Accept, k.event(key)).Number)
	}
	return numbers
}

// queue returns the numbers of a key that wait for a time, and those that are held.
func (k *booksKit) queue(key string) (due, held []int64) {
	k.viewBooks(func(v store.BooksView) {
		for d, err := range v.Deliveries() {
			switch must(d, err)(k.t); {
			case d.Name.Key != key || d.State != gateway.Waiting:
			case d.Due == gateway.Held:
				held = append(held, d.Number)
			default:
				due = append(due, d.Number)
			}
		}
	})
	return due, held
}

func (k *booksKit) queued(key, want string) {
	k.t.Helper()
	due, held := k.queue(key)
	if got := fmt.Sprint(due, " ", held); got != want {
		k.t.Fatalf("of key %q wait %s, want %s", key, got, want)
	}
}

func numbers(n ...int64) string { return fmt.Sprint(n) }

// heldByKey: the next event of a key waits until the one before is done, dead or discarded; a dead one that comes back goes before those that came later,
// but never beside one that is being sent.
func heldByKey(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	n := k.accepted("k", 5)
	other := k.accepted("other", 1)
	k.queued("k", numbers(n[0])+" "+numbers(n[1:]...))
	k.queued("other", numbers(other[0])+" []")
	k.all(gateway.NoRow, &gateway.Attempt{Number: n[1]}) // its turn hasn't come
	k.all(gateway.Done, &gateway.Settled{Number: n[0], OK: true})
	k.queued("k", numbers(n[1])+" "+numbers(n[2:]...))
	k.all(gateway.Done, &gateway.Settled{Number: n[1], Reason: "404"})
	k.queued("k", numbers(n[2])+" "+numbers(n[3:]...))
	k.all(gateway.Done, &gateway.Replay{Tenant: "t", ID: k.idOf(n[1]), Key: 1})
	k.queued("k", numbers(n[2])+" "+numbers(n[1], n[3], n[4]))
	k.reopen()
	k.all(gateway.Done, &gateway.Settled{Number: n[2], OK: true})
	k.queued("k", numbers(n[1])+" "+numbers(n[3:]...)) // the lower number first
	k.all(gateway.Done, &gateway.Settled{Number: n[1], OK: true}, &gateway.Settled{Number: n[3], OK: true})
	k.queued("k", numbers(n[4])+" []")
	k.all(gateway.Done, &gateway.Settled{Number: n[4], OK: true})
	k.queued("k", "[] []")
}

// requestsThatComeAgain: a decision about a dead letter is answered as at first for a day after its row has gone, also after a start; then it is
// forgotten, a few with each that is put.
func requestsThatComeAgain(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	const hour = 3_600_000
	settle := func(key string) (replayed, discarded string) {
		n := k.accepted(key, 2)
		k.all(gateway.Done, &gateway.Settled{Number: n[0], Reason: "404"}, &gateway.Settled{Number: n[1], Reason: "404"})
		replayed, discarded = k.idOf(n[0]), k.idOf(n[1])
		k.all(gateway.Done, &gateway.Replay{Tenant: "t", ID: replayed, Key: 1}, &gateway.Discard{Tenant: "t", ID: discarded, Key: 2}, &gateway.Settled{Number: n[0], OK: true})
		return replayed, discarded
	}
	type pair struct{ replayed, discarded string }
	var all []pair
	for i := range 20 {
		replayed, discarded := settle(fmt.Sprint("k", i))
		all = append(all, pair{replayed, discarded})
	}
	for range 2 {
		for _, of := range all {
			k.all(gateway.Same, &gateway.Replay{Tenant: "t", ID: of.replayed, Key: 1}, &gateway.Discard{Tenant: "t", ID: of.discarded, Key: 2})
			k.all(gateway.NoRow, &gateway.Replay{Tenant: "t", ID: of.replayed, Key: 3}, &gateway.Replay{Tenant: "other", ID: of.replayed, Key: 1}, &gateway.Discard{Tenant: "t", ID: of.discarded, Key: 3})
		}
		k.now += 20 * hour
		k.reopen()
	}
	k.now -= 20 * hour
	k.now += 5 * hour
	k.all(gateway.NoRow, &gateway.Replay{Tenant: "t", ID: all[0].replayed, Key: 1}, &gateway.Discard{Tenant: "t", ID: all[19].discarded, Key: 2})
	for i := range 10 { // each forgets some of those before
		replayed, discarded := settle(fmt.Sprint("later", i))
		k.all(gateway.Same, &gateway.Replay{Tenant: "t", ID: replayed, Key: 1}, &gateway.Discard{Tenant: "t", ID: discarded, Key: 2})
	}
	k.reopen()
	for _, of := range all {
		k.all(gateway.NoRow, &gateway.Replay{Tenant: "t", ID: of.replayed, Key: 1}, &gateway.Discard{Tenant: "t", ID: of.discarded, Key: 2})
	}
}

// heldAcrossCommits lets the front of a key die, come back and be settled again and again: what a store remembers of where the held rows begin must
// follow downwards too.
func heldAcrossCommits(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	first := k.accepted("k", 2)
	k.now += 101_000 // one comes in the same commit as the end of the first: the one held before is next
	last := k.all(gateway.Done, k.event("k"), &gateway.Settled{Number: first[0], OK: true})[0].Number
	k.queued("k", numbers(first[1])+" "+numbers(last))
	k.all(gateway.Done, &gateway.Settled{Number: first[1], OK: true}, &gateway.Settled{Number: last, OK: true})
	n := k.accepted("k", 6)
	die := func(i int) gateway.Command { return &gateway.Settled{Number: n[i], Reason: "404"} }
	back := func(i int, key uint64) gateway.Command {
		return &gateway.Replay{Tenant: "t", ID: k.idOf(n[i]), Key: key}
	}
	k.all(gateway.Done, die(0))
	k.all(gateway.Done, die(1))
	k.queued("k", numbers(n[2])+" "+numbers(n[3:]...))
	k.all(gateway.Done, back(0, 1))
	k.all(gateway.Done, back(1, 1))
	k.all(gateway.Done, die(2))
	k.queued("k", numbers(n[0])+" "+numbers(n[1], n[3], n[4], n[5]))
	k.all(gateway.Done, die(0), die(1), die(3), back(0, 2), die(4)) // all in one commit, the first goes and comes
	k.queued("k", numbers(n[0])+" "+numbers(n[5]))
	k.all(gateway.Done, back(4, 1), back(1, 2), die(0))
	k.queued("k", numbers(n[1])+" "+numbers(n[4], n[5]))
	k.all(gateway.Done, die(1))
	k.queued("k", numbers(n[4])+" "+numbers(n[5]))
	k.all(gateway.Done, back(2, 3))
	k.all(gateway.Done, die(4))
	k.queued("k", numbers(n[2])+" "+numbers(n[5]))
}

func (k *booksKit) idOf(number int64) (id string) {
	k.viewBooks(func(v store.BooksView) {
		id = recordOf(k.t, must(v.Record(number))(k.t)).Record.(*gateway.EventRecord).ID
	})
	return id
}

// dueInOrder: rows come by due time; what was taken off the front, moved or put before it shows in the next view.
func dueInOrder(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	k.all(gateway.Done, &gateway.SetSource{Tenant: "t", Source: "s2", Settings: forwarding}, &gateway.SetSource{Tenant: "t2", Source: "s", Settings: forwarding})
	var n []int64
	for i := range 6 {
		k.now = Start + int64(i)
		n = append(n, k.deliver(gateway.Accept, k.event(fmt.Sprint(i))).Number)
	}
	for _, name := range []gateway.Name{{Tenant: "t", Source: "s2", Key: "k"}, {Tenant: "t2", Source: "s", Key: "k"}} {
		k.ids++
		k.all(gateway.Done, NewEvent(name, fmt.Sprint("ev_", k.ids)))
	}
	k.due(Start+10, 10, n, gateway.Held)
	k.due(Start+2, 10, n[:3], Start+3)
	k.due(Start+10, 2, n[:2], Start+2)
	k.due(Start-1, 10, nil, Start)
	k.due(Start+10, 0, nil, Start)
	k.all(gateway.Done, &gateway.Settled{Number: n[0], OK: true}, &gateway.Settled{Number: n[1], Reason: "404"})
	k.due(Start+10, 10, n[2:], gateway.Held)
	k.now = Start + 100
	k.all(gateway.Done, &gateway.Attempt{Number: n[2], IntervalMs: 50})
	k.due(Start+100, 10, n[3:], Start+150)
	k.now = Start + 1 // a clock that went back puts a row before the others
	k.all(gateway.Done, &gateway.Replay{Tenant: "t", ID: k.idOf(n[1]), Key: 1})
	k.due(Start+2, 10, n[1:2], Start+3)
	k.all(gateway.Done, &gateway.Settled{Number: n[1], OK: true}, &gateway.Settled{Number: n[3], OK: true}, &gateway.Settled{Number: n[4], OK: true}, &gateway.Settled{Number: n[5], OK: true})
	k.due(Start+100, 10, nil, Start+150)
	k.all(gateway.Done, &gateway.Settled{Number: n[2], OK: true})
	k.due(Start+200, 10, nil, gateway.Held)
	last := k.deliver(gateway.Accept, k.event("6")).Number
	k.due(Start+200, 10, []int64{last}, gateway.Held)
	k.reopen()
	k.due(Start+200, 10, []int64{last}, gateway.Held)
}

func (k *booksKit) due(at int64, limit int, want []int64, next int64) {
	k.t.Helper()
	k.viewBooks(func(v store.BooksView) {
		rows, then, err := v.Due("t", "s", at, limit)
		got := []int64{}
		for _, d := range must(rows, err)(k.t) {
			got = append(got, d.Number)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || then != next {
			k.t.Fatalf("due at %d, limit %d: %v, next %d; want %v, next %d", at, limit, got, then, want, next)
		}
	})
}

// deadLetters: they are found by tenant and by source, in pages, and go with a replay or a discard; another tenant can't touch them.
func deadLetters(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	k.all(gateway.Done, &gateway.SetSource{Tenant: "t", Source: "s2", Settings: forwarding}, &gateway.SetSource{Tenant: "t2", Source: "s", Settings: forwarding})
	var n []int64
	for i, name := range []gateway.Name{{Tenant: "t", Source: "s", Key: "a"}, {Tenant: "t", Source: "s2", Key: "b"}, {Tenant: "t2", Source: "s", Key: "c"}, {Tenant: "t", Source: "s", Key: "d"}, {Tenant: "t", Source: "s", Key: "e"}} {
		n = append(n, k.deliver(gateway.Accept, NewEvent(name, fmt.Sprint("dead_", i))).Number)
		k.all(gateway.Done, &gateway.Settled{Number: n[i], Reason: "410"})
	}
	k.dead("t", "", 0, 10, n[0], n[1], n[3], n[4])
	k.dead("t", "s", 0, 10, n[0], n[3], n[4])
	k.dead("t", "s2", 0, 10, n[1])
	k.dead("t2", "", 0, 10, n[2])
	k.dead("t", "", n[1], 1, n[3])
	k.dead("t", "s", n[0], 10, n[3], n[4])
	k.dead("t", "", n[4], 10)
	k.dead("t", "", 0, 0)
	k.dead("", "", 0, 10)
	k.all(gateway.NoRow, &gateway.Replay{Tenant: "t2", ID: "dead_0", Key: 1}, &gateway.Discard{Tenant: "t2", ID: "dead_0"})
	k.all(gateway.Done, &gateway.Replay{Tenant: "t", ID: "dead_0", Key: 1}, &gateway.Discard{Tenant: "t", ID: "dead_3"})
	k.all(gateway.NotDead, &gateway.Discard{Tenant: "t", ID: "dead_0"})
	k.dead("t", "", 0, 10, n[1], n[4])
	k.viewBooks(func(v store.BooksView) {
		want := []store.OutboxCount{{Tenant: "t", Source: "s", Waiting: 1, Dead: 1}, {Tenant: "t", Source: "s2", Dead: 1}, {Tenant: "t2", Source: "s", Dead: 1}}
		if got := must(v.Outbox())(t); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("outbox %v, want %v", got, want)
		}
	})
}

func (k *booksKit) dead(tenant, source string, after int64, limit int, want ...int64) {
	k.t.Helper()
	k.viewBooks(func(v store.BooksView) {
		var got []int64
		for _, d := range must(v.DeadLetters(tenant, source, after, limit))(k.t) {
			if got = append(got, d.Number); d.Reason != "410" || d.State != gateway.Dead {
				k.t.Fatalf("dead letter %+v", d)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			k.t.Fatalf("dead letters of %q/%q after %d, limit %d: %v, want %v", tenant, source, after, limit, got, want)
		}
	})
}
