package storetest

import (
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// guardedBodies: a body that comes again under another key of a guarded source is found within the window, whatever lies between, also after
// a restart; nothing is kept beyond two windows, nor at a source that isn't guarded.
func guardedBodies(t *testing.T, p Place) {
	flag := shop
	flag.Guard, flag.GuardS = gateway.GuardFlag, 10
	k := ruled(t, p, flag)
	body := func(key, text string) *gateway.Event {
		e := k.event(key)
		e.Digest = gateway.HashOf([]byte(text))
		return e
	}
	twin := func(want gateway.Decision, e *gateway.Event, of int64) int64 {
		t.Helper()
		o := k.all(gateway.Done, e)[0]
		if o.Decision != want || o.TwinNumber != of || (o.TwinID != "") != (of > 0) {
			t.Fatalf("%+v, want %v of %d", o, want, of)
		}
		return o.Number
	}
	rows := func(want int) {
		t.Helper()
		k.viewBooks(func(v store.BooksView) {
			n := 0
			for row, err := range v.Index() {
				if must(row, err)(t).Kind == store.IndexTwin {
					n++
				}
			}
			if n != want {
				t.Fatalf("%d bodies are kept, want %d", n, want)
			}
			FoldsTo(t, v)
		})
	}
	out := k.all(gateway.Done, body("a", "x"), body("b", "x"), body("a", "x"), body("c", "y")) // in one commit
	if out[0].TwinNumber != 0 || out[1].TwinNumber != out[0].Number || out[2].Decision != gateway.DuplicateDone || out[2].TwinNumber != 0 || out[3].TwinNumber != 0 {
		t.Fatalf("%+v", out)
	}
	k.reopen()
	k.now += 10_000 // the bound is inside
	d := twin(gateway.Accept, body("d", "x"), out[1].Number)
	rows(3)
	k.now += 10_001
	e := twin(gateway.Accept, body("e", "x"), 0)
	twin(gateway.Accept, body("f", "y"), 0)
	rows(3)
	k.now -= 60_000 // a clock that went back forgets nothing
	f := twin(gateway.Accept, body("g", "x"), e)
	rows(3)
	k.now += 1_000_000
	twin(gateway.Accept, body("h", "z"), 0)
	rows(1)
	reject := flag
	reject.Guard = gateway.GuardReject
	k.all(gateway.Done, &gateway.SetSource{Tenant: "t", Source: "s", Settings: reject}, &gateway.SetSource{Tenant: "t", Source: "s2", Settings: shop})
	rows(0)
	i := twin(gateway.Accept, body("i", "z"), 0)
	twin(gateway.Mismatch, body("j", "z"), i)
	twin(gateway.Mismatch, body("j", "z"), i) // what was rejected is nobody's twin
	twin(gateway.DuplicateDone, body("i", "z"), 0)
	other := body("j", "z")
	other.Source = "s2"
	twin(gateway.Accept, other, 0)
	rows(1)
	k.all(gateway.Done, &gateway.SetSource{Tenant: "t", Source: "s", Settings: shop})
	rows(0)
	twin(gateway.Accept, body("k", "z"), 0)
	rows(0)
	if d == f {
		t.Fatal(d)
	}
}
