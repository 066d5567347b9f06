package ingest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

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
			if _, err := v.secret(s); err != nil {
				return nil, err
			}
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

// secretMark begins the secrets of Standard Webhooks and of Stripe.
const secretMark = "whsec_"

// secret is the bytes that a secret stands for. Only Standard Webhooks encodes it; Stripe signs with the text as it is shown, whsec_ and all. The
// error says why no delivery could ever be verified by it.
func (v *Verify) secret(s Secret) ([]byte, error) {
	marked := v.Scheme == SchemeStandard || v.Scheme == SchemeStripe
	text := strings.TrimPrefix(s.Value, secretMark)
	switch {
	case v.Scheme == SchemeBearer && strings.ContainsAny(s.Value, "\r\n"):
		return nil, fmt.Errorf("verify: secret %q has several lines, which no header can carry", s.Label)
	case v.Scheme == SchemeStandard && byteOrderMark(s.Value):
		return nil, fmt.Errorf("verify: secret %q begins with a byte order mark: save the file as plain text without one", s.Label)
	case marked && strings.HasPrefix(s.Value, "v1,"):
		return nil, fmt.Errorf(`verify: secret %q begins with "v1,", which stands before signatures; no sender signs with it: leave it out, so that the secret begins with %s`, s.Label, secretMark)
	case marked && text == "":
		return nil, fmt.Errorf("verify: secret %q is %s alone: the secret itself is missing", s.Label, secretMark)
	case v.Scheme == SchemeStandard && (strings.HasPrefix(s.Value, "whpk_") || strings.HasPrefix(s.Value, "whsk_")):
		return nil, fmt.Errorf("verify: secret %q is a key for asymmetric signatures (v1a), which aren't checked; take the secret that begins with %s", s.Label, secretMark)
	case v.Scheme != SchemeStandard:
		return []byte(s.Value), nil
	}
	// Some senders leave the padding away.
	secret, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	switch {
	case err != nil && strings.ContainsAny(text, "-_"):
		return nil, fmt.Errorf("verify: secret %q is in URL-safe base64, with - or _; %s asks for standard base64: write + for - and / for _", s.Label, SchemeStandard)
	case err != nil || len(secret) == 0:
		return nil, fmt.Errorf("verify: secret %q isn't base64, which %s asks for after %s", s.Label, SchemeStandard, secretMark)
	}
	return secret, nil
}

// byteOrderMark says whether an editor wrote a text as UTF-16, or marked it as UTF-8: no sender signs with that.
func byteOrderMark(text string) bool {
	utf16 := strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")
	return strings.HasPrefix(text, "\ufeff") || utf16 && strings.Contains(text, "\x00")
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
