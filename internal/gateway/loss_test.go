package gateway_test

import (
	"testing"

	"hapax/internal/gateway"
)

func TestALogIsHeldAgainstWhatIsKnownOfIt(t *testing.T) {
	hash := func(n int64) gateway.Hash { return gateway.HashOf([]byte{byte(n)}) }
	other := gateway.HashOf([]byte("another"))
	known := func(n int64, h gateway.Hash) gateway.Known {
		return gateway.Known{Number: n, Hash: h, By: "the anchor"}
	}
	for _, c := range []struct {
		name     string
		head     int64
		known    []gateway.Known
		from, to int64
	}{
		{"nothing is known", 27, nil, 0, 0},
		{"an empty log, known as such", 0, []gateway.Known{known(0, gateway.Hash{})}, 0, 0},
		{"all agree", 27, []gateway.Known{known(3, hash(3)), known(27, hash(27))}, 0, 0},
		{"the end is gone", 27, []gateway.Known{known(3, hash(3)), known(92, hash(92))}, 92, 27},
		{"all is gone", 0, []gateway.Known{known(92, hash(92))}, 92, 0},
		{"the last record is another one", 27, []gateway.Known{known(3, hash(3)), known(27, other)}, 27, 3},
		{"a record before the last is another one", 27, []gateway.Known{known(3, hash(3)), known(5, other), known(27, hash(27))}, 5, 3},
		{"written on after it went back", 27, []gateway.Known{known(3, hash(3)), known(20, hash(20)), known(25, other), known(92, hash(92))}, 92, 20},
		{"nothing agrees", 27, []gateway.Known{known(5, other)}, 5, 0},
	} {
		lost, err := gateway.HoldAgainst(c.head, func(n int64) (gateway.Hash, bool, error) { return hash(n), n <= c.head, nil }, c.known)
		if err != nil || lost.From != c.from || lost.To != c.to {
			t.Errorf("%s: %+v %v, want %d to %d", c.name, lost, err, c.from, c.to)
		}
	}
}

func TestFindingsOfALossAreOne(t *testing.T) {
	note, anchor := gateway.Loss{From: 92, To: 27, By: "the head note"}, gateway.Loss{From: 80, To: 20, By: "the anchor"}
	want := gateway.Loss{From: 92, To: 20, By: "the head note"}
	if a, b := note.Merge(anchor), anchor.Merge(note); a != want || b != want {
		t.Errorf("%+v %+v", a, b)
	}
	if none := (gateway.Loss{}); none.Merge(note) != note || note.Merge(none) != note {
		t.Error("no loss changes one")
	}
}
