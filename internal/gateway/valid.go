package gateway

import "hapax/internal/settle"

// What a command must be so that its record is one: callers read and refuse with words for people before this, and it holds whatever they
// let through. What is taken here the audit takes (docs/log.md).

// maxCount bounds what may come into a contract file.
const maxCount = 1_000_000_000_000_000 // 15 digits

// maxIDBytes bounds an event's id.
const maxIDBytes = 64

func countable(all ...int64) bool {
	for _, n := range all {
		if n < 0 || n >= maxCount {
			return false
		}
	}
	return true
}

// valid is of a delivery at a source that has settings: its tenant and name were looked at when it got them.
func (e *Event) valid() bool {
	if !settle.ValidName([]byte(e.Key)) || len(e.ID) < 1 || len(e.ID) > maxIDBytes || !isCurrency(e.Currency) || len(e.Amount) > MaxAmountText {
		return false
	}
	if e.Named && !countable(e.SeenAt) {
		return false
	}
	value, ok := settle.ParseAmount([]byte(e.Amount))
	return !e.AmountOK || ok && value == e.Value
}

func isCurrency(text string) bool {
	if len(text) != 3 {
		return false
	}
	for _, c := range []byte(text) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

func (c *Register) valid() bool {
	return settle.ValidName([]byte(c.Key)) && c.Scope != settle.ScopeNone && countable(c.WindowS, c.LRUCapacity)
}

func (c *SetSource) valid() bool {
	s := &c.Settings
	return settle.ValidTenant([]byte(c.Tenant)) && settle.ValidName([]byte(c.Source)) && countable(s.WindowS, s.LRUCapacity, s.Parts, s.GuardS) &&
		s.Guard <= GuardReject && (s.Guard == GuardOff) == (s.GuardS == 0) &&
		(s.Scope != settle.ScopeNone || !s.Open) // a key that registers itself takes the source's scope
}
