package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hapax/protocol"
)

// What tokens of a local key carry, so that none of them is taken for another's.
const (
	LocalIssuer   = "hapax-dev"
	LocalAudience = "hapax"
)

// LocalKeyFile is the local key's file in the data folder.
const LocalKeyFile = "dev.key"

const localKeySize = 32

// LocalKey is the key of `hapax serve --dev`, for which `hapax token` signs. Whoever can read its file can be anybody.
type LocalKey struct{ secret []byte }

// OpenLocalKey loads the key of a data folder, and makes folder and key where they aren't there. The key appears under its name
// whole or not at all, readable by its owner only. A file of another length or with other rights is refused, never mended.
func OpenLocalKey(dir string) (*LocalKey, error) {
	path := filepath.Join(dir, LocalKeyFile)
	key, err := loadLocalKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("auth: local key: %w", err)
	}
	if err := makeLocalKey(dir, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("auth: local key: %w", err)
	}
	return loadLocalKey(path) // also where another process was quicker
}

func loadLocalKey(path string) (*LocalKey, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("auth: local key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("auth: local key: %s is not a regular file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("auth: local key: %s can be read by others (%v); if nobody did: chmod 600 %s, otherwise remove it and all tokens end",
			path, info.Mode().Perm(), path)
	}
	if info.Size() != localKeySize {
		return nil, fmt.Errorf("auth: local key: %s has %d bytes instead of %d; remove it to get a new one, and all tokens end", path, info.Size(), localKeySize)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("auth: local key: %w", err)
	}
	if len(secret) != localKeySize {
		return nil, fmt.Errorf("auth: local key: %s changed while it was read", path)
	}
	return &LocalKey{secret: secret}, nil
}

// makeLocalKey writes a new key beside its place and links it there: unlike a rename, a link never replaces the key
// that another process made meanwhile.
func makeLocalKey(dir, path string) (err error) {
	f, err := os.CreateTemp(dir, LocalKeyFile+".*") // made with 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	secret := make([]byte, localKeySize)
	_, _ = rand.Read(secret) // never fails; the program ends where the system has no randomness
	_, err = f.Write(secret)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders can't be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Options are those of a verifier that believes this key's tokens, and no others.
func (k *LocalKey) Options() Options {
	return Options{Algorithms: []string{"HS256"}, Issuer: LocalIssuer, Audience: LocalAudience, Secret: k.secret}
}

// Claims are what a token of a local key says.
type Claims struct {
	Actor   string
	Rooms   []Grant
	Tenants []TenantGrant
}

// Everything are the claims of an actor with every right: what sign-in by a local key gives where nothing less is asked for.
func Everything(actor string) Claims {
	return Claims{Actor: actor, Rooms: []Grant{All}, Tenants: []TenantGrant{AllTenants}}
}

func (c Claims) check() error {
	if !protocol.ValidActor(c.Actor) {
		return fmt.Errorf("an actor has 1 to %d bytes of UTF-8 without control characters", protocol.MaxName)
	}
	for _, g := range c.Rooms {
		if err := g.check(); err != nil {
			return err
		}
	}
	for _, g := range c.Tenants {
		if err := g.check(); err != nil {
			return err
		}
	}
	return nil
}

// Sign makes a token for an actor in rooms, and for no tenant, valid from now for ttl.
func (k *LocalKey) Sign(actor string, rooms []Grant, ttl time.Duration, now time.Time) (string, error) {
	return k.SignClaims(Claims{Actor: actor, Rooms: rooms}, ttl, now)
}

// SignClaims makes a token, valid from now for ttl.
func (k *LocalKey) SignClaims(c Claims, ttl time.Duration, now time.Time) (string, error) {
	return (&Signer{secret: k.secret, issuer: LocalIssuer, audience: LocalAudience}).SignClaims(c, ttl, now)
}
