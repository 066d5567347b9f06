package settlement

import (
	"cmp"
	"encoding/binary"

	"hapax/internal/settle"
)

// entry is an event of a known key on its way from the parser to its judge.
type entry struct {
	key   uint32 // number of the key within its lane
	event settle.Event
}

// compare orders entries by key and, within the key, for judging; equal ones stay in the order of the file.
func (e *entry) compare(other *entry) int {
	return cmp.Or(cmp.Compare(e.key, other.key), e.event.Compare(&other.event))
}

// The record of an entry: key, flags, seen_at, seq, lru_rank, whole amount and, where the flags have decimals, the
// amount's fraction in units of its last decimal; all but the flags as unsigned varints. About 20 bytes.
const (
	flagScope    = 0b0000_0011
	flagPending  = 0b0000_0100
	flagDecimals = 3 // shift
	maxRecord    = 5 + 1 + 3*8 + 9 + 5
)

func appendRecord(dst []byte, key uint32, e *settle.Event) []byte {
	fraction, decimals := e.Amount.Fraction, byte(0)
	if fraction != 0 {
		decimals = settle.MaxDecimals
		for fraction%10 == 0 {
			fraction /= 10
			decimals--
		}
	}
	flags := byte(e.Scope) | decimals<<flagDecimals
	if e.State == settle.StatePending {
		flags |= flagPending
	}
	dst = binary.AppendUvarint(dst, uint64(key))
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(e.SeenAt))
	dst = binary.AppendUvarint(dst, uint64(e.Seq))
	dst = binary.AppendUvarint(dst, uint64(e.LRURank))
	dst = binary.AppendUvarint(dst, e.Amount.Whole)
	if decimals > 0 {
		dst = binary.AppendUvarint(dst, uint64(fraction))
	}
	return dst
}

var tenTo = [...]uint32{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000}

// readRecord decodes the first record of src into e and returns what follows it. Records are never read from outside.
func readRecord(src []byte, e *entry) []byte {
	var v uint64
	v, src = uvarint(src)
	e.key = uint32(v)
	flags := src[0]
	src = src[1:]
	e.event.Scope = settle.Scope(flags & flagScope)
	e.event.State = settle.State(flags & flagPending / flagPending)
	v, src = uvarint(src)
	e.event.SeenAt = int64(v)
	v, src = uvarint(src)
	e.event.Seq = int64(v)
	v, src = uvarint(src)
	e.event.LRURank = int64(v)
	e.event.Amount.Whole, src = uvarint(src)
	e.event.Amount.Fraction = 0
	if decimals := flags >> flagDecimals; decimals > 0 {
		v, src = uvarint(src)
		e.event.Amount.Fraction = uint32(v) * tenTo[settle.MaxDecimals-decimals]
	}
	e.event.AmountOK = true
	return src
}

func uvarint(src []byte) (uint64, []byte) {
	if v := src[0]; v < 0x80 {
		return uint64(v), src[1:]
	}
	v, n := binary.Uvarint(src)
	return v, src[n:]
}
