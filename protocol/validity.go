package protocol

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName bounds, in bytes, names that no Limits announces: an epoch, a messageId, an actor, a client's name for logs.
const MaxName = 128

// noID is the SDKs' id zero, which is never valid (docs/spec/protocol.md, Words).
const noID = "00000000000000000000000000000000"

// ValidClientID says whether id can name an action: 1 to 128 bytes of printable ASCII (0x21–0x7E) without `"` and `\`,
// and not the SDKs' id zero.
func ValidClientID(id string) bool {
	if id == "" || len(id) > DefaultLimits.ClientID || id == noID {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c < 0x21 || c > 0x7E || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// ValidRoom says whether name can name a room: 1 to 128 bytes of UTF-8 without control characters.
func ValidRoom(name string) bool { return len(name) <= DefaultLimits.Room && validName(name) }

// ValidActor says whether name can name an actor: 1 to 128 bytes of UTF-8 without control characters.
func ValidActor(name string) bool { return len(name) <= MaxName && validName(name) }

func validName(s string) bool {
	return s != "" && utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// Valid says whether the cursor can be right: it names an epoch, its seq is one that a room can have, and it names a
// row exactly where it is past one.
func (c Cursor) Valid() bool {
	return c.wellFormed() && (c.After == 0) == (c.MessageID == "")
}

// wellFormed is what a server asks of a cursor in a frame. One that can't be right is answered with a snapshot and
// counted, not refused: the client that holds it then has a right one (docs/spec/protocol.md, Catching up).
func (c Cursor) wellFormed() bool {
	return c.Epoch != "" && len(c.Epoch) <= MaxName && c.After >= 0 && c.After <= MaxSeq && len(c.MessageID) <= MaxName
}
