//go:build !js

package sqlite

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"hapax/client/store"
)

// keySize is that of AES-256.
const keySize = 32

// What is sealed is told apart, so that one kind can't be put in place of another.
const (
	sealedBody byte = iota + 1
	sealedFingerprint
	sealedMessage
	sealedCheck
)

// errSealed says that a value doesn't open: it was damaged, moved to another row, or is of another form.
var errSealed = errors.New("the sealed value doesn't open")

// sealer encrypts bodies. A nil sealer leaves them as they are.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("a key has %d bytes, not %d", keySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &sealer{aead}, err
}

// bound is the associated data: kind, room and id, the room's length told, so that no two rows share it.
func bound(kind byte, room, id string) []byte {
	b := append([]byte("hapax.client.store.v1\x00"), kind)
	b = binary.AppendUvarint(b, uint64(len(room)))
	return append(append(b, room...), id...)
}

// seal returns nonce and ciphertext. 2^32 values under one key are safe with random nonces; no outbox comes near.
func (s *sealer) seal(kind byte, room, id string, plain []byte) []byte {
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(plain)+s.aead.Overhead())
	rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, plain, bound(kind, room, id))
}

func (s *sealer) open(kind byte, room, id string, sealed []byte) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errSealed
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], bound(kind, room, id))
	if err != nil {
		return nil, errSealed
	}
	return plain, nil
}

// sealText returns the columns text and data of a body.
func (s *sealer) sealText(kind byte, room, id string, b store.Body) (text, data any) {
	if s == nil {
		if len(b.Data) == 0 {
			return b.Text, nil
		}
		return b.Text, string(b.Data)
	}
	plain := binary.AppendUvarint(nil, uint64(len(b.Text)))
	plain = append(plain, b.Text...)
	if len(b.Data) > 0 { // no JSON is empty: what is left over is data or none
		plain = append(plain, b.Data...)
	}
	return s.seal(kind, room, id, plain), nil
}

// openText reads the columns text and data.
func (s *sealer) openText(kind byte, room, id string, text, data any) (store.Body, error) {
	sealed, isSealed := text.([]byte)
	if isSealed != (s != nil) {
		return store.Body{}, errSealed
	}
	if s == nil {
		t, ok := text.(string)
		d, isText := data.(string)
		switch {
		case !ok || data != nil && !isText:
			return store.Body{}, errors.New("text or data of another type")
		case data == nil:
			return store.Body{Text: t}, nil
		}
		return store.Body{Text: t, Data: []byte(d)}, nil
	}
	plain, err := s.open(kind, room, id, sealed)
	if err != nil {
		return store.Body{}, err
	}
	n, k := binary.Uvarint(plain)
	if k <= 0 || n > uint64(len(plain)-k) {
		return store.Body{}, errSealed
	}
	b := store.Body{Text: string(plain[k : k+int(n)])}
	if rest := plain[k+int(n):]; len(rest) > 0 {
		b.Data = bytes.Clone(rest)
	}
	return b, nil
}

// sealFingerprint returns the column fingerprint of an outbox row.
func (s *sealer) sealFingerprint(k store.Key, fingerprint string) any {
	if s == nil {
		return fingerprint
	}
	return s.seal(sealedFingerprint, k.Room, k.ID, []byte(fingerprint))
}

func (s *sealer) openFingerprint(k store.Key, column any) (string, error) {
	sealed, isSealed := column.([]byte)
	if isSealed != (s != nil) {
		return "", errSealed
	}
	if s == nil {
		text, ok := column.(string)
		if !ok {
			return "", errors.New("fingerprint of another type")
		}
		return text, nil
	}
	plain, err := s.open(sealedFingerprint, k.Room, k.ID, sealed)
	return string(plain), err
}
