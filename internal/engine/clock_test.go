package engine

import (
	"testing"
	"time"
)

func TestSystemClockReadsBothTogether(t *testing.T) {
	c := SystemClock()
	wall, mono := c.Now()
	if d := time.Now().UnixMilli() - wall; d < 0 || d > 60_000 || mono < 0 || mono > time.Minute {
		t.Errorf("wall %d ms ago, mono %v", d, mono)
	}
	if _, again := c.Now(); again < mono {
		t.Errorf("the monotonic clock went from %v to %v", mono, again)
	}
}

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
		"a slow drift is no step":   drift(48, 1_900),
		"the least and the most ms": {{-1 << 62, time.Second, false, true}, {1 << 62, time.Second, false, true}},
	} {
		var w trust
		wall, mono := int64(1_700_000_000_000), 5*time.Second
		w.observe(wall, mono)
		for i, s := range steps {
			wall, mono = wall+s.wall, mono+s.mono
			if trusted, jumped := w.observe(wall, mono); trusted != s.trusted || jumped != s.jumped {
				t.Errorf("%s, reading %d: trusted %v jumped %v, want %v %v", name, i, trusted, jumped, s.trusted, s.jumped)
			}
		}
	}
}

// drift is a clock that runs ms fast in every hour.
func drift(hours int, ms int64) (steps []reading) {
	for range hours {
		steps = append(steps, reading{3_600_000 + ms, time.Hour, true, false})
	}
	return steps
}
