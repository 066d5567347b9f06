package store

import "iter"

// OldThrough says through which seq the rows of a room are too old to be kept, given their `at`, rising by seq from the low
// end. It returns 0 where none is. It stops reading at the first row that must stay.
//
// A row is old when its own `at` is ageMs or more before now. A row dated later than now was stored while the clock was
// ahead; its `at` says nothing, so it goes together with the next old row after it, and can't block the purge for ever.
// A young row always stays, also where a later one looks old: a clock that once stood too low (a machine that starts in
// 1970) must not take the results before it along.
func OldThrough(rows iter.Seq2[int64, int64], now, ageMs int64) (through int64) {
	for seq, at := range rows {
		switch {
		case at <= now-ageMs:
			through = seq
		case at <= now:
			return through
		}
	}
	return through
}

// Horizon returns a room's horizon after a result of that `at` was dropped at the moment now.
func Horizon(horizon, at, now int64) int64 {
	return max(horizon, min(at, now))
}
