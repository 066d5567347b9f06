package settlement

import (
	"encoding/binary"
	"hash/maphash"
	"unsafe"
)

// keys gives every known key a number, 0, 1, 2 … in the order of first mention, and finds it again by its bytes. It
// is filled by one goroutine and then read by many.
//
// It is made for millions of keys in little memory: names lie end to end in large blocks without pointers, a key
// costs its own name and about 30 bytes, and (tenant, source) is kept once for all its keys.
type keys struct {
	pairs pairs
	seed  maphash.Seed
	slots []slot // open addressing; a power of two, at most ¾ full
	names arena
	refs  segments // number → place of its record in names
	count int
}

// slot is a place of the hash table. The low bits of tag are the slot that the key would like to have.
type slot struct {
	tag uint32
	ref uint32 // place in names + 1; 0 is empty
}

// A key's record in names: number, head of its registrations, pair, length of the name, name.
const (
	recordNumber = 0
	recordRows   = 4
	recordPair   = 8
	recordLength = 12
	recordName   = 14
)

const firstSlots = 1 << 10

func newKeys() *keys {
	seed := maphash.MakeSeed()
	return &keys{seed: seed, slots: make([]slot, firstSlots), pairs: newPairs(seed)}
}

// keyRef is a key that was found: its number and the head of its registrations (0: none).
type keyRef struct {
	number uint32
	rows   uint32
}

// find looks a key up by its bytes. pair is `tenant TAB source` as it stands in a row.
func (k *keys) find(pair, name []byte) (keyRef, bool) {
	q := k.ask(pair, name)
	k.probe(&q)
	return k.answer(&q)
}

// question is a look-up under way. Millions of keys don't fit a cache, so a look-up is mostly waiting for memory;
// many at a time, each step for all of them before the next (ask, probe, fetch, answer), wait together.
type question struct {
	name  []byte
	pair  uint32
	tag   uint32
	maybe uint32 // place in names + 1 of the record that may be the one
}

// noPair marks a question whose pair isn't known.
const noPair = ^uint32(0)

// ask begins a look-up.
func (k *keys) ask(pair, name []byte) question {
	p, ok := k.pairs.find(pair)
	if !ok {
		return question{pair: noPair}
	}
	return question{name: name, pair: p, tag: k.tag(p, name)}
}

// probe reads the slot that the key would like to have.
func (k *keys) probe(q *question) {
	q.maybe = k.slots[q.tag&uint32(len(k.slots)-1)].ref
}

// fetch makes the processor fetch both ends of the likely record; what it returns means nothing.
func (k *keys) fetch(q *question) byte {
	if q.maybe == 0 {
		return 0
	}
	record := k.names.from(q.maybe - 1)
	return record[0] ^ record[min(recordName+len(q.name), len(record))-1]
}

// answer ends a look-up.
func (k *keys) answer(q *question) (keyRef, bool) {
	if q.pair == noPair {
		return keyRef{}, false
	}
	for i := q.tag & uint32(len(k.slots)-1); ; i = (i + 1) & uint32(len(k.slots)-1) {
		s := k.slots[i]
		if s.ref == 0 {
			return keyRef{}, false
		}
		if s.tag != q.tag {
			continue
		}
		record := k.names.from(s.ref - 1)
		if sameKey(record, q.pair, q.name) {
			return keyRef{number: numberOf(record), rows: rowsOf(record)}, true
		}
	}
}

func sameKey(record []byte, pair uint32, name []byte) bool {
	return binary.LittleEndian.Uint32(record[recordPair:]) == pair &&
		int(binary.LittleEndian.Uint16(record[recordLength:])) == len(name) &&
		string(record[recordName:recordName+len(name)]) == string(name)
}

func (k *keys) tag(pair uint32, name []byte) uint32 {
	h := maphash.Bytes(k.seed, name) ^ uint64(pair)*0x9e3779b97f4a7c15
	return uint32(h ^ h>>32)
}

// add returns the record of a key, made where it is new. The record's bytes may be changed by setRows.
func (k *keys) add(n keyName) (record []byte, isNew bool) {
	p := k.pairs.add(n)
	tag := k.tag(p, n.key)
	i := tag & uint32(len(k.slots)-1)
	for ; k.slots[i].ref != 0; i = (i + 1) & uint32(len(k.slots)-1) {
		if k.slots[i].tag != tag {
			continue
		}
		if record := k.names.from(k.slots[i].ref - 1); sameKey(record, p, n.key) {
			return record, false
		}
	}
	ref, record := k.names.alloc(recordName + len(n.key))
	binary.LittleEndian.PutUint32(record[recordNumber:], uint32(k.count))
	binary.LittleEndian.PutUint32(record[recordPair:], p)
	binary.LittleEndian.PutUint16(record[recordLength:], uint16(len(n.key)))
	copy(record[recordName:], n.key)
	k.slots[i] = slot{tag: tag, ref: ref + 1}
	k.refs.append(ref)
	k.count++
	if k.count*4 > len(k.slots)*3 {
		k.grow()
	}
	return record, true
}

func (k *keys) grow() {
	old := k.slots
	k.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.ref == 0 {
			continue
		}
		i := s.tag & uint32(len(k.slots)-1)
		for k.slots[i].ref != 0 {
			i = (i + 1) & uint32(len(k.slots)-1)
		}
		k.slots[i] = s
	}
}

func rowsOf(record []byte) uint32 { return binary.LittleEndian.Uint32(record[recordRows:]) }
func setRows(record []byte, rows uint32) {
	binary.LittleEndian.PutUint32(record[recordRows:], rows)
}

// record returns the record of a key by number.
func (k *keys) record(number uint32) []byte { return k.names.from(k.refs.at(number)) }

func pairOf(record []byte) uint32 { return binary.LittleEndian.Uint32(record[recordPair:]) }

func numberOf(record []byte) uint32 { return binary.LittleEndian.Uint32(record[recordNumber:]) }

// nameOf returns the dedupe_key of a record without copying it; records are never moved or overwritten.
func nameOf(record []byte) string {
	n := binary.LittleEndian.Uint16(record[recordLength:])
	return unsafe.String(&record[recordName], int(n))
}

// bytes is about how much memory the keys take.
func (k *keys) bytes() int64 {
	return int64(len(k.slots))*8 + k.names.bytes() + k.refs.bytes() + k.pairs.bytes()
}
