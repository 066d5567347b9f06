package ids

import (
	"errors"
	"sync"
	"testing"
)

func lease(start, n uint64) Lease { return Lease{Device: Device{1}, Start: Ordinal{Lo: start}, N: n} }

func with(t *testing.T, leases ...Lease) *Issuer {
	t.Helper()
	s := NewIssuer()
	for _, l := range leases {
		if err := s.AddLease(l); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// use issues n ids and uses them.
func use(t *testing.T, s *Issuer, n int) (got []ID) {
	t.Helper()
	for range n {
		id := s.Next()
		if err := s.Use(id); err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
	}
	return got
}

// TestRenewal: three quarters used ask for the next lease; without it the issuer runs dry, and goes on once it is there.
func TestRenewal(t *testing.T) {
	s := NewIssuer()
	if !s.NeedsLease() || !s.Next().IsZero() {
		t.Fatal("an issuer without a lease")
	}
	if err := s.AddLease(lease(1, 8)); err != nil {
		t.Fatal(err)
	}
	for used := range 8 {
		if want := used >= 6; s.NeedsLease() != want {
			t.Errorf("after %d of 8: needs a lease: %v", used, !want)
		}
		use(t, s, 1)
	}
	if id := s.Next(); !id.IsZero() {
		t.Fatalf("a lease of 8 gave a ninth: %v", id)
	}
	if err := s.AddLease(lease(100, 8)); err != nil {
		t.Fatal(err)
	}
	if got, want := use(t, s, 1)[0], Make(Device{1}, Ordinal{Lo: 100}); got != want {
		t.Fatalf("%v, want %v", got, want)
	}
	if err := s.AddLease(lease(200, 8)); err != nil || s.NeedsLease() {
		t.Fatalf("a lease ahead: %v, needs another: %v", err, s.NeedsLease())
	}
	if err := s.AddLease(lease(300, 8)); !errors.Is(err, ErrBadLease) {
		t.Fatalf("a second lease ahead: %v", err)
	}
	use(t, s, 7)
	if got, want := use(t, s, 1)[0], Make(Device{1}, Ordinal{Lo: 200}); got != want {
		t.Fatalf("switched over to %v, want %v", got, want)
	}
}

// TestNeedsLeaseOfAnySize: also a lease of one ordinal is asked to be followed only when it is used.
func TestNeedsLeaseOfAnySize(t *testing.T) {
	for n := uint64(1); n <= 9; n++ {
		s := with(t, lease(1, n))
		used := 0
		for ; !s.NeedsLease(); used++ {
			use(t, s, 1)
		}
		if 4*used < 3*int(n) || used > int(n) {
			t.Errorf("a lease of %d asks after %d", n, used)
		}
	}
}

func TestExhaustedLeaseKeepsIssuedIDs(t *testing.T) {
	s := with(t, lease(1, 2), lease(50, 2))
	a, b := s.Next(), s.Next()
	use(t, s, 2)
	if !s.Next().IsZero() {
		t.Fatal("both leases are used up")
	}
	for _, id := range []ID{b, a} {
		if err := s.Use(id); err != nil {
			t.Error(err)
		}
	}
}

func TestUnusedAreBounded(t *testing.T) {
	s := with(t, lease(1, 1000))
	first := s.Next()
	for range MaxUnused - 1 {
		if s.Next().IsZero() {
			t.Fatal("dry before the limit")
		}
	}
	if !s.Next().IsZero() || s.Unused() != MaxUnused {
		t.Fatalf("past the limit, with %d unused", s.Unused())
	}
	if err := s.Release(first); err != nil {
		t.Fatal(err)
	}
	// The released id is not issued again: the next one is the next ordinal's.
	if got, want := s.Next(), Make(Device{1}, Ordinal{Lo: 1 + MaxUnused}); got != want {
		t.Fatalf("%v, want %v", got, want)
	}
}

// TestZeroAtEveryDoor is C04 for this package.
func TestZeroAtEveryDoor(t *testing.T) {
	s := with(t, lease(1, 8))
	if err := s.Use(ID{}); !errors.Is(err, ErrZeroID) {
		t.Error(err)
	}
	if err := s.Release(ID{}); !errors.Is(err, ErrZeroID) {
		t.Error(err)
	}
	s.GiveBack(ID{})
	if s.Unused() != 0 {
		t.Error("zero was given back")
	}
	for _, f := range []func() error{
		func() error { _, err := Parse(ID{}.String()); return err },
		func() error { return Check(ID{}.String()) },
	} {
		if err := f(); !errors.Is(err, ErrZeroID) {
			t.Error(err)
		}
	}
	// An ordinal whose id is zero is skipped.
	s.derive = func(d Device, o Ordinal) ID {
		if o.Lo%2 == 1 {
			return ID{}
		}
		return Make(d, o)
	}
	for _, lo := range []uint64{2, 4, 6, 8} {
		if got, want := s.Next(), Make(Device{1}, Ordinal{Lo: lo}); got != want {
			t.Errorf("%v, want that of ordinal %d", got, lo)
		}
	}
	if !s.Next().IsZero() {
		t.Error("the lease is used up")
	}
}

func TestUseOnce(t *testing.T) {
	s := with(t, lease(1, 8))
	id := s.Next()
	for _, stranger := range []ID{{1}, Make(Device{1}, Ordinal{Lo: 2})} {
		if err := s.Use(stranger); !errors.Is(err, ErrUnissued) {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = s.Use(id) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrUnissued) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d sends used one id", won)
	}
	s.GiveBack(id)
	if err := s.Use(id); err != nil {
		t.Errorf("given back: %v", err)
	}
}

// TestBadLeases are refused whole.
func TestBadLeases(t *testing.T) {
	s := NewIssuer()
	top := Ordinal{Hi: ^uint64(0), Lo: ^uint64(0)}
	if err := s.AddLease(Lease{}); !errors.Is(err, ErrBadLease) {
		t.Error(err)
	}
	if err := s.AddLease(Lease{Start: top, N: 2}); !errors.Is(err, ErrOverflow) {
		t.Error(err)
	}
	if err := s.AddLease(Lease{Device: Device{1}, Start: top, N: 1}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Next(), Make(Device{1}, top); got != want {
		t.Errorf("the last ordinal of all: %v, want %v", got, want)
	}
	if !s.Next().IsZero() {
		t.Error("past 2^128")
	}
}

// TestIssuingAtOnce: many goroutines, no id twice.
func TestIssuingAtOnce(t *testing.T) {
	s := with(t, lease(1, 500), lease(1000, 500))
	got := make([][]ID, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			for id := s.Next(); !id.IsZero(); id = s.Next() {
				got[i] = append(got[i], id)
				if s.Use(id) != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	seen := map[ID]bool{}
	for _, list := range got {
		for _, id := range list {
			seen[id] = true
		}
	}
	if total := len(seen); total != 1000 {
		t.Errorf("%d ids of 1000", total)
	}
}

func BenchmarkNext(b *testing.B) {
	s := NewIssuer()
	if err := s.AddLease(lease(1, 1<<40)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if s.Release(s.Next()) != nil {
			b.Fatal("not issued")
		}
	}
}
