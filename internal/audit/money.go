package audit

import (
	"fmt"
	"strings"
)

const topUnit = 1_000_000_000_000_000_000 // 10^18: one more than the largest whole part of an amount

// money is an exact sum in three digits of mixed base: tops of 10^18 units, whole units below that, and 10^-8 parts.
// Each digit is kept below its base, so the text is the digits side by side and no division is ever needed.
type money struct{ tops, whole, parts uint64 }

func (m *money) add(other money) {
	m.parts += other.parts
	if m.parts >= hundredMillionths {
		m.parts -= hundredMillionths
		m.whole++
	}
	m.whole += other.whole
	if m.whole >= topUnit {
		m.whole -= topUnit
		m.tops++
	}
	m.tops += other.tops
}

// text is the sum with the decimals it needs, two at least (docs/spec/contract.md, section 3): an exact sum never
// needs more than the most precise amount in it, and trailing zeros are dropped, so only the digits decide.
func (m *money) text() string {
	decimals := strings.TrimRight(fmt.Sprintf("%08d", m.parts), "0")
	for len(decimals) < 2 {
		decimals += "0"
	}
	if m.tops > 0 {
		return fmt.Sprintf("%d%018d.%s", m.tops, m.whole, decimals)
	}
	return fmt.Sprintf("%d.%s", m.whole, decimals)
}
