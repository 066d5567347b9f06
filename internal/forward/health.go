package forward

import (
	"hapax/client/session"
)

// The law of delays: of an event's tries as of a destination's rests (docs/spec/client.md, 3, with a cap of an hour).
const (
	delayBase = 1_000     // ms
	delayCap  = 3_600_000 // ms
)

// restAfter is how many keys must have failed since the destination last worked before it counts as down: a key or two that
// always fail hold back only themselves.
const restAfter = 3

// maxFailing bounds the keys that are remembered. A run of failures that long rests for the cap anyway.
const maxFailing = 1024

// health is what is known of a destination. Its zero value is one of which nothing is known yet: one request at a time until it has
// shown that it works, so that neither a start nor the end of a rest costs more than one try.
//
// A destination that is down is given rest. One probe ends it, or makes it longer, but only where that says anything new: a key that
// has failed since the destination last worked may fail by its own fault, while a connection that can't be made is nobody's.
type health struct {
	works   bool
	failing map[string]struct{} // keys that failed since it last worked
	level   int                 // rests taken since; 0: none
	until   int64               // Unix ms at which the rest ends
}

// alive takes an answer that shows the destination at work.
func (h *health) alive() { *h = health{works: true} }

// failed takes a try that was none of the event's certain faults. probe tells that it was set off while the destination wasn't known
// to work. It reports whether a rest begins or grows.
func (h *health) failed(now int64, key string, probe bool, a answer, u float64) bool {
	_, known := h.failing[key]
	if h.failing == nil {
		h.failing = map[string]struct{}{}
	}
	if len(h.failing) < maxFailing {
		h.failing[key] = struct{}{}
	}
	switch {
	case h.level > 0 && !probe: // it left before the rest began
		return false
	case h.level > 0:
		if !known || a.unreached {
			h.level++
		}
	case a.unreached || len(h.failing) >= restAfter:
		h.level = 1
	default:
		return false
	}
	h.works = false
	h.until = max(now+session.Delay(delayBase, delayCap, h.level, u), a.retryAtMs)
	return true
}

// resting reports whether nothing may be sent yet.
func (h *health) resting(now int64) bool { return now < h.until }

// suspect reports whether a key failed since the destination last worked: a probe by it would tell little.
func (h *health) suspect(key string) bool {
	_, is := h.failing[key]
	return is
}
