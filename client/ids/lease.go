package ids

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// DefaultLease is how many ordinals a lease holds: enough that renewing never limits a sender, few enough that 2^88
// leases exist.
const DefaultLease = 1 << 40

// JumpBits is how many random bits a reservation jumps by, in units of 2^40 ordinals. The jump keeps ids apart in
// copies of one store, the mark inside one store.
const JumpBits = 48

// Ordinal is an unsigned 128-bit number.
type Ordinal struct{ Hi, Lo uint64 }

// Bytes returns the ordinal as 16 bytes, big-endian: the form of a mark in a store.
func (o Ordinal) Bytes() (b [Size]byte) {
	binary.BigEndian.PutUint64(b[:8], o.Hi)
	binary.BigEndian.PutUint64(b[8:], o.Lo)
	return b
}

// OrdinalFrom reads a mark. Any other length than 16 bytes is corruption: it is never padded (docs/spec/client.md, 1).
func OrdinalFrom(b []byte) (Ordinal, error) {
	if len(b) != Size {
		return Ordinal{}, fmt.Errorf("%w, it has %d", ErrBadMark, len(b))
	}
	return Ordinal{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}, nil
}

// Cmp returns -1, 0 or 1 as o is below, equal to or above p.
func (o Ordinal) Cmp(p Ordinal) int {
	switch {
	case o == p:
		return 0
	case o.Hi < p.Hi || o.Hi == p.Hi && o.Lo < p.Lo:
		return -1
	}
	return 1
}

// Add returns o + p, or ErrOverflow where that is 2^128 or more.
func (o Ordinal) Add(p Ordinal) (Ordinal, error) {
	lo, carry := bits.Add64(o.Lo, p.Lo, 0)
	hi, carry := bits.Add64(o.Hi, p.Hi, carry)
	if carry != 0 {
		return Ordinal{}, ErrOverflow
	}
	return Ordinal{Hi: hi, Lo: lo}, nil
}

// Lease is the right to the ordinals [Start, Start + N) of a device. Start + N may be 2^128 itself.
type Lease struct {
	Device Device
	Start  Ordinal
	N      uint64
}

// Last returns the greatest ordinal of the lease, which is the mark that reserving it leaves.
func (l Lease) Last() (Ordinal, error) {
	if l.N == 0 {
		return Ordinal{}, fmt.Errorf("%w: it holds nothing", ErrBadLease)
	}
	return l.Start.Add(Ordinal{Lo: l.N - 1})
}

// Reserve is the rule by which every store reserves: start = mark + 1 + jump · 2^40. jump is fresh random bits, below
// 2^48. The caller stores the lease's Last as the new mark in the same transaction in which it read the old one.
func Reserve(d Device, mark Ordinal, n, jump uint64) (Lease, error) {
	if n == 0 || jump>>JumpBits != 0 {
		return Lease{}, fmt.Errorf("%w: n %d, jump %d", ErrBadLease, n, jump)
	}
	start, err := mark.Add(Ordinal{Lo: 1})
	if err != nil {
		return Lease{}, err
	}
	start, err = start.Add(Ordinal{Hi: jump >> 24, Lo: jump << 40})
	if err != nil {
		return Lease{}, err
	}
	l := Lease{Device: d, Start: start, N: n}
	if _, err := l.Last(); err != nil {
		return Lease{}, err
	}
	return l, nil
}
