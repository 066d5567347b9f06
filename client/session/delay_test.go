package session

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"hapax/client/store"
)

// C18: base/2 ≤ delay ≤ cap for attempts 1..200 and every random source, also one stuck at 0 or at 1, or broken.
func TestDelayStaysWithinItsBounds(t *testing.T) {
	for _, u := range []float64{0, 1, 0.5, math.NaN(), -3, 7, math.Inf(1), math.SmallestNonzeroFloat64} {
		for attempts := -1; attempts <= 200; attempts++ {
			for _, limit := range []int64{300_000, 60_000, 1000, math.MaxInt64} {
				if d := Delay(1000, limit, attempts, u); d < 500 || d > limit {
					t.Fatalf("Delay(1000, %d, %d, %v) = %d", limit, attempts, u, d)
				}
			}
		}
	}
	if d := Delay(1000, 300_000, 4, 1); d != 8000 {
		t.Errorf("fourth attempt, u = 1: %d, want the whole of 8000", d)
	}
	if d := Delay(1000, 300_000, 4, 0); d != 4000 {
		t.Errorf("fourth attempt, u = 0: %d, want the certain half, 4000", d)
	}
}

func TestDelayProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Int64Range(1, 1<<40).Draw(t, "base")
		limit := rapid.Int64Range(base, math.MaxInt64).Draw(t, "cap")
		attempts := rapid.IntRange(1, 10_000).Draw(t, "attempts")
		u := rapid.Float64Range(0, 1).Draw(t, "u")
		if d := Delay(base, limit, attempts, u); d < base/2 || d > limit {
			t.Fatalf("Delay = %d", d)
		}
	})
}

// C16: whatever is stored and whatever the clock says, no row waits for longer than its interval or cap, and mending ends it.
func TestRemainingProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := store.Schedule{
			Interval:      rapid.Int64Range(0, math.MaxInt64).Draw(t, "interval"),
			LastAttemptAt: rapid.Int64Range(0, math.MaxInt64).Draw(t, "last"),
		}
		wall := rapid.Int64Range(0, math.MaxInt64).Draw(t, "wall")
		if left := Remaining(s, wall); left < 0 || left > s.Interval {
			t.Fatalf("Remaining = %d of %d", left, s.Interval)
		}
		m, back := Mend(s, wall, rapid.Float64Range(0, 1).Draw(t, "u"))
		if back != (wall < s.LastAttemptAt) {
			t.Fatalf("mended %v", back)
		}
		if _, again := Mend(m, wall, 0); again {
			t.Fatal("mended twice")
		}
		if left := Remaining(m, wall); back && (left < s.Interval/2 || left > s.Interval) {
			t.Fatalf("mended to %d of %d", left, s.Interval)
		}
	})
}
