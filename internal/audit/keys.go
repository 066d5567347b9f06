package audit

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// keyTable numbers keys from 0 in the order they are added. A key is the text `tenant<TAB>source<TAB>dedupe_key`
// as it stands in a row: no name holds a tab (it is a control character), so two keys never share a text, and the
// order of the texts as bytes is the order of (tenant, source, dedupe_key), since a tab is below all that a name holds.
//
// With millions of keys nearly every access misses the processor's caches, and that is what a look-up costs. So a
// look-up touches two places only: a slot, and the record that it points to, with number and text side by side.
type keyTable struct {
	seed    maphash.Seed
	records []byte   // number (4 bytes), length (2 bytes), text; end to end
	starts  []uint64 // number → where its record starts
	slots   []uint64 // open addressing: a tag of the hash's upper bits, then 1 + where the record starts; 0 is empty
}

const (
	recordHead = 6
	startBits  = 40 // 1 TiB of records
	startMask  = 1<<startBits - 1
)

// newKeyTable makes a table with room for about so many keys of so many bytes in all; it grows beyond.
func newKeyTable(expected, bytes int) *keyTable {
	slots := 1 << 8
	for slots < 2*expected {
		slots *= 2
	}
	return &keyTable{
		seed:    maphash.MakeSeed(),
		records: make([]byte, 0, bytes),
		starts:  make([]uint64, 0, expected),
		slots:   make([]uint64, slots),
	}
}

func (t *keyTable) len() int { return len(t.starts) }

// text is valid as long as the table.
func (t *keyTable) text(key uint32) []byte {
	_, text := t.record(t.starts[key])
	return text
}

func (t *keyTable) record(start uint64) (key uint32, text []byte) {
	record := t.records[start:]
	length := uint64(binary.LittleEndian.Uint16(record[4:]))
	return binary.LittleEndian.Uint32(record), record[recordHead : recordHead+length]
}

func (t *keyTable) hash(text []byte) uint64 { return maphash.Bytes(t.seed, text) }

// find looks a key up; it may be called from several goroutines while none adds.
func (t *keyTable) find(text []byte) (key uint32, known bool) {
	return t.findHashed(t.hash(text), text)
}

func (t *keyTable) findHashed(hash uint64, text []byte) (key uint32, known bool) {
	entry := t.slots[t.slot(hash, text)]
	if entry == 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(t.records[entry&startMask-1:]), true
}

// warm reads what a look-up of the hash will read first: several in a row are fetched from memory side by side, where
// look-ups one after another would wait for each. The result only keeps the reading from being left out.
func (t *keyTable) warm(hash uint64) byte {
	entry := t.slots[hash&uint64(len(t.slots)-1)]
	if entry == 0 {
		return 0
	}
	return t.records[entry&startMask-1]
}

// add returns the key's number, and whether the table already held it.
func (t *keyTable) add(text []byte) (key uint32, known bool) {
	hash := t.hash(text)
	slot := t.slot(hash, text)
	if entry := t.slots[slot]; entry != 0 {
		return binary.LittleEndian.Uint32(t.records[entry&startMask-1:]), true
	}
	key = uint32(len(t.starts))
	start := uint64(len(t.records))
	t.starts = append(t.starts, start)
	t.records = binary.LittleEndian.AppendUint32(t.records, key)
	t.records = binary.LittleEndian.AppendUint16(t.records, uint16(len(text)))
	t.records = append(t.records, text...)
	t.slots[slot] = hash&^startMask | (start + 1)
	if 2*len(t.starts) > len(t.slots) {
		t.grow()
	}
	return key, false
}

// slot is where the text is, or the empty place where it would go.
func (t *keyTable) slot(hash uint64, text []byte) int {
	mask := uint64(len(t.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		entry := t.slots[at]
		if entry == 0 {
			return int(at)
		}
		if (entry^hash)&^startMask == 0 {
			if _, held := t.record(entry&startMask - 1); bytes.Equal(held, text) {
				return int(at)
			}
		}
	}
}

func (t *keyTable) grow() {
	t.slots = make([]uint64, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for _, start := range t.starts {
		_, text := t.record(start)
		hash := t.hash(text)
		at := hash & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = hash&^startMask | (start + 1)
	}
}

// keyParts takes a key's text apart.
func keyParts(text []byte) (tenant, source, dedupeKey []byte) {
	tenant, rest, _ := bytes.Cut(text, []byte{'\t'})
	source, dedupeKey, _ = bytes.Cut(rest, []byte{'\t'})
	return tenant, source, dedupeKey
}
