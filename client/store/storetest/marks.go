package storetest

import (
	"crypto/rand"
	"encoding/binary"
	"sync"

	"hapax/client/ids"
	"hapax/client/store"
)

// lease reserves n ordinals of the store's own device.
func (s *suite) lease(st store.Store, n, jump uint64) ids.Lease {
	s.Helper()
	l, err := st.Reserve(s.ctx, st.Device(), n, jump)
	s.ok(err)
	equal(s, "ordinals", l.N, n)
	return l
}

// issue issues every id of leases, failing where one was seen before.
func (s *suite) issue(seen map[ids.ID]bool, leases ...ids.Lease) {
	s.Helper()
	for _, l := range leases {
		issuer := ids.NewIssuer()
		s.ok(issuer.AddLease(l))
		for id := issuer.Next(); !id.IsZero(); id = issuer.Next() {
			if seen[id] {
				s.Fatalf("id %v was issued twice", id)
			}
			seen[id] = true
			s.ok(issuer.Use(id))
		}
	}
}

// idsDiffer: 50 openings within one tick of any clock; no clock is asked.
func (s *suite) idsDiffer() {
	seen := map[ids.ID]bool{}
	for range 50 {
		st := s.open()
		s.issue(seen, s.lease(st, 8, 0))
		s.ok(st.Close())
	}
	equal(s, "ids", len(seen), 50*8)
}

func (s *suite) markNeverLowered() {
	a, b := s.open(), s.open()
	first, second := s.lease(a, 8, 0), s.lease(b, 8, 0)
	s.ok(a.Close())
	third := s.lease(s.open(), 8, 0)
	s.issue(map[ids.ID]bool{}, first, second, third)
	equal(s, "third start", third.Start, ids.Ordinal{Lo: 17})
}

func (s *suite) copyGivesOtherIDs() {
	st := s.open()
	s.lease(st, 8, 0)
	twin := s.openOn(s.medium.Crashed(), store.Limits{})
	equal(s, "device", twin.Device(), st.Device())
	// Without the jump the copies would give the same ids: that is what it is for.
	equal(s, "starts without a jump", s.lease(st, 8, 0).Start, s.lease(twin, 8, 0).Start)
	s.issue(map[ids.ID]bool{}, s.lease(st, 8, jump()), s.lease(twin, 8, jump()), s.lease(st, 8, jump()), s.lease(twin, 8, jump()))
}

// jump returns 48 random bits.
func jump() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:]) >> (64 - ids.JumpBits)
}

func (s *suite) reservationsAtOnce() {
	handles := []store.Store{s.open(), s.open(), s.open()}
	leases := make([]ids.Lease, 30)
	errs := make([]error, len(leases))
	var wg sync.WaitGroup
	for i := range leases {
		wg.Go(func() {
			st := handles[i%len(handles)]
			leases[i], errs[i] = st.Reserve(s.ctx, st.Device(), 8, 0)
		})
	}
	wg.Wait()
	for _, err := range errs {
		s.ok(err)
	}
	s.issue(map[ids.ID]bool{}, leases...)
}

func (s *suite) devicesApart() {
	st := s.open()
	one, two := ids.Device{0: 1, 15: 7}, ids.Device{0: 2, 15: 7}
	a, err := st.Reserve(s.ctx, one, 8, 0)
	s.ok(err)
	b, err := st.Reserve(s.ctx, two, 8, 0)
	s.ok(err)
	equal(s, "starts", a.Start, b.Start)
	s.issue(map[ids.ID]bool{}, a, b, s.lease(st, 8, 0))
}

func (s *suite) damagedMark() {
	st := s.open()
	device, before := st.Device(), s.lease(st, 8, 3)
	s.add(st, entry("r", 1))
	s.ok(st.Close())
	for _, n := range []int{-1, 0, 1, 15, 17, 32} {
		var mark []byte
		if n >= 0 {
			mark = make([]byte, n)
		}
		s.medium.SetMark(device, mark)
		st := s.open()
		for range 2 { // fail closed: a second try doesn't find it mended
			_, err := st.Reserve(s.ctx, device, 8, 0)
			s.is(err, store.ErrCorrupt)
		}
		equal(s, "rows", len(s.list(st)), 1)
		s.ok(st.Close())
	}
	last, err := before.Last()
	s.ok(err)
	mark := last.Bytes()
	s.medium.SetMark(device, mark[:])
	s.issue(map[ids.ID]bool{}, before, s.lease(s.open(), 8, 0))
}

func (s *suite) ordinalsRunOut() {
	st := s.open()
	device := st.Device()
	s.ok(st.Close())
	near := ids.Ordinal{Hi: ^uint64(0), Lo: ^uint64(0) - 8}.Bytes()
	s.medium.SetMark(device, near[:])
	st = s.open()
	for _, c := range []struct{ n, jump uint64 }{{9, 0}, {1, 1}, {8, 1<<48 - 1}} {
		_, err := st.Reserve(s.ctx, device, c.n, c.jump)
		s.is(err, ids.ErrOverflow)
	}
	_, err := st.Reserve(s.ctx, device, 0, 0)
	s.is(err, ids.ErrBadLease)
	_, err = st.Reserve(s.ctx, device, 8, 1<<48)
	s.is(err, ids.ErrBadLease)
	// The refusals left the mark, so the last eight are still there.
	equal(s, "last lease", s.lease(st, 8, 0).Start, ids.Ordinal{Hi: ^uint64(0), Lo: ^uint64(0) - 7})
	_, err = st.Reserve(s.ctx, device, 1, 0)
	s.is(err, ids.ErrOverflow)
}

func (s *suite) oneOwner() {
	st := s.open()
	none, err := st.Owner(s.ctx)
	s.ok(err)
	equal(s, "owner before", none, store.Owner{})
	s.is(st.Bind(s.ctx, store.Owner{Actor: "a"}), store.ErrBadChange)
	alice := store.Owner{Actor: "alice", Server: "s1"}
	s.ok(st.Bind(s.ctx, alice))
	s.ok(st.Bind(s.ctx, alice))
	other := s.open()
	s.is(other.Bind(s.ctx, store.Owner{Actor: "bob", Server: "s1"}), store.ErrWrongStore)
	s.is(other.Bind(s.ctx, store.Owner{Actor: "alice", Server: "s2"}), store.ErrWrongStore)
	got, err := s.openOn(s.medium.Crashed(), store.Limits{}).Owner(s.ctx)
	s.ok(err)
	equal(s, "owner", got, alice)
}
