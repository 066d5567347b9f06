package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
	"sync"

	"hapax/internal/settle"
)

// verifier says who signed a request, over its raw bytes. Where several values of a header that it reads stand, it checks the first: repeated
// says that there are more, which is refused, but only to those who can sign.
type verifier interface {
	verify(h http.Header, body []byte, now int64) (label string, ok bool)
	headers() []string // those that it reads, in canonical form
}

// key is a secret made ready.
type key struct {
	label string
	macs  sync.Pool // of hash.Hash, keyed
}

func newKey(label string, secret []byte) *key {
	k := &key{label: label}
	k.macs.New = func() any { return hmac.New(sha256.New, secret) }
	return k
}

// sum is the HMAC-SHA-256 of parts, one after the other.
func (k *key) sum(dst []byte, parts ...[]byte) []byte {
	m := k.macs.Get().(hash.Hash)
	m.Reset()
	for _, p := range parts {
		m.Write(p)
	}
	dst = m.Sum(dst)
	k.macs.Put(m)
	return dst
}

// signed says which key made one of the signatures. All keys and signatures are compared, however early one fits; how many there are is bounded
// by the size of a request's header.
func signed(keys []*key, signatures [][]byte, parts ...[]byte) (label string, ok bool) {
	var buffer [sha256.Size]byte
	for _, k := range keys {
		sum := k.sum(buffer[:0], parts...)
		for _, s := range signatures {
			if hmac.Equal(sum, s) && !ok {
				label, ok = k.label, true
			}
		}
	}
	return label, ok
}

// timely says whether a signature's time lies within the tolerance of now, the bound inside, on either side. Both are Unix seconds.
func timely(text string, now, tolerance int64) bool {
	at, ok := settle.ParseInteger([]byte(text))
	return ok && at >= now-tolerance && at <= now+tolerance
}

// standard is Standard Webhooks 1.0.0: HMAC over "id.timestamp.body".
type standard struct {
	keys      []*key
	tolerance int64
}

func (*standard) headers() []string {
	return []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}
}

func (v *standard) verify(h http.Header, body []byte, now int64) (string, bool) {
	id, at := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	var signatures [][]byte
	for one := range strings.SplitSeq(h.Get("Webhook-Signature"), " ") {
		version, text, _ := strings.Cut(one, ",")
		if s, err := base64.StdEncoding.Strict().DecodeString(text); err == nil && version == "v1" {
			signatures = append(signatures, s)
		}
	}
	label, ok := signed(v.keys, signatures, []byte(id+"."+at+"."), body)
	// An id with a full stop would let what was signed be read as another id, time and body.
	return label, ok && id != "" && !strings.Contains(id, ".") && timely(at, now, v.tolerance)
}

// stripe is Stripe's scheme v1: HMAC over "t.body".
type stripe struct {
	keys      []*key
	tolerance int64
}

func (*stripe) headers() []string { return []string{"Stripe-Signature"} }

func (v *stripe) verify(h http.Header, body []byte, now int64) (string, bool) {
	at, times := "", 0
	var signatures [][]byte
	for one := range strings.SplitSeq(h.Get("Stripe-Signature"), ",") {
		name, text, _ := strings.Cut(strings.Trim(one, " "), "=")
		switch name {
		case "t":
			at = text
			times++
		case "v1":
			if s, err := hex.DecodeString(text); err == nil {
				signatures = append(signatures, s)
			}
		}
	}
	label, ok := signed(v.keys, signatures, []byte(at+"."), body)
	return label, ok && times == 1 && timely(at, now, v.tolerance)
}

// plain is an HMAC of the body in a header.
type plain struct {
	keys   []*key
	header string
	prefix string
	decode func(string) ([]byte, error)
}

func (v *plain) headers() []string { return []string{v.header} }

func (v *plain) verify(h http.Header, body []byte, _ int64) (string, bool) {
	text, prefixed := strings.CutPrefix(h.Get(v.header), v.prefix)
	s, err := v.decode(text)
	label, ok := signed(v.keys, [][]byte{s}, body)
	return label, ok && prefixed && err == nil
}

// bearer is a secret that is sent along.
type bearer struct {
	labels  []string
	secrets [][sha256.Size]byte // hashed, so that the comparison takes the same time for every length
}

func (*bearer) headers() []string { return []string{"Authorization"} }

func (v *bearer) verify(h http.Header, _ []byte, _ int64) (label string, ok bool) {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimLeft(token, " ")))
	for i := range v.secrets {
		if hmac.Equal(sum[:], v.secrets[i][:]) && !ok {
			label, ok = v.labels[i], true
		}
	}
	return label, ok && strings.EqualFold(scheme, "Bearer")
}

// anyone lets everybody deliver, because the configuration says so.
type anyone struct{}

func (anyone) headers() []string                                { return nil }
func (anyone) verify(http.Header, []byte, int64) (string, bool) { return "", true }
