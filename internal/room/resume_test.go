package room

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestResume(t *testing.T) {
	quiet := State{}
	young := State{Head: 10, HeadID: "m10"}
	aged := State{Head: 10, HeadID: "m10", Low: 4, LowID: "m4"}
	gone := State{Head: 10, HeadID: "m10", Low: 10, LowID: "m10"}
	at := func(after int64, id string) *Cursor { return &Cursor{Epoch: "e", After: after, MessageID: id} }
	for _, c := range []struct {
		name string
		s    State
		c    *Cursor
		want Fit
	}{
		{"no cursor", young, nil, NoCursor},
		{"empty room, nothing missed (R14)", quiet, at(0, ""), Fits},
		{"empty room, a row that isn't there (R13)", quiet, at(1, "m1"), Future},
		{"from the start", young, at(0, ""), Fits},
		{"in the middle", young, at(3, "m3"), Fits},
		{"at the head (R15)", young, at(10, "m10"), Fits},
		{"past the head (R20)", young, at(11, "m11"), Future},
		{"another history (R12)", young, &Cursor{Epoch: "f", After: 3, MessageID: "m3"}, OtherEpoch},
		{"another history, past the head", young, &Cursor{Epoch: "f", After: 99, MessageID: "m99"}, OtherEpoch},
		{"another room's row", young, at(3, "x3"), Foreign},
		{"another row at the head", young, at(10, "x10"), Foreign},
		{"start of an aged room", aged, at(0, ""), AgedOut},
		{"below the low end", aged, at(3, "m3"), AgedOut},
		{"at the last row that aged out", aged, at(4, "m4"), Fits},
		{"at the low end, another row", aged, at(4, "x4"), Foreign},
		{"just above the low end", aged, at(5, "m5"), Fits},
		{"all aged out, at the head", gone, at(10, "m10"), Fits},
		{"all aged out, another row at the head", gone, at(10, "x10"), Foreign},
		{"all aged out, below", gone, at(9, "m9"), AgedOut},
		{"below zero", young, at(-1, "m"), Malformed},
		{"no epoch", young, &Cursor{After: 3, MessageID: "m3"}, Malformed},
		{"a seq without its row", young, at(3, ""), Malformed},
		{"a row without its seq", young, at(0, "m3"), Malformed},
		{"the zero cursor", quiet, &Cursor{}, Malformed},
	} {
		id, held := journal(c.s, c.c)
		if got := Resume("e", c.s, c.c, id, held); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// journal is a journal that holds rows Low+1 to Head, each with the id m<seq>.
func journal(s State, c *Cursor) (string, bool) {
	if c == nil || c.After <= s.Low || c.After > s.Head {
		return "", false
	}
	return fmt.Sprintf("m%d", c.After), true
}

func TestResumeWithARowLostInside(t *testing.T) {
	c := &Cursor{Epoch: "e", After: 3, MessageID: "m3"}
	if got := Resume("e", State{Head: 10, HeadID: "m10"}, c, "", false); got != Foreign {
		t.Errorf("a row missing inside the journal: %v, want foreign: no delta over a hole", got)
	}
}

func TestFitNames(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fittings() {
		if name := f.String(); name == "" || name == "invalid" || seen[name] {
			t.Errorf("fit %d has the name %q", f, name)
		} else {
			seen[name] = true
		}
	}
	if got := Fit(200).String(); got != "invalid" {
		t.Errorf("no fit is named %q", got)
	}
}

func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if name := k.String(); name == "" || name == "invalid" || name == "none" || seen[name] {
			t.Errorf("kind %d has the name %q", k, name)
		} else {
			seen[name] = true
		}
	}
	if len(seen) != int(Draining) {
		t.Errorf("%d kinds, want %d", len(seen), Draining)
	}
	if got := Kind(200).String(); got != "invalid" {
		t.Errorf("no kind is named %q", got)
	}
}

// history is a plain record of everything that ever happened to one room: all rows of all epochs.
type history struct {
	epochs []string
	rows   map[string][]string // epoch → ids of seq 1, 2, 3 … as they stood at the end of that epoch
	low    int64
}

func (h *history) epoch() string { return h.epochs[len(h.epochs)-1] }

func (h *history) state() State {
	ids := h.rows[h.epoch()]
	s := State{Head: int64(len(ids)), Low: h.low}
	if s.Head > 0 {
		s.HeadID = ids[s.Head-1]
	}
	if s.Low > 0 {
		s.LowID = ids[s.Low-1]
	}
	return s
}

// want is the protocol's sentence, taken from the whole record: a delta where the epoch is the same, the store's own
// row at that seq is the cursor's, and nothing after it has aged out.
func (h *history) wantDelta(c Cursor) bool {
	ids := h.rows[h.epoch()]
	if c.Epoch != h.epoch() || c.After < h.low || c.After < 0 || c.After > int64(len(ids)) {
		return false
	}
	if c.After == 0 {
		return c.MessageID == ""
	}
	return ids[c.After-1] == c.MessageID
}

// TestResumeAgainstHistory runs rooms through rows, ageing and restores, and holds every cursor, true, foreign or made up,
// against the record. A cursor that a server really gave is an alarm never.
func TestResumeAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{epochs: []string{"e0"}, rows: map[string][]string{"e0": nil}}
		given := []Cursor{{Epoch: "e0"}}
		next := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"row", "row", "row", "age", "restore"}).Draw(t, "step") {
			case "row":
				next++
				h.rows[h.epoch()] = append(h.rows[h.epoch()], fmt.Sprintf("m%d", next))
			case "age":
				h.low = rapid.Int64Range(h.low, int64(len(h.rows[h.epoch()]))).Draw(t, "low")
			case "restore":
				old := h.rows[h.epoch()]
				keep := rapid.Int64Range(h.low, int64(len(old))).Draw(t, "keep")
				e := fmt.Sprintf("e%d", len(h.epochs))
				h.epochs = append(h.epochs, e)
				h.rows[e] = append([]string(nil), old[:keep]...)
			}
			s := h.state()
			given = append(given, Cursor{Epoch: h.epoch(), After: s.Head, MessageID: s.HeadID})
		}
		for _, c := range given {
			fit := h.resume(&c)
			if fit.Alarm() {
				t.Fatalf("a cursor that was given, %+v, is an alarm: %v", c, fit)
			}
			h.check(t, c, fit)
		}
		made := Cursor{
			Epoch:     rapid.SampledFrom(append([]string{""}, h.epochs...)).Draw(t, "epoch"),
			After:     rapid.Int64Range(-1, 35).Draw(t, "after"),
			MessageID: rapid.SampledFrom([]string{"", "m1", "m2", "m5", "m9"}).Draw(t, "id"),
		}
		h.check(t, made, h.resume(&made))
	})
}

func (h *history) resume(c *Cursor) Fit {
	ids := h.rows[h.epoch()]
	id, held := "", c.After > h.low && c.After <= int64(len(ids))
	if held {
		id = ids[c.After-1]
	}
	return Resume(h.epoch(), h.state(), c, id, held)
}

func (h *history) check(t *rapid.T, c Cursor, fit Fit) {
	if want := h.wantDelta(c); (fit == Fits) != want {
		t.Fatalf("%+v in %+v: %v, want a delta: %v", c, h.state(), fit, want)
	}
}
