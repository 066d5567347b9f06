package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// capacityOfASource follows the registrations: the largest that stands, also after it shrank or went.
func capacityOfASource(t *testing.T, p Place) {
	closed := shop
	closed.Open = false
	k := ruled(t, p, closed)
	name := func(key string) gateway.Name { return gateway.Name{Tenant: "t", Source: "s", Key: key} }
	register := func(key string, capacity int64) gateway.Command {
		return &gateway.Register{Name: name(key), Scope: settle.ScopeWire, LRUCapacity: capacity}
	}
	want := func(n int64) {
		t.Helper()
		k.viewBooks(func(v store.BooksView) {
			if got := must(v.Capacity("t", "s"))(t); got != n {
				t.Fatalf("capacity %d, want %d", got, n)
			}
		})
	}
	k.all(gateway.Done, register("a", 5), register("b", 9), register("c", 9), register("d", 0))
	want(9)
	k.all(gateway.Done, register("b", 2))
	want(9)
	k.all(gateway.Done, &gateway.Unregister{Name: name("c")})
	want(5)
	k.all(gateway.Done, register("a", 1), register("a", 7), register("a", 3)) // in one commit
	want(3)
	k.reopen()
	want(3)
	k.all(gateway.Done, &gateway.Unregister{Name: name("a")}, &gateway.Unregister{Name: name("b")})
	want(0)
	k.all(gateway.Done, register("z", 1<<40))
	want(1 << 40)
	k.viewBooks(func(v store.BooksView) {
		if got := must(v.Capacity("t", "none"))(t); got != 0 {
			t.Errorf("capacity of another source: %d", got)
		}
	})
}

// repeatedKeys come the most recent first, per currency and source, with a bound, and only those that qualify.
func repeatedKeys(t *testing.T, p Place) {
	k := ruled(t, p, shop) // two hits at least
	k.all(gateway.Done, &gateway.SetSource{Tenant: "t", Source: "s2", Settings: shop})
	repeat := func(source, key, currency string, times int) {
		for range times {
			e := k.event(key)
			e.Source, e.Currency = source, currency
			k.all(gateway.Done, e)
		}
	}
	repeat("s", "a", "USD", 3)
	repeat("s", "b", "USD", 2) // one hit
	repeat("s", "c", "USD", 4)
	repeat("s", "d", "JPY", 3)
	repeat("s2", "e", "USD", 3)
	list := func(currency, source string, limit int64) (s string) {
		k.viewBooks(func(v store.BooksView) {
			for _, e := range must(v.Repeated(currency, "t", source, limit))(t) {
				s += fmt.Sprint(e.DedupeKey, e.Hits, " ")
			}
		})
		return s
	}
	check := func(got, want string) {
		t.Helper()
		if strings.TrimSpace(got) != want {
			t.Fatalf("repeated %q, want %q", got, want)
		}
	}
	check(list("USD", "s", 10), "c3 a2")
	check(list("USD", "s", 1), "c3")
	check(list("USD", "s", 0), "")
	check(list("JPY", "s", 10), "d2")
	check(list("USD", "s2", 10), "e2")
	check(list("EUR", "s", 10), "")
	repeat("s", "b", "USD", 1)
	repeat("s", "a", "USD", 1)
	check(list("USD", "s", 10), "a3 b2 c3")
	k.now += 200_000
	repeat("s", "a", "JPY", 3) // out of the window: another currency of the same key
	check(list("USD", "s", 10), "a3 b2 c3")
	check(list("JPY", "s", 10), "a2 d2")
	k.reopen()
	check(list("JPY", "s", 1), "a2")
}

