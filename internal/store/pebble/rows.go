package pebble

import (
	"encoding/binary"
	"fmt"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Values are written field after field: numbers as varints, strings behind their length, the last one to the end.

// journalRow is a row of the journal. A skeleton is what is left of a row that aged out while its result lives: it says which
// key the purge has to drop at that seq.
type journalRow struct {
	room.Message
	skeleton bool
}

const (
	flagSkeleton = 1 << iota
	flagData
)

func appendJournalValue(b []byte, m *room.Message, skeleton bool) []byte {
	flags := byte(0)
	if skeleton {
		flags |= flagSkeleton
	}
	if len(m.Data) > 0 && !skeleton {
		flags |= flagData
	}
	b = append(b, flags)
	b = binary.AppendVarint(b, m.At)
	b = appendText(b, m.MessageID)
	b = appendText(b, m.Actor)
	b = appendText(b, m.ID)
	if skeleton {
		return b
	}
	b = appendText(b, m.Text)
	return append(b, m.Data...)
}

func readJournalRow(key, value []byte) (journalRow, error) {
	r := reader{rest: value}
	flags := r.byte()
	row := journalRow{skeleton: flags&flagSkeleton != 0}
	row.Seq = journalSeq(key)
	row.At = r.varint()
	row.MessageID = r.text()
	row.Actor = r.text()
	row.ID = r.text()
	if !row.skeleton {
		row.Text = r.text()
		if flags&flagData != 0 {
			row.Data = append([]byte(nil), r.rest...)
		}
	}
	if r.bad || row.Seq < 1 {
		return row, fmt.Errorf("%w: journal row %x can't be read", store.ErrDamage, key)
	}
	return row, nil
}

// storedResult is a result as it lies on disk: the epoch is a place in the list of epochs of the store.
type storedResult struct {
	idem.Result
	epoch uint64
}

func appendResultValue(b []byte, r *idem.Result, epoch uint64) []byte {
	b = append(b, r.Fingerprint[:]...)
	b = binary.AppendUvarint(b, uint64(r.Seq))
	b = binary.AppendUvarint(b, epoch)
	b = binary.AppendVarint(b, r.At)
	return append(b, r.MessageID...)
}

func readResult(key, value []byte, epochs []string) (res storedResult, err error) {
	r := reader{rest: value}
	copy(res.Fingerprint[:], r.take(len(res.Fingerprint)))
	res.Seq = int64(r.uvarint())
	res.epoch = r.uvarint()
	res.At = r.varint()
	res.MessageID = string(r.rest)
	if r.bad || res.Seq < 1 || res.epoch >= uint64(len(epochs)) {
		return res, fmt.Errorf("%w: result row %x can't be read", store.ErrDamage, key)
	}
	res.Epoch = epochs[res.epoch]
	return res, nil
}

// roomRow holds what a room's journal doesn't tell. Its head is a lower bound: the last journal row is the head where there is one, so that
// a commit need not write this row.
type roomRow struct {
	room.State
	number    uint32
	resultLow int64 // seq through which results were dropped
	fresh     bool  // not on disk yet
}

func appendRoomRow(b []byte, r *roomRow) []byte {
	b = binary.AppendUvarint(b, uint64(r.number))
	b = binary.AppendUvarint(b, uint64(r.Head))
	b = binary.AppendUvarint(b, uint64(r.Low))
	b = binary.AppendUvarint(b, uint64(r.resultLow))
	b = binary.AppendVarint(b, r.Horizon)
	b = appendText(b, r.HeadID)
	return appendText(b, r.LowID)
}

func readRoomRow(key, value []byte) (row roomRow, err error) {
	r := reader{rest: value}
	number := r.uvarint()
	row.Head = int64(r.uvarint())
	row.Low = int64(r.uvarint())
	row.resultLow = int64(r.uvarint())
	row.Horizon = r.varint()
	row.HeadID = r.text()
	row.LowID = r.text()
	if r.bad || len(r.rest) > 0 || number == 0 || number > maxRooms || row.Head < max(row.Low, row.resultLow) {
		return row, fmt.Errorf("%w: the row of room %q can't be read", store.ErrDamage, key[1:])
	}
	row.number = uint32(number)
	return row, nil
}

// counts are sums over the store, raised by every commit in its own batch.
type counts struct {
	commits  uint64 // batches ever written: what the head note is compared with
	numbers  uint64 // room numbers given, also those that no room took
	rooms    int64  // none is ever deleted
	messages int64  // rows of the journal that didn't age out
	results  int64
}

func appendCounts(b []byte, c *counts) []byte {
	b = binary.AppendUvarint(b, c.commits)
	b = binary.AppendUvarint(b, c.numbers)
	b = binary.AppendVarint(b, c.rooms)
	b = binary.AppendVarint(b, c.messages)
	return binary.AppendVarint(b, c.results)
}

func readCounts(value []byte) (c counts, err error) {
	r := reader{rest: value}
	c = counts{commits: r.uvarint(), numbers: r.uvarint(), rooms: r.varint(), messages: r.varint(), results: r.varint()}
	if r.bad || len(r.rest) > 0 || c.numbers > maxRooms {
		return c, fmt.Errorf("%w: the row of counts can't be read", store.ErrDamage)
	}
	return c, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader takes fields off the front of a value. After a field that isn't there, bad is set and all further fields are empty.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	head := r.rest[:n]
	r.rest = r.rest[n:]
	return head
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<63-1 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	return string(r.take(int(n)))
}
