package ingest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
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

// signed says which key made one of the signatures. All keys and signatures are compared, however early one fits.
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

// maxSignatures bounds how many signatures of one header are looked at: one a secret, and rotations overlap by few.
const maxSignatures = 16

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
		if s, err := base64.StdEncoding.Strict().DecodeString(text); err == nil && version == "v1" && len(signatures) < maxSignatures {
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
			if s, err := hex.DecodeString(text); err == nil && len(signatures) < maxSignatures {
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

// compile checks what is configured and makes the verifier.
func (v *Verify) compile() (verifier, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	tolerance := v.ToleranceS
	if tolerance == 0 {
		tolerance = DefaultToleranceS
	}
	switch v.Scheme {
	case SchemeNone:
		return anyone{}, nil
	case SchemeBearer:
		b := &bearer{}
		for _, s := range v.Secrets {
			b.labels, b.secrets = append(b.labels, s.Label), append(b.secrets, sha256.Sum256([]byte(s.Value)))
		}
		return b, nil
	}
	keys := make([]*key, len(v.Secrets))
	for i, s := range v.Secrets {
		secret, err := v.secret(s)
		if err != nil {
			return nil, err
		}
		keys[i] = newKey(s.Label, secret)
	}
	switch v.Scheme {
	case SchemeStandard:
		return &standard{keys, tolerance}, nil
	case SchemeStripe:
		return &stripe{keys, tolerance}, nil
	case SchemeGitHub:
		return &plain{keys, "X-Hub-Signature-256", "sha256=", hex.DecodeString}, nil
	}
	p := &plain{keys, http.CanonicalHeaderKey(v.Header), v.Prefix, hex.DecodeString}
	if v.Encoding == EncodingBase64 {
		p.decode = base64.StdEncoding.Strict().DecodeString
	}
	return p, nil
}

// secret is the bytes that a secret stands for. Only Standard Webhooks encodes it; Stripe signs with the text as it is shown, whsec_ and all.
func (v *Verify) secret(s Secret) ([]byte, error) {
	const mark = "whsec_"
	text := strings.TrimPrefix(s.Value, mark)
	if text == "" && (v.Scheme == SchemeStandard || v.Scheme == SchemeStripe) {
		return nil, fmt.Errorf("verify: secret %q is %s alone: the secret itself is missing", s.Label, mark)
	}
	if v.Scheme != SchemeStandard {
		return []byte(s.Value), nil
	}
	// Some senders leave the padding away.
	secret, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(secret) == 0 {
		return nil, fmt.Errorf("verify: secret %q isn't base64, which %s asks for", s.Label, SchemeStandard)
	}
	return secret, nil
}

func (v *Verify) check() error {
	timed := v.Scheme == SchemeStandard || v.Scheme == SchemeStripe
	switch v.Scheme {
	case SchemeStandard, SchemeStripe, SchemeGitHub, SchemeHMAC, SchemeBearer, SchemeNone:
	case "":
		return fmt.Errorf("verify: the scheme is missing; where everybody may deliver, say %q", SchemeNone)
	default:
		return fmt.Errorf("verify: there is no scheme %q", v.Scheme)
	}
	switch own := v.Header != "" || v.Encoding != "" || v.Prefix != ""; {
	case own && v.Scheme != SchemeHMAC:
		return fmt.Errorf("verify: header, encoding and prefix are for %s only", SchemeHMAC)
	case v.Scheme == SchemeHMAC && !validHeader(v.Header):
		return fmt.Errorf("verify: header %q: %s needs the name of the header in which the signature stands", v.Header, SchemeHMAC)
	case v.Scheme == SchemeHMAC && v.Encoding != EncodingHex && v.Encoding != EncodingBase64:
		return fmt.Errorf("verify: encoding %q is neither %s nor %s", v.Encoding, EncodingHex, EncodingBase64)
	case v.ToleranceS != 0 && !timed:
		return fmt.Errorf("verify: %s carries no time that a tolerance could be for", v.Scheme)
	case v.ToleranceS < 0 || v.ToleranceS > MaxToleranceS:
		return fmt.Errorf("verify: a tolerance is 1 to %d s", MaxToleranceS)
	case v.Scheme == SchemeNone && len(v.Secrets) > 0:
		return fmt.Errorf("verify: %s has no use for secrets", SchemeNone)
	case v.Scheme != SchemeNone && len(v.Secrets) == 0:
		return fmt.Errorf("verify: %s needs a secret", v.Scheme)
	}
	return v.checkSecrets()
}

func (v *Verify) checkSecrets() error {
	labels := map[string]bool{}
	for _, s := range v.Secrets {
		switch {
		case s.Label == "":
			return fmt.Errorf("verify: a secret has no label, by which the log could speak of it")
		case labels[s.Label]:
			return fmt.Errorf("verify: two secrets are labelled %q", s.Label)
		case s.Value == "":
			return fmt.Errorf("verify: secret %q is empty", s.Label)
		case strings.TrimSpace(s.Value) != s.Value:
			return fmt.Errorf("verify: secret %q has white space around it", s.Label)
		}
		labels[s.Label] = true
	}
	return nil
}
