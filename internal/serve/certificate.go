package serve

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hapax/internal/config"
)

// certificateEvery is how often at most the files are looked at for a new certificate.
const certificateEvery = 10 * time.Second

// certificate is the server's, read again as its files change: whoever renews it has to tell nobody. Files that don't fit together, as while one
// of them has been replaced, leave the one before in force.
type certificate struct {
	files config.TLS
	log   *slog.Logger
	now   func() time.Time

	mu        sync.Mutex
	cert, key []byte // as they were read
	pair      *tls.Certificate
	looked    time.Time
	fault     string // of the last look, told once
}

func openCertificate(files config.TLS, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log, now: time.Now}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.lookLocked()
}

// current is the certificate for a new connection.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked).Abs() >= certificateEvery {
		// A fault is told, and the certificate before stays in force.
		_ = c.lookLocked()
	}
	return c.pair, nil
}

// reload looks at the files now.
func (c *certificate) reload() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lookLocked()
}

func (c *certificate) lookLocked() error {
	c.looked = c.now()
	taken, err := c.takeLocked()
	switch {
	case err == nil && !taken:
		c.fault = ""
	case err == nil:
		c.fault = ""
		c.log.Info("a certificate was taken", "file", c.files.Cert, "subject", c.pair.Leaf.Subject.String(), "expires", c.pair.Leaf.NotAfter)
	case err != nil && err.Error() != c.fault:
		c.fault = err.Error()
		c.log.Warn("a certificate can't be read; the one before stays in force", "error", err)
	}
	return err
}

func (c *certificate) takeLocked() (taken bool, err error) {
	cert, err := os.ReadFile(c.files.Cert)
	if err != nil {
		return false, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := os.ReadFile(c.files.Key)
	if err != nil {
		return false, fmt.Errorf("tls.key: %w", err)
	}
	if c.pair != nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("tls: %s, %s: %w", c.files.Cert, c.files.Key, err)
	}
	c.cert, c.key, c.pair = cert, key, &pair
	return true, nil
}

var expiryDesc = describe("hapax_tls_certificate_expiry_timestamp_seconds", "When the certificate that is served expires.")

// Describe implements prometheus.Collector.
func (c *certificate) Describe(ch chan<- *prometheus.Desc) { ch <- expiryDesc }

// Collect implements prometheus.Collector.
func (c *certificate) Collect(ch chan<- prometheus.Metric) {
	pair, _ := c.current(nil) // it never fails
	ch <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(pair.Leaf.NotAfter.Unix()))
}
