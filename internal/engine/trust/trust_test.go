package trust

import (
	"testing"
	"time"
)

// reading is both clocks' advance, and what is to be made of it.
type reading struct {
	wall            int64 // ms
	mono            time.Duration
	trusted, jumped bool
}

func TestTrust(t *testing.T) {
	const year = 365 * 24 * 3_600_000
	for name, steps := range map[string][]reading{
		"an hour of agreement": {
			{3_599_000, 3_599 * time.Second, false, false},
			{1_000, time.Second, true, false},
			{1_000, time.Second, true, false},
		},
		"set forward at once":       {{year * 500, time.Second, false, true}, {3_599_000, 3_599 * time.Second, false, false}, {1_000, time.Second, true, false}},
		"set back within the hour":  {{1_800_000, 1_800 * time.Second, false, false}, {-3_600_000, time.Second, false, true}, {1_800_000, 1_800 * time.Second, false, false}},
		"set forward after trust":   {{3_600_000, time.Hour, true, false}, {3_600_000, time.Second, false, true}, {3_600_000, time.Hour, true, false}},
		"a step of two seconds":     {{3_600_000, time.Hour, true, false}, {2_000 + 1_000, time.Second, true, false}},
		"a step of more":            {{3_600_000, time.Hour, true, false}, {2_001 + 1_000, time.Second, false, true}},
		"a machine that slept":      {{3_600_000, time.Hour, true, false}, {8 * 3_600_000, time.Minute, false, true}},
		"small steps add up":        {{1_500 + 60_000, time.Minute, false, false}, {600 + 60_000, time.Minute, false, true}},
		"a slow drift is no step":   drifting(48, 1_900),
		"the least and the most ms": {{-1 << 62, time.Second, false, true}, {1 << 62, time.Second, false, true}},
	} {
		var w Watch
		wall, mono := int64(1_700_000_000_000), 5*time.Second
		w.Observe(wall, mono)
		for i, s := range steps {
			wall, mono = wall+s.wall, mono+s.mono
			if trusted, jumped := w.Observe(wall, mono); trusted != s.trusted || jumped != s.jumped {
				t.Errorf("%s, reading %d: trusted %v jumped %v, want %v %v", name, i, trusted, jumped, s.trusted, s.jumped)
			}
		}
	}
}

// drifting is a clock that runs ms fast in every hour.
func drifting(hours int, ms int64) (steps []reading) {
	for range hours {
		steps = append(steps, reading{3_600_000 + ms, time.Hour, true, false})
	}
	return steps
}
