package gateway

import "math"

// Guard is what becomes of an event whose body, byte for byte, was accepted under another key of its source a short while ago (docs/spec/gateway.md,
// Sources): where the key isn't under the signature, that is how a delivery that was overheard takes effect again.
type Guard uint8

// The guards.
const (
	GuardOff    Guard = iota
	GuardFlag         // it is accepted, and told
	GuardReject       // it is a mismatch
)

var guardNames = [...]string{"off", "flag", "reject"}

func (g Guard) String() string { return guardNames[g] }

// ParseGuard reads the name of a guard.
func ParseGuard(name string) (Guard, bool) {
	for g, n := range guardNames {
		if n == name {
			return Guard(g), true
		}
	}
	return GuardOff, false
}

// Twin is the accepted event that had a body.
type Twin struct {
	Number int64
	At     int64 // Unix ms of its record
	Key    string
	ID     string
}

// guarded finds the event of another key that was accepted with the body of e within the window, where e is about to be accepted; nil where none
// was. What is found by is kept for the generation of now and the one before, so that it is bounded by two windows, and dropped in two steps.
func guarded(r Rows, now int64, src *Source, e *Event) (*Twin, error) {
	windowMs := src.GuardS * 1000
	if g := now / windowMs; g > src.Generation {
		src.Generation = g
		r.DropTwins(e.Tenant, e.Source, g-1)
	}
	for _, g := range [...]int64{src.Generation, src.Generation - 1} {
		t, err := r.Twin(e.Tenant, e.Source, g, e.Digest)
		switch {
		case err != nil:
			return nil, err
		case t == nil:
			continue
		case t.Key == e.Key || now-t.At > windowMs:
			return nil, nil
		}
		return t, nil
	}
	return nil, nil
}

// beginGuard forgets all bodies where the guard, or its window, changes: what is found depends on nothing that was accepted before.
func beginGuard(r Rows, c *SetSource, s *Source) {
	if s.Guard != c.Settings.Guard || s.GuardS != c.Settings.GuardS {
		s.Generation = 0
		r.DropTwins(c.Tenant, c.Source, math.MaxInt64)
	}
}
