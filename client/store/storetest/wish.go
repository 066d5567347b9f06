package storetest

import "hapax/client/store"

// wishes: each handle hears what the others want, as they said last.
func (s *suite) wishes() {
	a, b, c := s.open(), s.open(), s.open()
	wanted := func(st store.Store) map[string]store.Wish {
		s.Helper()
		all, err := st.Wanted(s.ctx)
		s.ok(err)
		by := map[string]store.Wish{}
		for _, w := range all {
			by[w.Room] = w
		}
		equal(s, "one wish a room here", len(by), len(all))
		return by
	}
	equal(s, "at first", len(wanted(a)), 0)
	s.ok(b.Want(s.ctx, 1, map[string]int{"r": 5, "Ἅπαξ": -1}))
	s.ok(c.Want(s.ctx, 7, map[string]int{"s": 0}))
	got := wanted(a)
	equal(s, "rooms", len(got), 3)
	equal(s, "rows and beat", [2]int64{int64(got["r"].Rows), got["r"].Beat}, [2]int64{5, 1})
	equal(s, "one handle", got["r"].Handle, got["Ἅπαξ"].Handle)
	if got["s"].Handle == got["r"].Handle {
		s.Fatal("two handles have one name")
	}
	equal(s, "its own", len(wanted(b)), 1)
	s.ok(b.Want(s.ctx, 2, map[string]int{"t": -1}))
	got = wanted(a)
	equal(s, "in place of those before", len(got), 2)
	equal(s, "the new beat", got["t"].Beat, 2)
	s.ok(a.Unwant(s.ctx, got["s"].Handle))
	s.ok(b.Want(s.ctx, 3, nil))
	equal(s, "in the end", len(wanted(a)), 0)
}
