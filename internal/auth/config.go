package auth

import (
	"bytes"
	"fmt"
	"os"
	"unicode/utf8"

	"hapax/internal/config"
)

// maxSecretFile bounds a key file in bytes; no key for HS256 needs more.
const maxSecretFile = 4 << 10

// FromConfig makes options of what an operator configured, and reads the key file where one is named.
func FromConfig(c config.Auth) (Options, error) {
	o := Options{
		Algorithms: c.Algorithms, Issuer: c.Issuer, Audience: c.Audience, Secret: []byte(c.Secret),
		JWKSFile: c.JWKSFile, JWKSURL: c.JWKSURL,
	}
	if c.KeyFile == "" {
		return narrowed(o)
	}
	info, err := os.Stat(c.KeyFile)
	if err != nil {
		return o, fmt.Errorf("auth: key file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretFile {
		return o, fmt.Errorf("auth: key file: %s is not a file of at most %d bytes", c.KeyFile, maxSecretFile)
	}
	if o.Secret, err = os.ReadFile(c.KeyFile); err != nil {
		return o, fmt.Errorf("auth: key file: %w", err)
	}
	o.Secret = withoutLineEnd(o.Secret)
	if len(o.Secret) < MinSecret {
		return o, fmt.Errorf("auth: key file: %s holds %d bytes; HS256 needs %d at least", c.KeyFile, len(o.Secret), MinSecret)
	}
	return narrowed(o)
}

// narrowed takes away the algorithms for which there are no keys: the default names all four.
func narrowed(o Options) (Options, error) {
	var have []string
	for _, a := range o.Algorithms {
		if a == "HS256" && len(o.Secret) == 0 || a != "HS256" && o.JWKSFile == "" && o.JWKSURL == "" {
			continue
		}
		have = append(have, a)
	}
	if len(have) == 0 {
		return o, fmt.Errorf("auth: there is no key for any of the algorithms %v", o.Algorithms)
	}
	o.Algorithms = have
	return o, nil
}

// withoutLineEnd drops the line end that an editor puts behind a key written as text. A key of raw bytes stays as it is.
func withoutLineEnd(secret []byte) []byte {
	text := bytes.TrimSuffix(bytes.TrimSuffix(secret, []byte("\n")), []byte("\r"))
	if len(text) == len(secret) || !utf8.Valid(text) || bytes.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7E }) {
		return secret
	}
	return text
}