// bodiesErased: by source and moment, never of an event in the outbox, and whoever has the record still has its facts.
func bodiesErased(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	k.all(gateway.Done, &gateway.SetSource{Tenant: "t", Source: "s2", Settings: shop})
	var numbers []int64
	for i := range 12 { // more than a step of a store that goes in steps
		k.now = Start + int64(i)
		numbers = append(numbers, k.deliver(gateway.Accept, k.event(fmt.Sprint(i))).Number)
		if i != 3 {
			k.all(gateway.Done, &gateway.Settled{Number: numbers[i], OK: i != 5, Reason: "404"})
		}
	}
	other := k.deliver(gateway.Accept, NewEvent(gateway.Name{Tenant: "t", Source: "s2", Key: "k"}, "other")).Number
	erase := func(source string, before, want int64) {
		t.Helper()
		if got := must(k.books().EraseBodies(t.Context(), "t", source, before))(t); got != want {
			t.Fatalf("erased %d, want %d", got, want)
		}
	}
	erase("none", 2*Start, 0)
	erase("s", Start, 0)
	erase("s", Start+11, 9) // all before the last but one waiting and one dead
	erase("s", Start+11, 0)
	k.viewBooks(func(v store.BooksView) {
		for i, n := range append(numbers, other) {
			kept := i == 3 || i == 5 || i >= 11
			if b := must(v.Body(n))(t); (b != nil) != kept {
				t.Errorf("body of event %d: %v", i, b)
			}
			if e := recordOf(t, must(v.Record(n))(t)).Record.(*gateway.EventRecord); e.Digest == (gateway.Hash{}) {
				t.Errorf("record %d lost its digest", n)
			}
		}
		for _, n := range []int64{1, 0, -1, 1 << 40} { // the policy's record, and none
			if b := must(v.Body(n))(t); b != nil {
				t.Errorf("body %d: %v", n, b)
			}
		}
	})
	k.all(gateway.Done, &gateway.Settled{Number: numbers[3], OK: true}, &gateway.Discard{Tenant: "t", ID: k.idOf(numbers[5])})
	k.reopen()
	erase("s", 2*Start, 3)
	erase("s2", 2*Start, 1)
}

// namesApart: tenants, sources, keys and ids whose bytes run into each other are different ones.
func namesApart(t *testing.T, p Place) {
	k := openBooks(t, p)
	k.all(gateway.Done, &gateway.SetPolicy{})
	long := strings.Repeat("ü", 128)
	columns := []string{"a", "ab", "abc", "b", "!", "a!", "a!b", "ÿ", "aÿ", "\U0010FFFF", long, "ev_"}
	n := 0
	for _, tenant := range columns {
		for _, source := range columns {
			k.all(gateway.Done, &gateway.SetSource{Tenant: tenant, Source: source, Settings: forwarding})
			for _, key := range columns {
				n++
				k.deliver(gateway.Accept, NewEvent(gateway.Name{Tenant: tenant, Source: source, Key: key}, fmt.Sprint(n, key[:min(len(key), 60)])))
			}
		}
	}
	k.reopen()
	k.viewBooks(func(v store.BooksView) {
		if all := len(must(v.Sources())(t)); all != len(columns)*len(columns) {
			t.Errorf("%d sources", all)
		}
		if all := len(must(v.Books())(t)); all != len(columns)*len(columns) {
			t.Errorf("%d books", all)
		}
		seen := 0
		var last gateway.Name
		for k, err := range v.Keys("", "", "") {
			must(k, err)(t)
			if less := k.Tenant > last.Tenant || k.Tenant == last.Tenant && (k.Source > last.Source || k.Source == last.Source && k.Name.Key > last.Key); !less {
				t.Fatalf("%q comes after %q", k.Name, last)
			}
			last = k.Name
			seen++
		}
		if seen != n {
			t.Errorf("%d keys, want %d", seen, n)
		}
		rows, _, err := v.Due("a", "a!", 1<<60, 100)
		if len(must(rows, err)(t)) != len(columns) {
			t.Errorf("%d rows are due of one source", len(rows))
		}
	})
}

// recordsInPages begin after any number.
func recordsInPages(t *testing.T, p Place) {
	k := ruled(t, p, shop)
	for i := range 5 {
		k.deliver(gateway.Accept, k.event(fmt.Sprint(i))) // and a registration each
	}
	k.viewBooks(func(v store.BooksView) {
		for _, after := range []int64{-1, 0, 1, 7, 11, 12, 1 << 40} {
			next := max(after, 0)
			for record, err := range v.Records(after) {
				if next++; recordOf(t, must(record, err)(t)).Number != next {
					t.Fatalf("after %d comes not %d", after, next)
				}
			}
			if next != max(12, after) {
				t.Errorf("after %d the last is %d", after, next)
			}
		}
		for record := range v.Records(3) { // whoever has enough leaves
			if recordOf(t, record).Number != 4 {
				t.Error("not the fourth")
			}
			break
		}
		for _, n := range []int64{-1, 0, 13} {
			if must(v.Record(n))(t) != nil {
				t.Errorf("there is a record %d", n)
			}
		}
		if n := must(v.Number("none"))(t); n != 0 {
			t.Errorf("an unknown id has number %d", n)
		}
	})
}

