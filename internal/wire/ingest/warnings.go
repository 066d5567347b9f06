package ingest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"hapax/protocol"
)

// leastSecret is the length in bytes below which a secret can be guessed by who tries. leastStandard is what Standard Webhooks asks for.
const (
	leastSecret   = 16
	leastStandard = 24
)

// Warnings tells what of a source works and may still not be what is meant: secrets that can be guessed, and a key, an amount, a time that isn't
// under the signature. They show no secret. Of a source that Compile refuses they are incomplete.
func (s *Source) Warnings() (all []string) {
	for _, secret := range s.Verify.Secrets {
		if w := s.Verify.weak(secret); w != "" {
			all = append(all, fmt.Sprintf("verify: secret %q %s", secret.Label, w))
		}
	}
	for i, part := range s.Key {
		if at := s.unsigned(part); at != "" {
			all = append(all, fmt.Sprintf("key[%d]: %s isn't under the signature: who has seen one delivery can send it again under another key, and it counts again", i, at))
		}
	}
	for _, f := range []struct {
		name string
		Field
	}{{"amount", s.Amount}, {"currency", s.Currency}, {"scope", s.Scope}, {"state", s.State}, {"seen_at", s.SeenAt}} {
		if at := s.unsigned(f.Field); at != "" {
			all = append(all, fmt.Sprintf("%s: %s isn't under the signature: who has seen one delivery can send it again with another %s", f.name, at, f.name))
		}
	}
	return all
}

// weak says what is wrong with a secret that verifies.
func (v *Verify) weak(s Secret) string {
	secret, err := v.secret(s)
	if err != nil {
		return "" // Compile tells
	}
	least := leastSecret
	if v.Scheme == SchemeStandard {
		least = leastStandard
	}
	switch text := strings.TrimPrefix(s.Value, secretMark); {
	case byteOrderMark(s.Value):
		return "begins with a byte order mark, with which no sender signs: save the file as plain text without one"
	case zeros(secret) || zeros([]byte(text)):
		return "is all zeros, which everybody tries first"
	case v.Scheme == SchemeStandard && len(secret) < least:
		return fmt.Sprintf("stands for %d bytes: with fewer than the %d that %s asks for it can be guessed", len(secret), least, SchemeStandard)
	case v.Scheme != SchemeStandard && len(text) < least:
		return fmt.Sprintf("is shorter than %d bytes: it can be guessed", least)
	}
	return ""
}

// zeros tells a secret of nothing but zero bytes, as it is, in hex or in base64.
func zeros(secret []byte) bool {
	for _, zero := range []string{"\x00", "0", "A"} {
		if len(bytes.Trim(bytes.TrimRight(secret, "="), zero)) == 0 {
			return true
		}
	}
	decoded, err := hex.DecodeString(string(secret))
	return err == nil && len(bytes.Trim(decoded, "\x00")) == 0
}

// unsigned says where a field is read that the scheme's signature doesn't cover, "" where it does or where the scheme signs nothing: there only
// who has the secret, or everybody, can deliver at all.
func (s *Source) unsigned(f Field) string {
	switch s.Verify.Scheme {
	case SchemeStandard, SchemeStripe, SchemeGitHub, SchemeHMAC:
	default:
		return ""
	}
	switch {
	case f.Header != "" && !s.Verify.signsHeader(f.Header):
		return "header " + f.Header
	case f.Attribute != "":
		return "attribute " + f.Attribute + ", of an event in binary mode a header,"
	case f.Pointer != "" && s.format() == FormatCloudEvents && !inData(f.Pointer):
		return "member " + f.Pointer + ", of an event in binary mode a header,"
	}
	return ""
}

// inData says whether a pointer leads into a CloudEvent's data, which is the signed body in binary mode too.
func inData(pointer string) bool {
	p, _ := protocol.ParsePointer(pointer) // of one that can't be read Compile tells
	return len(p) > 0 && p[0] == "data"
}

// signsHeader says whether a header is among what a scheme's signature is made over, beside the body.
func (v *Verify) signsHeader(name string) bool {
	return v.Scheme == SchemeStandard && (strings.EqualFold(name, "Webhook-Id") || strings.EqualFold(name, "Webhook-Timestamp"))
}
