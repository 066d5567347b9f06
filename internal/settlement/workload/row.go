package workload

import "strconv"

// Shape says what to make.
type Shape struct {
	Events  uint64
	Keys    uint64
	Tenants uint64 // three sources each
	Seed    uint64
	Shuffle bool // rows in an order that has nothing to do with their times
}

// The feed: how often what happens. Shares are in thousandths.
const (
	windowS       = 120        // BLOCK_WINDOW_S; 0 in most rows of the registry
	startS        = 1790000000 // seen_at of the first row
	perSecond     = 100        // rows with the same seen_at
	repeatShare   = 300        // repeats of a recent event, gaps around the window
	unknownShare  = 5          // a key that isn't registered
	badShare      = 5          // an amount that is none
	lateShare     = 10         // delivered up to an hour after its time
	pendingShare  = 50
	otherScope    = 20 // names a scope instead of leaving it to the registry
	lateMaxS      = 3600
	sourcesEach   = 3
	nameMin       = 20 // bytes of every name
	nameSpread    = 21
	ownWindow     = 100 // registry rows with a window of their own
	amountDigits  = 1_000_000
	registryLRU   = 8
	minLedgerHits = 3
)

// mix is the finalizer of SplitMix64: a good hash of one word.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// chance is a source of numbers for one row or key.
type chance uint64

func (c *chance) below(n uint64) uint64 {
	*c = chance(mix(uint64(*c)))
	return uint64(*c) % n
}

func (s *Shape) chance(kind, number uint64) chance {
	return chance(mix(s.Seed*0x9e3779b97f4a7c15+kind) ^ mix(number))
}

const (
	kindRow = iota
	kindKey
	kindName
)

// keyAt is the key of row j: a repeat takes that of an earlier row whose time lies around one window back.
func (s *Shape) keyAt(j uint64) uint64 {
	for {
		c := s.chance(kindRow, j)
		if c.below(1000) >= repeatShare {
			return c.below(s.Keys)
		}
		gap := c.gap() * perSecond
		if gap+perSecond > j {
			return c.below(s.Keys)
		}
		j = (j-gap)/perSecond*perSecond + c.below(perSecond)
	}
}

// gap is in seconds: half of them exactly at the window's edge or a second beside it, the rest up to two windows.
func (c *chance) gap() uint64 {
	if c.below(2) == 0 {
		return windowS - 1 + c.below(3)
	}
	return 1 + c.below(2*windowS)
}

// appendEvent appends row j of events.tsv.
func (s *Shape) appendEvent(dst []byte, j uint64) []byte {
	key := s.keyAt(j)
	c := s.chance(kindRow, ^j)
	fault := c.below(1000)
	if fault < unknownShare {
		key += s.Keys
	}
	seenAt := startS + j/perSecond
	if c.below(1000) < lateShare {
		seenAt -= 1 + c.below(lateMaxS)
	}
	dst = strconv.AppendUint(dst, j+1, 10)
	dst = append(dst, '\t')
	dst = s.appendKey(dst, key)
	dst = append(dst, '\t')
	if c.below(1000) < otherScope {
		dst = append(dst, scopes[c.below(2)]...)
	}
	dst = append(dst, '\t')
	dst = strconv.AppendUint(dst, seenAt, 10)
	dst = append(dst, '\t')
	if fault >= unknownShare && fault < unknownShare+badShare {
		dst = append(dst, badAmounts[c.below(uint64(len(badAmounts)))]...)
	} else {
		dst = s.appendAmount(dst, key)
	}
	state := "\tdone\t"
	if c.below(1000) < pendingShare {
		state = "\tpending\t"
	}
	dst = append(dst, state...)
	dst = strconv.AppendUint(dst, j+1, 10)
	return append(dst, '\n')
}

var scopes = [2]string{"schema", "wire"}

var badAmounts = []string{"12,50", "-5.00", "+1", "1e3", ".5", "5.", "00.1", "NaN", "", "0x10"}

// appendAmount appends the amount of a key, the same in all its events: cents, or now and then a whole number.
func (s *Shape) appendAmount(dst []byte, key uint64) []byte {
	c := s.chance(kindKey, key)
	cents := c.below(amountDigits)
	dst = strconv.AppendUint(dst, cents/100, 10)
	if c.below(10) == 0 {
		return dst
	}
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

// appendRegistration appends the row of dedupe.tsv of a key.
func (s *Shape) appendRegistration(dst []byte, key uint64) []byte {
	c := s.chance(kindKey, ^key)
	dst = s.appendKey(dst, key)
	dst = append(dst, '\t')
	dst = append(dst, scopes[c.below(2)]...)
	dst = append(dst, '\t')
	window := uint64(0)
	if c.below(1000) < ownWindow {
		window = windowS/2 + windowS*c.below(2)
	}
	dst = strconv.AppendUint(dst, window, 10)
	dst = append(dst, '\t')
	dst = strconv.AppendUint(dst, registryLRU, 10)
	return append(dst, '\n')
}

// appendKey appends `tenant TAB source TAB dedupe_key`.
func (s *Shape) appendKey(dst []byte, key uint64) []byte {
	source := mix(key) % (s.Tenants * sourcesEach)
	dst = s.appendName(dst, "tenant-", source/sourcesEach)
	dst = append(dst, '\t')
	dst = s.appendName(dst, "source-", source)
	dst = append(dst, '\t')
	return s.appendName(dst, "order-", key)
}

// appendName appends a name of 20 to 40 bytes that ends in a dash and letters.
func (s *Shape) appendName(dst []byte, what string, number uint64) []byte {
	start := len(dst)
	dst = append(dst, what...)
	dst = strconv.AppendUint(dst, number, 10)
	dst = append(dst, '-')
	h := mix(number ^ s.Seed<<32 ^ kindName)
	for want := start + nameMin + int(h%nameSpread); len(dst) < want; {
		h = h*6364136223846793005 + 1442695040888963407
		dst = append(dst, 'a'+byte(h>>32)%26)
	}
	return dst
}

// place is where the row stands that is written as number i: a permutation of the numbers below Events, by a Feistel
// network over the next power of four, walked until it comes out below.
func (s *Shape) place(i uint64) uint64 {
	if !s.Shuffle {
		return i
	}
	half := uint(1)
	for uint64(1)<<(2*half) < s.Events {
		half++
	}
	mask := uint64(1)<<half - 1
	for {
		left, right := i>>half, i&mask
		for round := range uint64(4) {
			left, right = right, left^(mix(right^s.Seed<<8^round)&mask)
		}
		if i = left<<half | right; i < s.Events {
			return i
		}
	}
}