// eventsOfATenant: each tenant's events are found without the others', from any number downwards, one commit or many.
func eventsOfATenant(t *testing.T, p Place) {
	k := ruled(t, p, shop)
	tenants := []string{"t", "t!", "ta", "u", "ü"}
	for _, tenant := range tenants[1:] {
		k.all(gateway.Done, &gateway.SetSource{Tenant: tenant, Source: "s", Settings: shop})
	}
	want := map[string][]int64{}
	enter := func(n int) {
		var commands []gateway.Command
		var of []string
		for i := range n {
			tenant := tenants[(i*i+n)%len(tenants)]
			id := fmt.Sprintf("of-%d-%d", k.now, i)
			commands = append(commands, NewEvent(gateway.Name{Tenant: tenant, Source: "s", Key: id}, id))
			of = append(of, tenant)
		}
		for i, o := range k.all(gateway.Done, commands...) {
			want[of[i]] = append(want[of[i]], o.Number)
		}
		k.now++
	}
	look := func() {
		t.Helper()
		k.viewBooks(func(v store.BooksView) {
			for tenant, all := range want {
				for _, before := range []int64{math.MaxInt64, all[len(all)-1], all[len(all)/2], all[len(all)/2] + 1, all[0], 0, -5} {
					var some []int64
					for _, n := range slices.Backward(all) {
						if n < before {
							some = append(some, n)
						}
					}
					if got := tenantEvents(t, v, tenant, before); !slices.Equal(got, some) {
						t.Fatalf("tenant %q before %d: %v, want %v", tenant, before, got, some)
					}
				}
				for n := range v.TenantEvents(tenant, math.MaxInt64) { // whoever has enough leaves
					if n != all[len(all)-1] {
						t.Errorf("tenant %q: the last is %d", tenant, n)
					}
					break
				}
			}
			if got := tenantEvents(t, v, "nobody", math.MaxInt64); len(got) > 0 {
				t.Errorf("nobody has %v", got)
			}
		})
	}
	for i := range 30 {
		enter(i%7 + 1)
	}
	look()
	k.reopen()
	enter(1500) // more than a row of an index holds
	for range 10 {
		enter(3)
	}
	look()
	k.reopen()
	look()
}

// booksAreNotShared: what a caller does with its own buffers afterwards changes nothing in the store.
func booksAreNotShared(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	e := k.event("k")
	k.deliver(gateway.Accept, e)
	k.deliver(gateway.DuplicatePending, k.event("k"))
	issues := []string{"one"}
	k.all(gateway.Done, &gateway.Proven{Proof: gateway.Proof{At: 1, Issues: issues}})
	before := k.picture()
	e.Body.Bytes[0], e.Body.Headers[0].Name, issues[0] = '!', "!", "!"
	k.viewBooks(func(v store.BooksView) {
		v.Head().Proof.Issues[0] = "!"
		must(v.Body(4))(t).Bytes[0] = '!'
		must(v.Record(2))(t)[3] = '!'
		must(v.Key(e.Name))(t).Hits[0].Count = 99
		must(v.Delivery(4))(t).Reason = "!"
	})
	same(t, k.picture(), before)
}

// viewsAreWholeBatches reads while others write: every batch holds an accept and its repeat, so that a view which shows one without the other, or books without
// their record, saw half of a commit.
func viewsAreWholeBatches(t *testing.T, p Place) {
	k := ruled(t, p, forwarding)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				if err := k.books().ViewBooks(context.Background(), wholeBatches); err != nil {
					t.Errorf("view: %v", err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 100 {
		k.all(gateway.Done, k.event(fmt.Sprint(i)), k.event(fmt.Sprint(i)))
	}
	close(stop)
	wg.Wait()
}

func wholeBatches(v store.BooksView) error {
	books, errBooks := v.Books()
	outbox, errOutbox := v.Outbox()
	keys, waiting := int64(0), int64(0)
	for _, err := range v.Keys("t", "s", "") {
		errBooks = errors.Join(errBooks, err)
		keys++
	}
	for _, c := range outbox {
		waiting += c.Waiting
	}
	if len(books) == 0 {
		return errors.Join(errBooks, errOutbox)
	}
	c, number := books[0].Totals.Counts, v.Head().Number
	last, errLast := v.Record(number)
	next, errNext := v.Record(number + 1)
	if c.Accept != c.Dedupe() || c.Accept != keys || c.Accept != waiting || number != 2+3*keys || last == nil || next != nil {
		return fmt.Errorf("%+v, %d keys, %d waiting, head %d", c, keys, waiting, number)
	}
	return errors.Join(errBooks, errOutbox, errLast, errNext)
}
