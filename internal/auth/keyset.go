package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

const (
	// KeysEvery is how often a key set is read again: a key taken out of it is believed no longer than that.
	KeysEvery = 15 * time.Minute
	// KeysAtMost is how often an unknown key id makes it be read at once. Ids come from anybody, so they must not
	// make this server hammer another.
	KeysAtMost = 10 * time.Second
	// KeysTimeout bounds one reading.
	KeysTimeout = 5 * time.Second
	// MaxKeySet bounds a key set in bytes, MaxKeys in keys: a token that names none is tried with each.
	MaxKeySet = 1 << 20
	MaxKeys   = 64
)

// keySet is a set of public keys that is read again as it rotates. While its source can't be read the keys last read stay.
type keySet struct {
	*jwkset.MemoryJWKSet
	read    func(context.Context) ([]byte, error)
	again   *rate.Limiter
	flight  singleflight.Group
	failing atomic.Bool // the last reading failed
	log     *slog.Logger
}

// openKeySet reads the set a first time; it fails where that does.
func openKeySet(ctx context.Context, o *Options) (*keySet, error) {
	s := &keySet{
		MemoryJWKSet: jwkset.NewMemoryStorage(), read: fromFile(o.JWKSFile), log: o.Log,
		again: rate.NewLimiter(rate.Every(KeysAtMost), 1),
	}
	if o.JWKSURL != "" {
		s.read = fromAddress(o.JWKSURL, o.Client)
		if strings.HasPrefix(o.JWKSURL, "http:") {
			o.Log.Warn("the key set comes over plain HTTP: whoever stands between can put keys of their own into it")
		}
	}
	if err := s.refresh(ctx); err != nil {
		return nil, fmt.Errorf("auth: key set: %w", err)
	}
	go s.keepFresh(ctx)
	return s, nil
}

func (s *keySet) keepFresh(ctx context.Context) {
	tick := time.NewTicker(KeysEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.refreshLogged(ctx)
		}
	}
}

func (s *keySet) refreshLogged(ctx context.Context) {
	if err := s.refresh(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("the key set can't be read; the keys last read stay", "error", err)
	}
}

// refresh replaces the keys by those that the source has now.
func (s *keySet) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, KeysTimeout)
	defer cancel()
	list, err := s.fetch(ctx)
	s.failing.Store(err != nil)
	if err != nil {
		return err
	}
	return s.KeyReplaceAll(ctx, list)
}

func (s *keySet) fetch(ctx context.Context) ([]jwkset.JWK, error) {
	raw, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var doc jwkset.JWKSMarshal
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	if len(doc.Keys) > MaxKeys {
		return nil, fmt.Errorf("%d keys, at most %d", len(doc.Keys), MaxKeys)
	}
	list := make([]jwkset.JWK, 0, len(doc.Keys))
	for _, m := range doc.Keys {
		// Private parts are not read, and so symmetric keys neither: a set is for verifying only.
		key, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{SkipX5UScheme: true})
		if err != nil {
			s.log.Warn("a key of the key set is left out", "kid", m.KID, "kty", m.KTY, "error", err)
			continue
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, errors.New("no key in it can verify a token")
	}
	return list, nil
}

// KeyRead returns the key of an id. One that isn't known may be new: the set is read again, but not too often, and once
// for all who wait.
func (s *keySet) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	key, err := s.MemoryJWKSet.KeyRead(ctx, id)
	if err == nil || !errors.Is(err, jwkset.ErrKeyNotFound) {
		return key, err
	}
	_, _, _ = s.flight.Do("", func() (any, error) {
		if s.again.Allow() {
			// Whoever asks may go away; others wait for the same reading.
			s.refreshLogged(context.WithoutCancel(ctx))
		}
		return nil, nil
	})
	key, err = s.MemoryJWKSet.KeyRead(ctx, id)
	if err != nil && s.failing.Load() {
		return key, &Error{Reason: KeysMissing, Cause: err}
	}
	return key, err
}
