package engine

import "time"

// Clock tells the time twice: the wall clock, which people set, and one that only goes on.
type Clock interface {
	// Now returns Unix milliseconds, and the time since a fixed moment of this process. Both are taken together.
	Now() (wall int64, mono time.Duration)
}

// SystemClock returns the machine's clock.
func SystemClock() Clock { return systemClock{time.Now()} }

type systemClock struct{ start time.Time }

func (c systemClock) Now() (int64, time.Duration) {
	t := time.Now()
	return t.UnixMilli(), t.Sub(c.start)
}

// A purge by age believes the wall clock only after it has agreed with the monotonic one for an hour: a server that
// boots in the year 2040 must not drop everything (docs/spec/protocol.md, Judging a send).
const (
	trustAfter = time.Hour
	trustDrift = 2_000 // ms within trustAfter; a clock that is slewed stays below, a step is above
)

// trust watches the two clocks. Its zero value has seen nothing.
type trust struct {
	anchored bool
	wall     int64         // at the anchor
	mono     time.Duration // at the anchor
	earned   bool
}

// observe takes a reading and reports whether the wall clock is to be believed. jumped says that the clocks
// part with this reading.
func (t *trust) observe(wall int64, mono time.Duration) (trusted, jumped bool) {
	elapsed := mono - t.mono
	drift := wall - t.wall - elapsed.Milliseconds()
	switch {
	case !t.anchored:
		*t = trust{anchored: true, wall: wall, mono: mono}
	case drift > trustDrift || drift < -trustDrift:
		*t = trust{anchored: true, wall: wall, mono: mono}
		return false, true
	case elapsed >= trustAfter:
		// The anchor moves on, so that a slow drift over months isn't taken for a step.
		*t = trust{anchored: true, wall: wall, mono: mono, earned: true}
	}
	return t.earned, false
}
