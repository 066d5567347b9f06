package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hapax/internal/config"
)

func writePair(t *testing.T, files config.TLS, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}, &x509.Certificate{}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: raw}, files.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a signal the files are looked at as connections come, at most every ten seconds.
func TestACertificateIsTakenAsItsFilesChange(t *testing.T) {
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "c"), Key: filepath.Join(dir, "k")}
	writePair(t, files, 1)
	var said strings.Builder
	c, err := openCertificate(files, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c.now = func() time.Time { return now }
	serial := func() int64 {
		pair, err := c.current(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	writePair(t, files, 2)
	if got := serial(); got != 1 {
		t.Error("looked at once:", got)
	}
	now = now.Add(certificateEvery + time.Second)
	if got := serial(); got != 2 {
		t.Error("after a while:", got)
	}
	for _, broken := range []func(){
		func() { _ = os.WriteFile(files.Cert, []byte("x"), 0o600) }, func() { _ = os.Remove(files.Key) },
	} {
		broken()
		for range 3 {
			now = now.Add(certificateEvery + time.Second)
			if got := serial(); got != 2 {
				t.Error("files that can't be read:", got)
			}
		}
	}
	if n := strings.Count(said.String(), "can't be read"); n != 2 {
		t.Errorf("%d lines about two faults: %s", n, said.String())
	}
	writePair(t, files, 3)
	now = now.Add(certificateEvery + time.Second)
	if got := serial(); got != 3 {
		t.Error("once they are whole:", got)
	}
}
