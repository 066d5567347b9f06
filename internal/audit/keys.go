package audit

import (
	"bytes"
	"hash/maphash"
)

// keyTable numbers keys from 0 in the order they are added. A key is the text `tenant<TAB>source<TAB>dedupe_key`
// as it stands in a row: no name holds a tab (it is a control character), so two keys never share a text, and the
// order of the texts as bytes is the order of (tenant, source, dedupe_key), since a tab is below all that a name holds.
//
// A Go map would do the same with a pointer a key for the collector to walk; this holds millions in three slices.
type keyTable struct {
	seed  maphash.Seed
	texts []byte   // all texts, end to end
	ends  []uint64 // key → where its text ends
	slots []uint64 // open addressing: high half the hash's, low half number + 1; 0 is empty
}

func newKeyTable() *keyTable {
	return &keyTable{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)}
}

func (t *keyTable) len() int { return len(t.ends) }

// text is valid as long as the table.
func (t *keyTable) text(key uint32) []byte {
	start := uint64(0)
	if key > 0 {
		start = t.ends[key-1]
	}
	return t.texts[start:t.ends[key]]
}

// find looks a key up; it may be called from several goroutines while none adds.
func (t *keyTable) find(text []byte) (key uint32, known bool) {
	hash := maphash.Bytes(t.seed, text)
	slot := t.slot(hash, text)
	return uint32(t.slots[slot]) - 1, t.slots[slot] != 0
}

// add returns the key's number, and whether the table already held it.
func (t *keyTable) add(text []byte) (key uint32, known bool) {
	hash := maphash.Bytes(t.seed, text)
	slot := t.slot(hash, text)
	if t.slots[slot] != 0 {
		return uint32(t.slots[slot]) - 1, true
	}
	key = uint32(len(t.ends))
	t.texts = append(t.texts, text...)
	t.ends = append(t.ends, uint64(len(t.texts)))
	t.slots[slot] = hash&^0xFFFFFFFF | uint64(key+1)
	if 2*len(t.ends) > len(t.slots) {
		t.grow()
	}
	return key, false
}

// slot is where the text is, or the empty place where it would go.
func (t *keyTable) slot(hash uint64, text []byte) int {
	mask := uint64(len(t.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		entry := t.slots[at]
		if entry == 0 || (entry>>32 == hash>>32 && bytes.Equal(t.text(uint32(entry)-1), text)) {
			return int(at)
		}
	}
}

func (t *keyTable) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	for key := range t.ends {
		text := t.text(uint32(key))
		hash := maphash.Bytes(t.seed, text)
		t.slots[t.slot(hash, text)] = hash&^0xFFFFFFFF | uint64(key+1)
	}
}

// keyParts takes a key's text apart.
func keyParts(text []byte) (tenant, source, dedupeKey []byte) {
	tenant, rest, _ := bytes.Cut(text, []byte{'\t'})
	source, dedupeKey, _ = bytes.Cut(rest, []byte{'\t'})
	return tenant, source, dedupeKey
}
