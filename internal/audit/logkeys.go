package audit

import (
	"hash/maphash"
	"math"
)

// keyID stands for a key: 128 bits of two hashes that are seeded anew in each proof. Two keys that share them are less likely than a
// fault of the memory they lie in, and nobody can look for such a pair without the seeds. So the table holds no names.
type keyID [2]uint64

// hasher makes ids of names, and single words of longer facts that are only ever compared with each other.
type hasher struct{ first, second maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h *hasher) key(raw []byte) keyID {
	return keyID{maphash.Bytes(h.first, raw), maphash.Bytes(h.second, raw)}
}

func (h *hasher) word(fact []byte) uint64 { return maphash.Bytes(h.second, fact) }

// logKey is what the fold over the log knows of a key. It holds no pointer, so that the collector passes millions of them by.
type logKey struct {
	id        keyID
	lastEvent int64 // number of its last event, whatever the decision
	last      int64 // number of the last accepted or deduped one, 0: none
	lastSeen  int64
	root      int64  // number of the accepted event that last repeats
	rootPrint uint64 // word of its fingerprint
	rootID    uint64 // word of its id

	window, capacity, since int64 // as registered

	hitNumber, hitSeen int64  // the last repeat in hitCurrency
	hits               uint32 // repeats in hitCurrency; those in further currencies lie in keyTableOfLog.more
	events, accepted   uint32
	repeats            uint32 // since the root
	waiting            uint32 // rows of the outbox that wait
	source             uint32 // place in fold.sources
	hitCurrency        uint16
	lastCurrency       uint16
	scope, lastScope   scope // as registered; as judged
	marks              keyMarks
}

// keyMarks are what is true of a key.
type keyMarks uint8

const (
	isRegistered  keyMarks = 1 << iota
	saidPending            // the source said so of the last event
	rootForwarded          // the root went to a destination
	rootDelivered          // which took it
)

// has tells whether a mark is set.
func (k *logKey) has(m keyMarks) bool { return k.marks&m != 0 }

func (k *logKey) set(m keyMarks, on bool) {
	k.marks &^= m
	if on {
		k.marks |= m
	}
}

// pending is the state that the next event of the key is judged by: with a destination that of the root, else what the source said.
func (k *logKey) pending() bool {
	if k.has(rootForwarded) {
		return !k.has(rootDelivered)
	}
	return k.has(saidPending)
}

// blank tells whether nothing is kept of the key: it was registered and unregistered, and had no event.
func (k *logKey) blank() bool { return k.events == 0 && !k.has(isRegistered) }

// maxOfKey bounds what is counted of one key; the log of so many events of one key would have a terabyte.
const maxOfKey = math.MaxUint32

// hitsAbroad are a key's repeats in a currency that isn't its first.
type hitsAbroad struct {
	number, seen int64
	count        uint32
	place        uint32 // among the currencies, in the order in which they came; 0 is the key's first
}

type keyCurrency struct {
	key      uint32
	currency uint16
}

const segmentKeys = 1 << 9 // keys a segment: the table grows without copying what it holds

// logKeys numbers keys from 0 in the order in which they come. Slots hold 32 bits of the id and 1 + the number; 0 is empty.
type logKeys struct {
	slots    []uint64
	segments [][]logKey
	total    uint32
	more     map[keyCurrency]hitsAbroad
	further  map[uint32]int // key → how many currencies it has in more
}

func newLogKeys() *logKeys {
	return &logKeys{slots: make([]uint64, 1<<10), more: map[keyCurrency]hitsAbroad{}, further: map[uint32]int{}}
}

func (t *logKeys) at(key uint32) *logKey { return &t.segments[key/segmentKeys][key%segmentKeys] }

const slotTag = math.MaxUint64 - math.MaxUint32 // the upper half

// find returns the key's number.
func (t *logKeys) find(id keyID) (key uint32, known bool) {
	mask := uint64(len(t.slots) - 1)
	for slot := id[1] & mask; ; slot = (slot + 1) & mask {
		entry := t.slots[slot]
		if entry == 0 {
			return 0, false
		}
		if (entry^id[0])&slotTag == 0 {
			if key = uint32(entry) - 1; t.at(key).id == id {
				return key, true
			}
		}
	}
}

// add takes in a key that isn't there.
func (t *logKeys) add(k logKey) (key uint32) {
	if 2*int(t.total) >= len(t.slots) {
		t.grow()
	}
	key = t.total
	if int(key/segmentKeys) == len(t.segments) {
		t.segments = append(t.segments, make([]logKey, segmentKeys))
	}
	*t.at(key) = k
	t.total++
	t.place(key)
	return key
}

func (t *logKeys) place(key uint32) {
	id, mask := t.at(key).id, uint64(len(t.slots)-1)
	slot := id[1] & mask
	for t.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	t.slots[slot] = id[0]&slotTag | uint64(key+1)
}

func (t *logKeys) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	for key := range t.total {
		t.place(key)
	}
}

// hitIn counts a repeat.
func (t *logKeys) hitIn(key uint32, currency uint16, number, seen int64) {
	k := t.at(key)
	if k.hits == 0 || k.hitCurrency == currency {
		k.hitCurrency, k.hits, k.hitNumber, k.hitSeen = currency, k.hits+1, number, seen
		return
	}
	at := keyCurrency{key, currency}
	before, again := t.more[at]
	if !again {
		t.further[key]++
		before.place = uint32(t.further[key])
	}
	t.more[at] = hitsAbroad{number, seen, before.count + 1, before.place}
}

// hitsOf are the key's repeats in a currency.
func (t *logKeys) hitsOf(key uint32, currency uint16) hitsAbroad {
	if k := t.at(key); k.hits > 0 && k.hitCurrency == currency {
		return hitsAbroad{k.hitNumber, k.hitSeen, k.hits, 0}
	}
	return t.more[keyCurrency{key, currency}]
}

// currencyCode numbers currencies; ok is false for what isn't three letters A–Z.
func currencyCode(text []byte) (code uint16, ok bool) {
	if len(text) != 3 {
		return 0, false
	}
	for _, c := range text {
		if c < 'A' || c > 'Z' {
			return 0, false
		}
		code = code*26 + uint16(c-'A')
	}
	return code, true
}

func currencyText(code uint16) string {
	return string([]byte{'A' + byte(code/676), 'A' + byte(code/26%26), 'A' + byte(code%26)})
}
