package serve

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hapax/internal/config"
)

// shortSecret is the length in bytes below which a secret can be guessed by who tries; 16 random bytes can't.
const shortSecret = 16

// Warnings tells what in a configuration works and shouldn't be: secrets that others on the machine may read, that are all zero, or that are short; what a source reads
// that its signature doesn't cover.
// Files that can't be read are Check's to tell.
func Warnings(c *config.Config) (all []string) {
	say := func(where string, said ...string) {
		for _, s := range said {
			all = append(all, where+": "+s)
		}
	}
	say("auth.key_file", LooseFile(c.Auth.KeyFile)...)
	say("tls.key", LooseFile(c.TLS.Key)...)
	if c.Auth.KeyFile != "" {
		say("auth.key_file", weak(c.Auth.KeyFile, 0)...)
	}
	if allZero(c.Auth.Secret) {
		say("auth.secret", "it is all zeros, which everybody tries first")
	}
	for _, tenant := range sortedKeys(c.Gateway.Tenants) {
		for _, name := range sortedKeys(c.Gateway.Tenants[tenant].Sources) {
			s, where := c.Gateway.Tenants[tenant].Sources[name], config.SourcePath(tenant, name)
			for _, secret := range s.Verify.Secrets {
				at := fmt.Sprintf("%s: verify: secret %q", where, secret.Label)
				say(at, LooseFile(secret.File)...)
			}
			made, _ := sourceOf(tenant, name, &s, c.Gateway.Limits)
			say(where, made.Warnings()...)
			if s.Forward == nil {
				continue
			}
			for _, file := range s.Forward.SecretFiles {
				say(where+": forward: secret", LooseFile(file)...)
				say(where+": forward: secret", weak(file, shortSecret)...)
			}
			for _, h := range s.Forward.Extra {
				say(where+": forward: header "+h.Name, LooseFile(h.File)...)
			}
		}
	}
	return all
}

// LooseFile tells of a file with a secret that every user of the machine may read or write. "" is no file.
func LooseFile(path string) []string {
	info, err := os.Stat(path)
	if path == "" || err != nil || info.Mode().Perm()&0o007 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s can be read or written by every user of this machine (%v): chmod o= %s", path, info.Mode().Perm()&fs.ModePerm, path)}
}

// weak tells of a secret in a file that is all zeros, or shorter than least bytes.
func weak(path string, least int) []string {
	text, err := readSecret(path)
	switch {
	case err != nil:
		return nil
	case allZero(text):
		return []string{path + " is all zeros, which everybody tries first"}
	case len(strings.TrimPrefix(text, "whsec_")) < least:
		return []string{fmt.Sprintf("%s is shorter than %d bytes: it can be guessed", path, least)}
	}
	return nil
}

// allZero tells a key of zero bytes, as it is, in hex or in base64.
func allZero(secret string) bool {
	text := strings.TrimRight(strings.TrimPrefix(secret, "whsec_"), "=")
	if text == "" {
		return false
	}
	for _, zero := range []string{"\x00", "0", "A"} {
		if len(bytes.Trim([]byte(text), zero)) == 0 {
			return true
		}
	}
	return false
}
