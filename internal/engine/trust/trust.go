// Package trust owns the rule by which the wall clock is believed where something would be lost by a wrong one: dropping by age, erasing,
// giving up. It is believed only after it has agreed with the monotonic one for an hour, and no longer from the moment at which it is
// moved: a server that boots in the year 2040 must not drop everything (docs/spec/protocol.md, Judging a send).
package trust

import "time"

const (
	after = time.Hour
	drift = 2_000 // ms within after; a clock that is slewed stays below, a step is above
)

// Watch watches the two clocks. Its zero value has seen nothing.
type Watch struct {
	anchored bool
	wall     int64         // at the anchor
	mono     time.Duration // at the anchor
	earned   bool
}

// Observe takes a reading and reports whether the wall clock is to be believed. jumped says that the clocks
// part with this reading.
func (t *Watch) Observe(wall int64, mono time.Duration) (trusted, jumped bool) {
	elapsed := mono - t.mono
	parted := wall - t.wall - elapsed.Milliseconds()
	switch {
	case !t.anchored:
		*t = Watch{anchored: true, wall: wall, mono: mono}
	case parted > drift || parted < -drift:
		*t = Watch{anchored: true, wall: wall, mono: mono}
		return false, true
	case elapsed >= after:
		// The anchor moves on, so that a slow drift over months isn't taken for a step.
		*t = Watch{anchored: true, wall: wall, mono: mono, earned: true}
	}
	return t.earned, false
}
