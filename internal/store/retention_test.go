package store_test

import (
	"testing"

	"hapax/internal/store"
)

func TestOldThrough(t *testing.T) {
	const now, age = 1000, 100 // rows of at 900 and before are old
	for _, c := range []struct {
		name string
		at   []int64
		want int64
	}{
		{"no rows", nil, 0},
		{"all young", []int64{901, 950}, 0},
		{"the edge is old", []int64{899, 900, 901}, 2},
		{"a future row goes with the old one after it", []int64{5000, 800, 950}, 2},
		{"a run of future rows", []int64{5000, 5001, 5002, 900, 5003}, 4},
		{"future rows alone stay", []int64{5000, 5001}, 0},
		{"a young row stays before one that looks old", []int64{950, 0, 960}, 0},
		{"a young row behind a future one stays", []int64{5000, 950, 0}, 0},
		{"now itself is young", []int64{1000, 0}, 0},
	} {
		rows := func(yield func(int64, int64) bool) {
			for i, at := range c.at {
				if !yield(int64(i+1), at) {
					return
				}
			}
		}
		if got := store.OldThrough(rows, now, age); got != c.want {
			t.Errorf("%s: through %d, want %d", c.name, got, c.want)
		}
	}
}

func TestHorizonNeverLaterThanTheDrop(t *testing.T) {
	if got := store.Horizon(10, 5000, 1000); got != 1000 {
		t.Errorf("future result: %d, want 1000", got)
	}
	if got := store.Horizon(700, 600, 1000); got != 700 {
		t.Errorf("it never falls: %d, want 700", got)
	}
}
