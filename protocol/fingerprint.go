package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Fingerprint says what makes two sends of one key the same: a version byte (1) and the SHA-256 of the RFC 8785 form
// of the object {"data":…,"text":…}. Absent data and null are one: the member is always written, then as null.
type Fingerprint [33]byte

const fingerprintPrefix = "v1:"

// FingerprintOf returns the fingerprint of a content. data is in canonical form (as Command.Data and Canonical have it), or
// empty where there is none.
func FingerprintOf(text string, data []byte) Fingerprint {
	var small [1 << 10]byte
	form := append(small[:0], `{"data":`...)
	if len(data) == 0 {
		form = append(form, "null"...)
	}
	form = append(form, data...)
	form = append(form, `,"text":`...)
	form = appendString(form, text)
	form = append(form, '}')
	sum := sha256.Sum256(form)
	f := Fingerprint{1}
	copy(f[1:], sum[:])
	return f
}

// String is "v1:" and 64 lower-case hex digits.
func (f Fingerprint) String() string { return fingerprintPrefix + hex.EncodeToString(f[1:]) }

// ParseFingerprint reads the form that String writes, and no other.
func ParseFingerprint(s string) (Fingerprint, bool) {
	digits, ok := strings.CutPrefix(s, fingerprintPrefix)
	if !ok || len(digits) != 2*sha256.Size || strings.ToLower(digits) != digits {
		return Fingerprint{}, false
	}
	f := Fingerprint{1}
	if _, err := hex.Decode(f[1:], []byte(digits)); err != nil {
		return Fingerprint{}, false
	}
	return f, true
}
