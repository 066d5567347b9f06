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
