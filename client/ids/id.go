package ids

import (
	"encoding/hex"
	"errors"
	"fmt"

	"lukechampine.com/blake3"
)

// domain separates these hashes from every other use of BLAKE3. It ends in a NUL byte, as all that follows is of fixed width.
const domain = "qim.client-message-id.v1\x00"

// Size is the length of an id, a device and an ordinal in bytes.
const Size = 16

// MaxLength is the greatest length in bytes of an id from elsewhere (docs/spec/protocol.md, Words).
const MaxLength = 128

// Errors of this package. Test with errors.Is.
var (
	ErrBadID    = errors.New("ids: not a valid client message id")
	ErrZeroID   = errors.New("ids: the id 0 is never valid")
	ErrOverflow = errors.New("ids: no ordinals left below 2^128")
	ErrBadMark  = errors.New("ids: a mark must be exactly 16 bytes")
	ErrBadLease = errors.New("ids: not a lease")
	ErrUnissued = errors.New("ids: this id was not issued here, or was used or released before")
)

// ID is a client message id made by an SDK. The zero ID is never valid.
type ID [Size]byte

// Device is the 128 random bits made with a store.
type Device [Size]byte

// Make derives the id of an ordinal of a device. It may be zero (for one ordinal in 2^128): such an ordinal is skipped.
func Make(d Device, o Ordinal) ID {
	var in [len(domain) + 2*Size]byte
	n := copy(in[:], domain)
	n += copy(in[n:], d[:])
	ord := o.Bytes()
	copy(in[n:], ord[:])
	sum := blake3.Sum256(in[:])
	return ID(sum[:Size])
}

// IsZero reports whether the id is the invalid one.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the 32 lower-case hex digits by which an id travels.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// String returns the device as 32 lower-case hex digits.
func (d Device) String() string { return hex.EncodeToString(d[:]) }

// Parse reads the 32 lower-case hex digits of an SDK's id. Upper case is refused, as ids are compared byte for byte.
func Parse(s string) (ID, error) {
	var id ID
	if len(s) != 2*Size {
		return ID{}, fmt.Errorf("%w: %d bytes, not 32", ErrBadID, len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil || id.String() != s {
		return ID{}, fmt.Errorf("%w: not 32 lower-case hex digits", ErrBadID)
	}
	if id.IsZero() {
		return ID{}, ErrZeroID
	}
	return id, nil
}

// Check tells whether s may be used as a client message id, also one from elsewhere: 1 to 128 bytes of printable ASCII
// without quote and backslash, and not the zero id (docs/spec/protocol.md, Words).
func Check(s string) error {
	if len(s) == 0 || len(s) > MaxLength {
		return fmt.Errorf("%w: %d bytes, not 1 to %d", ErrBadID, len(s), MaxLength)
	}
	for i := range len(s) {
		if c := s[i]; c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
			return fmt.Errorf("%w: byte %#x at %d", ErrBadID, c, i)
		}
	}
	if s == (ID{}).String() {
		return ErrZeroID
	}
	return nil
}
