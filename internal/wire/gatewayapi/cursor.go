package gatewayapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// cursors turn a record's number into a text that tells nothing, and back. Numbers would tell a tenant how much others do. The key
// is the process's own: after a restart a listing begins anew.
type cursors struct{ block cipher.Block }

func newCursors() *cursors {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails; the program ends where the system has no randomness
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // a key of 32 bytes is one
	}
	return &cursors{block: block}
}

// query is what a cursor belongs to: that of one listing is none of another.
type query []string

func (q query) tag() []byte {
	h := sha256.New()
	for _, part := range q {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:8]
}

// seal makes the cursor of a number: one block of the number and the query's tag.
func (c *cursors) seal(q query, number int64) string {
	out := append(binary.BigEndian.AppendUint64(nil, uint64(number)), q.tag()...)
	c.block.Encrypt(out, out)
	return base64.RawURLEncoding.EncodeToString(out)
}

// open reads a cursor of the same query.
func (c *cursors) open(q query, text string) (int64, error) {
	in, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(in) != aes.BlockSize {
		return 0, problem(codeBadRequest, "after is no cursor")
	}
	c.block.Decrypt(in, in)
	if string(in[8:]) != string(q.tag()) {
		return 0, problem(codeBadRequest, "after is no cursor of this listing, or one of before the server's last start; begin anew")
	}
	return int64(binary.BigEndian.Uint64(in)), nil
}
