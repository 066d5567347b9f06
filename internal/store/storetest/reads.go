package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hapax/internal/room"
	"hapax/internal/store"
)

func pagesAfterAndBefore(t *testing.T, p Place) {
	k := open(t, p)
	for i := 1; i <= 10; i++ {
		c := Send("r", "ann", fmt.Sprint("id", i), strings.Repeat("t", 60))
		c.Data = []byte(`"` + strings.Repeat("d", 38) + `"`) // 100 bytes a row
		k.send(Start, room.Accepted, c)
	}
	k.purge(store.Policy{JournalRows: 8}, Start) // rows 1 and 2 aged out
	const lots = 1 << 20
	k.view(func(v store.View) {
		after := func(seq int64, limit, size int) ([]room.Message, bool, error) { return v.After("r", seq, limit, size) }
		before := func(seq int64, limit, size int) ([]room.Message, bool, error) { return v.Before("r", seq, limit, size) }
		for _, c := range []struct {
			name        string
			read        func(int64, int, int) ([]room.Message, bool, error)
			seq         int64
			limit, size int
			want        string
			more        bool
		}{
			{"after all", after, 0, 100, lots, "[3 4 5 6 7 8 9 10]", false},
			{"after the low end", after, 2, 100, lots, "[3 4 5 6 7 8 9 10]", false},
			{"after one", after, 5, 100, lots, "[6 7 8 9 10]", false},
			{"after, limited", after, 5, 2, lots, "[6 7]", true},
			{"after, just enough", after, 5, 5, lots, "[6 7 8 9 10]", false},
			{"after, by bytes", after, 5, 100, 250, "[6 7]", true},
			{"after, by bytes exactly", after, 5, 100, 300, "[6 7 8]", true},
			{"after, one at least", after, 5, 100, 1, "[6]", true},
			{"after the head", after, 10, 100, lots, "[]", false},
			{"after the future", after, 99, 100, lots, "[]", false},
			{"before all", before, 99, 100, lots, "[3 4 5 6 7 8 9 10]", false},
			{"before one", before, 6, 100, lots, "[3 4 5]", false},
			{"before, limited", before, 9, 2, lots, "[7 8]", true},
			{"before, just enough", before, 6, 3, lots, "[3 4 5]", false},
			{"before, by bytes", before, 9, 100, 250, "[7 8]", true},
			{"before, one at least", before, 9, 100, 1, "[8]", true},
			{"before the low end", before, 3, 100, lots, "[]", false},
			{"before the first", before, 1, 100, lots, "[]", false},
			{"before nothing", before, 0, 100, lots, "[]", false},
		} {
			rows, more, err := c.read(c.seq, c.limit, c.size)
			seqs := []int64{}
			for _, m := range rows {
				seqs = append(seqs, m.Seq)
			}
			if fmt.Sprint(seqs) != c.want || more != c.more || err != nil {
				t.Errorf("%s: %v more %v (%v), want %s more %v", c.name, seqs, more, err, c.want, c.more)
			}
		}
		if rows, more, err := v.After("nowhere", 0, 10, lots); len(rows) > 0 || more || err != nil {
			t.Errorf("a room never written to: %v %v %v", rows, more, err)
		}
		if rows, more, err := v.Before("nowhere", 10, 10, lots); len(rows) > 0 || more || err != nil {
			t.Errorf("a room never written to: %v %v %v", rows, more, err)
		}
		if st := must(v.Room("nowhere"))(t); st != (room.State{}) {
			t.Errorf("a room never written to: %+v", st)
		}
		ids := v.MessageID
		for seq, want := range map[int64]bool{0: false, 1: false, 2: false, 3: true, 10: true, 11: false} {
			if id, held, err := ids("r", seq); held != want || (id != "") != want || err != nil {
				t.Errorf("messageId at %d: %q %v %v, want %v", seq, id, held, err, want)
			}
		}
	})
}

func roomsByName(t *testing.T, p Place) {
	k := open(t, p)
	names := []string{"b", "a", "ab", "a\u00e9", "B", "z", "aa"}
	for i, n := range names {
		k.fill(n, 0, i+1, Start)
	}
	k.purge(store.Policy{JournalRows: 1}, Start)
	slices.Sort(names)
	k.view(func(v store.View) {
		var got []string
		for after := ""; ; {
			heads := must(v.Rooms(after, 2))(t)
			if len(heads) == 0 {
				break
			}
			if len(heads) > 2 {
				t.Fatalf("%d rooms, want 2 at most", len(heads))
			}
			for _, h := range heads {
				got = append(got, h.Name)
				if st := must(v.Room(h.Name))(t); st != h.State {
					t.Errorf("room %q: %+v in the list, %+v alone", h.Name, h.State, st)
				}
			}
			after = heads[len(heads)-1].Name
		}
		if fmt.Sprint(got) != fmt.Sprint(names) {
			t.Fatalf("rooms %v, want %v", got, names)
		}
	})
}
