package pebble

import (
	"encoding/binary"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/idem"
)

// The first byte of a key names its table. A room's number stands for its name in the two big tables.
const (
	tableCounts  = 'c' // one row: commits, and sums
	tableSelf    = 'i' // one row: format, identity, epochs
	tableJournal = 'j' // room number, seq → the row; in the order of seq
	tableRooms   = 'm' // name → number and marks; in the order of names
	tableResults = 'r' // room number, length of the actor, actor, client message id → the result
)

// Lengths of the fixed parts of a key: a table byte, a room number (4 bytes), a seq (8 bytes), both big-endian.
const (
	lenRoomPrefix = 1 + 4
	lenJournalKey = lenRoomPrefix + 8
)

var (
	countsKey = []byte{tableCounts}
	selfKey   = []byte{tableSelf}
)

// comparer orders bytes, and tells the bloom filters which part of a key they cover: the whole key, but of a journal row only its
// room, since nobody looks for a single journal row that might be missing. Its name is stored; it must not change.
var comparer = func() *lsm.Comparer {
	c := *lsm.DefaultComparer
	c.Name = "hapax.v1"
	c.Split = func(key []byte) int {
		if len(key) > lenRoomPrefix && key[0] == tableJournal {
			return lenRoomPrefix
		}
		return len(key)
	}
	return &c
}()

func appendRoomPrefix(b []byte, table byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, table), number)
}

func appendJournalKey(b []byte, number uint32, seq int64) []byte {
	return binary.BigEndian.AppendUint64(appendRoomPrefix(b, tableJournal, number), uint64(seq))
}

// appendResultKey writes the parts of a key one after the other. The actor's length comes first: no separator could be part of it.
func appendResultKey(b []byte, number uint32, actor, id string) []byte {
	b = appendRoomPrefix(b, tableResults, number)
	b = binary.AppendUvarint(b, uint64(len(actor)))
	b = append(b, actor...)
	return append(b, id...)
}

func appendRoomsKey(b []byte, name string) []byte {
	return append(append(b, tableRooms), name...)
}

// journalSeq reads the seq of a journal key.
func journalSeq(key []byte) int64 {
	if len(key) != lenJournalKey {
		return -1
	}
	return int64(binary.BigEndian.Uint64(key[lenRoomPrefix:]))
}

// splitResultKey reads a result key. ok is false where it can't be one.
func splitResultKey(key []byte) (number uint32, k idem.Key, ok bool) {
	if len(key) < lenRoomPrefix || key[0] != tableResults {
		return 0, k, false
	}
	number = binary.BigEndian.Uint32(key[1:])
	n, w := binary.Uvarint(key[lenRoomPrefix:])
	rest := key[lenRoomPrefix:]
	if w <= 0 || n > uint64(len(rest)-w) {
		return 0, k, false
	}
	rest = rest[w:]
	return number, idem.Key{Actor: string(rest[:n]), ID: string(rest[n:])}, true
}

// roomNumber reads the room's number of a journal or result key.
func roomNumber(key []byte) (number uint32, ok bool) {
	if len(key) < lenRoomPrefix {
		return 0, false
	}
	return binary.BigEndian.Uint32(key[1:]), true
}
