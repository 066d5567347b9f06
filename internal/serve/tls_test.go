package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hapax/internal/config"
	"hapax/protocol"
)

// certificate makes a certificate for 127.0.0.1 that signs itself, and a pool that trusts it.
func certificate(t *testing.T) (c config.TLS, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c = config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{c.Cert: {Type: "CERTIFICATE", Bytes: raw}, c.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return c, pool
}

// A renewed certificate is served by itself and at once on SIGHUP, to new connections; files that don't fit together leave the old one in force.
func TestANewCertificateIsServed(t *testing.T) {
	files, old := certificate(t)
	r := start(t, setup{kind: "memory", change: func(c *config.Config) { c.TLS = files }, reload: func() (config.Config, error) {
		c := config.Default()
		c.TLS = files
		return c, nil
	}})
	trusts := func(pool *x509.CertPool) bool {
		c, err := tls.Dial("tcp", r.at.Clients, &tls.Config{RootCAs: pool})
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	if !trusts(old) {
		t.Fatal("the first certificate isn't served")
	}
	next, pool := certificate(t)
	replace := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace(next.Cert, files.Cert)
	r.reloads <- syscall.SIGHUP
	r.until("hapax_config_reload_refused 1") // the key is still the old one's
	if !trusts(old) || trusts(pool) {
		t.Error("half of a pair was taken")
	}
	replace(next.Key, files.Key)
	r.reloads <- syscall.SIGHUP
	r.until("hapax_config_reload_refused 0")
	if trusts(old) || !trusts(pool) {
		t.Error("the new certificate isn't served")
	}
	if !strings.Contains(r.admin("/metrics"), "hapax_tls_certificate_expiry_timestamp_seconds 1") && !strings.Contains(r.admin("/metrics"), "hapax_tls_certificate_expiry_timestamp_seconds 2") {
		t.Error("nobody is told when it expires")
	}
}

func TestOverTLS(t *testing.T) {
	files, pool := certificate(t)
	r := start(t, setup{change: func(c *config.Config) { c.TLS = files }})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "wss://"+r.at.Clients+"/v1/ws", &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{protocol.Subprotocol}})
	if err != nil {
		t.Fatal(err)
	}
	s := &socket{t, conn}
	s.send(object{"type": "hello", "token": r.token("ada")})
	s.want("welcome")
	s.subscribe("tea")
	s.say("tea", "a", strings.Repeat("x", 10_000))
	s.want("ack")
	s.want("message")
	// A close by the server arrives over TLS too.
	s.send(object{"type": "hello", "token": r.token("eve")})
	s.wantError(protocol.ActorMismatch)
	s.wantClose(protocol.ActorMismatch.Rule().Close)
}
