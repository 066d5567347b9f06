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
