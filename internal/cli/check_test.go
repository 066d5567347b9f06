package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hapax/internal/auth"
	"hapax/internal/config"
)

// certificate writes a key pair into a folder.
func certificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = written(t, dir, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return cert, written(t, dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})))
}

func written(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigCheckRefusesWhatServeRefuses: each file that serve would read is read, and serve agrees.
func TestConfigCheckRefusesWhatServeRefuses(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, "one")
	_, otherKey := certificate(t, dir, "two")
	file := written(t, dir, "file", "not a folder")
	foreign := filepath.Join(dir, "foreign")
	for _, d := range []string{foreign, filepath.Join(dir, "loose")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	written(t, foreign, "thesis.tex", "")
	loose := written(t, filepath.Join(dir, "loose"), auth.LocalKeyFile, strings.Repeat("k", 32))
	if err := os.Chmod(loose, 0o644); err != nil {
		t.Fatal(err)
	}
	short := written(t, dir, "short", "short\n")
	broken := written(t, dir, "broken", "{")
	absent := filepath.Join(dir, "absent")
	for name, c := range map[string]struct {
		yaml string
		args []string
		says string
	}{
		"a key of another certificate":   {"", []string{"--tls-cert", cert, "--tls-key", otherKey}, "tls"},
		"a certificate that isn't there": {"", []string{"--tls-cert", absent, "--tls-key", key}, "absent"},
		"a key file that isn't there":    {"auth: {key_file: " + absent + "}", nil, "absent"},
		"a key file that is a folder":    {"auth: {key_file: " + foreign + "}", nil, "is not a file"},
		"a key too short":                {"auth: {key_file: " + short + "}", nil, "HS256 needs"},
		"keys that aren't there":         {"auth: {jwks_file: " + absent + ", issuer: i, audience: a}", nil, "absent"},
		"keys that can't be read":        {"auth: {jwks_file: " + broken + ", issuer: i, audience: a}", nil, "Key Set"},
		"keys at no address":             {"auth: {jwks_url: 'http://" + refusedPort(t) + "/keys', issuer: i, audience: a}", nil, "key set"},
		"a local key others can read":    {"", []string{"--data", filepath.Dir(loose)}, "can be read by others"},
		"a file for a folder":            {"", []string{"--data", file}, "not a folder"},
		"a folder within a file":         {"", []string{"--data", filepath.Join(file, "data")}, "not a folder"},
		"a folder of other files":        {"", []string{"--data", foreign}, "thesis.tex"},
		"an anchor in no folder":         {"gateway: {anchor: " + filepath.Join(absent, "anchor") + "}", nil, "no folder"},
		"no secret": {"gateway: {tenants: {acme: {sources: {orders: {verify: {scheme: bearer, secrets: [{label: a, file: " + absent +
			"}]}, key: {pointer: /id}, registry: open, lru_capacity: 9}}}}}", nil, "absent"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.yaml != "" {
				args = append(args, "--config", written(t, t.TempDir(), "hapax.yaml", c.yaml))
			}
			if !strings.Contains(strings.Join(args, " "), "--data") {
				args = append(args, "--data", filepath.Join(t.TempDir(), "data"))
			}
			status, _, errs := run(t, append([]string{"config", "check"}, args...)...)
			if status != ExitConfig || !strings.Contains(errs, c.says) {
				t.Errorf("check: %d %s", status, errs)
			}
			words := append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)
			if status, _, errs := run(t, words...); status == ExitOK {
				t.Errorf("serve: %d %s", status, errs)
			}
		})
	}
	if status, out, errs := run(t, "config", "check", "--tls-cert", cert, "--tls-key", key, "--data", absent); status != ExitOK {
		t.Error(status, out, errs)
	}
	if _, err := os.Lstat(absent); !os.IsNotExist(err) {
		t.Error("the check made a folder")
	}
}

// TestTokenSignsWithWhatIsConfigured: what it prints is taken by a server of the same configuration.
func TestTokenSignsWithWhatIsConfigured(t *testing.T) {
	dir := t.TempDir()
	keyFile := written(t, dir, "key", "a key of HS256 as long as it has to be\n")
	keys := written(t, dir, "keys", `{"keys":[]}`)
	for name, auths := range map[string]string{
		"a file":                   "{key_file: " + keyFile + "}",
		"a file, issuer, audience": "{key_file: " + keyFile + ", issuer: me, audience: you}",
		"a secret":                 "{secret: a key of HS256 as long as it has to be}",
	} {
		t.Run(name, func(t *testing.T) {
			file := written(t, t.TempDir(), "hapax.yaml", "auth: "+auths)
			out, errs, code := token("--config", file, "--data", filepath.Join(dir, "data"), "--actor", "ann", "--room", "r=r")
			if code != ExitOK {
				t.Fatal(errs)
			}
			c, err := config.Load(file, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			options, err := auth.FromConfig(c.Auth)
			if err != nil {
				t.Fatal(err)
			}
			v, err := auth.New(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			s, err := v.Verify(t.Context(), strings.TrimSpace(out))
			if err != nil || s.Actor != "ann" || !s.CanRead("r") || s.CanWrite("r") {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	if _, err := os.Lstat(filepath.Join(dir, "data")); !os.IsNotExist(err) {
		t.Error("a local key was made that no server believes")
	}
	t.Setenv("HAPAX_AUTH_JWKS_FILE", keys)
	t.Setenv("HAPAX_AUTH_ISSUER", "me")
	t.Setenv("HAPAX_AUTH_AUDIENCE", "you")
	if out, errs, code := token("--data", filepath.Join(dir, "data"), "--actor", "ann"); code != ExitConfig || out != "" || !strings.Contains(errs, "private keys") {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

// TestAMissingSecretIsOneLine: what follows from a file that can't be read isn't told as a fault of its own.
func TestAMissingSecretIsOneLine(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	for _, verify := range []string{
		"scheme: bearer", "scheme: standard-webhooks", "scheme: stripe", "scheme: github", "scheme: hmac-sha256, header: X-Signature, encoding: hex",
		"scheme: none",
	} {
		more := ", secrets: [{label: a, file: " + absent + "}]}"
		if verify == "scheme: none" {
			more = "}, forward: {url: 'https://example.com/', secret_files: [" + absent + "]}"
		}
		file := written(t, t.TempDir(), "hapax.yaml", "gateway: {tenants: {acme: {sources: {orders: {verify: {"+verify+more+
			", key: {pointer: /id}, amount: {pointer: /amount}, currency: {pointer: /currency}, registry: open, lru_capacity: 9}}}}}")
		status, _, errs := run(t, "config", "check", "--config", file, "--data", absent)
		if status != ExitConfig || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, absent) {
			t.Errorf("%s: %d %q", verify, status, errs)
		}
	}
}
