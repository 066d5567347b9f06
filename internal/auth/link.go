package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
)

// LinkFile is the file in the data folder of the secret by which the console of a server on this machine is opened.
const LinkFile = "link.secret"

// Link is the secret of the link that `hapax serve` and `hapax link` print. Whoever has it can be anybody, until it is rotated. A browser that
// opened the link keeps a cookie which follows from the secret, and doesn't give it away.
type Link struct {
	dir    string
	secret []byte
}

// OpenLink loads the secret of a data folder, and makes folder and secret where they aren't there, readable by their owner only.
func OpenLink(dir string) (*Link, error) {
	secret, err := openSecret(dir, LinkFile, "browsers need the new link")
	if err != nil {
		return nil, fmt.Errorf("auth: link: %w", err)
	}
	return &Link{dir, secret}, nil
}

// RotateLink puts a new secret in the place of a data folder's: the links and cookies before it open nothing any more, also of a server that
// runs.
func RotateLink(dir string) (*Link, error) {
	if _, err := OpenLink(dir); err != nil {
		return nil, err
	}
	if err := makeSecret(dir, LinkFile, os.Rename); err != nil {
		return nil, fmt.Errorf("auth: link: %w", err)
	}
	return OpenLink(dir)
}

// Current is the link as the data folder has it now.
func (l *Link) Current() (*Link, error) { return OpenLink(l.dir) }

// Secret is what stands in the link, behind "#s=".
func (l *Link) Secret() string { return base64.RawURLEncoding.EncodeToString(l.secret) }

// Opens says whether a secret is the link's.
func (l *Link) Opens(secret string) bool { return hmac.Equal([]byte(secret), []byte(l.Secret())) }

// Cookie is what a browser keeps that has opened the link.
func (l *Link) Cookie() string {
	h := hmac.New(sha256.New, l.secret)
	h.Write([]byte("hapax console cookie"))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Keeps says whether a cookie is the link's.
func (l *Link) Keeps(cookie string) bool { return hmac.Equal([]byte(cookie), []byte(l.Cookie())) }
