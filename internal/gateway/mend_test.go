package gateway

import "testing"

// A row that lies ahead of the clock waits for what is left of its interval from now; all others stay as they are.
func TestMend(t *testing.T) {
	const now = 1_000_000
	for name, c := range map[string]struct {
		row, want Delivery
		kind      Kind
	}{
		"tried ahead of now":        {Delivery{LastMs: now + 500, Since: now - 9, IntervalMs: 60_000, Due: now + 60_500}, Delivery{LastMs: now, Since: now - 9, IntervalMs: 40_000, Due: now + 40_000}, Done},
		"accepted ahead of now":     {Delivery{Since: now + 500, Due: now + 500}, Delivery{Since: now, Due: now}, Done},
		"held, accepted ahead":      {Delivery{Since: now + 500, Due: Held}, Delivery{Since: now, Due: Held}, Done},
		"revived ahead of now":      {Delivery{LastMs: now + 5, Since: now + 9, Due: now + 9}, Delivery{LastMs: now, Since: now, Due: now}, Done},
		"told to wait for a day":    {Delivery{LastMs: now, Since: now - 9, IntervalMs: 1000, Due: now + 86_400_000}, Delivery{LastMs: now, Since: now - 9, IntervalMs: 1000, Due: now + 86_400_000}, Same},
		"as late as a rule puts it": {Delivery{State: Waiting, LastMs: now, IntervalMs: 1000, Due: now + MaxDueMs}, Delivery{LastMs: now, IntervalMs: 1000, Due: now + MaxDueMs}, Same},
		"later":                     {Delivery{State: Waiting, LastMs: now, IntervalMs: 1000, Due: now + MaxDueMs + 1}, Delivery{LastMs: now, IntervalMs: 40_000, Due: now + 40_000}, Done},
		"later, and not tried":      {Delivery{State: Waiting, Since: now, Due: 1 << 60}, Delivery{Since: now, Due: now}, Done},
		"held, wished for later":    {Delivery{State: Waiting, Since: now, Due: Held, NotBefore: 1 << 60}, Delivery{Since: now, Due: Held}, Done},
	} {
		got := c.row
		if o := got.mend(now, 40_000); o.Kind != c.kind || got.LastMs != c.want.LastMs || got.Since != c.want.Since || got.IntervalMs != c.want.IntervalMs || got.Due != c.want.Due {
			t.Errorf("%s: %v, %+v, want %+v", name, o.Kind, got, c.want)
		}
	}
}
