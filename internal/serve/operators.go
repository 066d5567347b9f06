package serve

import (
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"hapax/internal/config"
)

// minAdminToken is the least length of the admin address's token in bytes: shorter ones can be guessed.
const minAdminToken = 16

// adminToken reads the bearer token of the admin address; "": none is asked for.
func adminToken(c config.Admin) (string, error) {
	if c.Listen == "" || c.TokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("admin.token_file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minAdminToken {
		return "", fmt.Errorf("admin.token_file: %s holds %d bytes; a token has %d at least", c.TokenFile, len(token), minAdminToken)
	}
	return token, nil
}

// adminAuthorities reads who signs the certificates of operators; nil: none is asked for.
func adminAuthorities(c config.Admin) (*x509.CertPool, error) {
	if c.Listen == "" || c.ClientCA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("admin.client_ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("admin.client_ca: %s holds no certificate in PEM", c.ClientCA)
	}
	return pool, nil
}

func checkAdmin(c config.Admin) error {
	if _, err := adminToken(c); err != nil {
		return err
	}
	_, err := adminAuthorities(c)
	return err
}
