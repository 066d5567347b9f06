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
	secret, err := openSecret(dir, LocalKeyFile, "all tokens end")
	if err != nil {
		return nil, fmt.Errorf("auth: local key: %w", err)
	}
	return &LocalKey{secret: secret}, nil
}

// openSecret loads the secret that a file of a data folder holds, and makes folder and file where they aren't there. ends says what a new
// secret costs.
func openSecret(dir, name, ends string) ([]byte, error) {
	path := filepath.Join(dir, name)
	secret, err := loadSecret(path, ends)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := makeSecret(dir, name, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return loadSecret(path, ends) // also where another process was quicker
}

func loadSecret(path, ends string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (%v); if nobody did: chmod 600 %s, otherwise remove it and %s", path, info.Mode().Perm(), path, ends)
	}
	if info.Size() != localKeySize {
		return nil, fmt.Errorf("%s has %d bytes instead of %d; remove it to get a new one, and %s", path, info.Size(), localKeySize, ends)
	}
	secret, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(secret) != localKeySize {
		return nil, fmt.Errorf("%s changed while it was read", path)
	}
	return secret, nil
}

// makeSecret writes a new secret beside its place and puts it there: by a link, which unlike a rename never replaces what another process made
// meanwhile, or by a rename where it is to be replaced.
func makeSecret(dir, name string, put func(from, to string) error) (err error) {
	f, err := os.CreateTemp(dir, name+".*") // made with 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	secret := make([]byte, localKeySize)
	_, _ = rand.Read(secret) // never fails; the program ends where the system has no randomness
	_, err = f.Write(secret)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := put(f.Name(), filepath.Join(dir, name)); err != nil {
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
	if literal, pattern := c.forms(); literal && pattern {
		return errors.New("a token's rights are named either by patterns or literally")
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
