package session

import "hapax/client/store"

// Delay is the delay law of docs/spec/client.md, 3: d = min(cap, base · 2^(attempts−1)), of which half is certain and half
// is drawn by u. So base/2 ≤ delay ≤ cap for every number of attempts and every u, also one out of range or NaN.
// base is at most cap; attempts below 1 count as 1.
func Delay(base, limit int64, attempts int, u float64) int64 {
	d := base
	for i := 1; i < attempts && d < limit; i++ {
		if d > limit/2 { // doubling would pass the cap, or overflow
			d = limit
			break
		}
		d *= 2
	}
	d = min(d, limit)
	half := d / 2
	return d - half + share(half, u)
}

// share is u of n, exactly within 0 and n where floating point would round past it.
func share(n int64, u float64) int64 {
	if f := unit(u) * float64(n); f < float64(n) {
		return min(int64(f), n)
	}
	return n
}

// unit brings u into [0, 1].
func unit(u float64) float64 {
	if u >= 0 && u <= 1 {
		return u
	}
	if u > 1 {
		return 1
	}
	return 0 // below 0, or NaN
}

// Remaining returns how many ms of wall time are left before a row's next try: clamp(last + interval − now, 0, interval).
// A time in the past means now; a clock that went back can't make it longer than the interval.
func Remaining(s store.Schedule, wall int64) int64 {
	if s.Interval <= 0 {
		return 0
	}
	// last + interval − now, without overflow for any stored values.
	passed := wall - s.LastAttemptAt
	if passed >= s.Interval {
		return 0
	}
	return min(s.Interval-max(passed, 0), s.Interval)
}

// Mend returns the schedule of a row whose last attempt lies in the future, as the clock went back: it waits for half to all
// of its interval from now, neither at once nor forever. It is stored, so that it is mended once; false where
// nothing is wrong.
func Mend(s store.Schedule, wall int64, u float64) (store.Schedule, bool) {
	if wall >= s.LastAttemptAt {
		return s, false
	}
	half := s.Interval / 2
	s.Interval = s.Interval - half + share(half, u)
	s.LastAttemptAt = wall
	return s, true
}
