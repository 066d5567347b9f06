package ids

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func toBig(o Ordinal) *big.Int {
	b := o.Bytes()
	return new(big.Int).SetBytes(b[:])
}

// TestArithmetic compares with numbers of any size.
func TestArithmetic(t *testing.T) {
	word := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, ^uint64(0), ^uint64(0) - 1, 1 << 40, 1 << 63}))
	limit := new(big.Int).Lsh(big.NewInt(1), 128)
	rapid.Check(t, func(t *rapid.T) {
		a := Ordinal{word.Draw(t, "hi"), word.Draw(t, "lo")}
		b := Ordinal{word.Draw(t, "hi"), word.Draw(t, "lo")}
		want := new(big.Int).Add(toBig(a), toBig(b))
		sum, err := a.Add(b)
		if overflow := want.Cmp(limit) >= 0; overflow != errors.Is(err, ErrOverflow) {
			t.Fatalf("%v + %v: %v", a, b, err)
		}
		if err == nil && toBig(sum).Cmp(want) != 0 {
			t.Fatalf("%v + %v = %v", a, b, sum)
		}
		if a.Cmp(b) != toBig(a).Cmp(toBig(b)) {
			t.Fatalf("cmp %v %v: %d", a, b, a.Cmp(b))
		}
		raw := a.Bytes()
		if back, err := OrdinalFrom(raw[:]); err != nil || back != a {
			t.Fatalf("%v comes back as %v, %v", a, back, err)
		}

		n, jump := word.Draw(t, "n"), word.Draw(t, "jump")>>16
		start := new(big.Int).Add(toBig(a), big.NewInt(1))
		start.Add(start, new(big.Int).Lsh(new(big.Int).SetUint64(jump), 40))
		end := new(big.Int).Add(start, new(big.Int).SetUint64(n))
		l, err := Reserve(Device{}, a, n, jump)
		switch {
		case n == 0:
			if !errors.Is(err, ErrBadLease) {
				t.Fatalf("an empty lease: %v", err)
			}
		case start.Cmp(limit) >= 0 || end.Cmp(limit) > 0:
			if !errors.Is(err, ErrOverflow) {
				t.Fatalf("past the end: %+v, %v", l, err)
			}
		case err != nil || toBig(l.Start).Cmp(start) != 0 || l.N != n:
			t.Fatalf("%+v, %v", l, err)
		}
	})
}

func TestMarkOfAnotherLength(t *testing.T) {
	for n := range 40 {
		_, err := OrdinalFrom(make([]byte, n))
		if (n == Size) != (err == nil) || err != nil && !errors.Is(err, ErrBadMark) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestJumpOfMoreBits(t *testing.T) {
	if _, err := Reserve(Device{}, Ordinal{}, 1, 1<<JumpBits); !errors.Is(err, ErrBadLease) {
		t.Error(err)
	}
}
