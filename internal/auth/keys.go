package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// MinRSA is the least length of an RSA key in bits (RFC 7518, 3.3).
const MinRSA = 2048

// keys hold what signatures are checked with. Which of the two is asked depends on the algorithm alone: a public key of the set can
// then never serve as the secret of an HS256 token.
type keys struct {
	secret []byte
	set    keyfunc.Keyfunc // nil where there is none
}

func openKeys(ctx context.Context, o *Options) (k keys, err error) {
	symmetric := slices.Contains(o.Algorithms, "HS256")
	switch {
	case len(o.Secret) > 0 && len(o.Secret) < MinSecret:
		return k, fmt.Errorf("auth: the key for HS256 has %d bytes; it needs %d at least", len(o.Secret), MinSecret)
	case len(o.Secret) > 0 && !symmetric:
		return k, errors.New("auth: there is a key for HS256, but HS256 isn't among the algorithms")
	case o.JWKSFile != "" && o.JWKSURL != "":
		return k, errors.New("auth: a key set comes from a file or from an address, not both")
	case o.JWKSFile == "" && o.JWKSURL == "":
		if len(o.Secret) == 0 {
			return k, errors.New("auth: no keys: nobody could sign in")
		}
		return keys{secret: o.Secret}, nil
	case o.Issuer == "" || o.Audience == "":
		return k, errors.New("auth: with a key set, issuer and audience must be set: its keys sign for other services too")
	case symmetric && len(o.Algorithms) == 1:
		return k, errors.New("auth: there is a key set, but none of RS256, ES256, EdDSA is among the algorithms")
	}
	set, err := openKeySet(ctx, o)
	if err != nil {
		return k, err
	}
	f, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: set, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
	if err != nil {
		return k, fmt.Errorf("auth: key set: %w", err)
	}
	return keys{secret: o.Secret, set: f}, nil
}

// find returns the key, or the keys, that may have signed the token.
func (k keys) find(ctx context.Context, token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok {
		// RFC 7515, 4.1.11: extensions that aren't understood, and none is, must not be passed over.
		return nil, &Error{Reason: Malformed, Cause: errors.New("the header has crit")}
	}
	alg := token.Method.Alg()
	if alg == "HS256" {
		if len(k.secret) == 0 {
			return nil, errors.New("no key for HS256")
		}
		return k.secret, nil
	}
	if k.set == nil {
		return nil, fmt.Errorf("no key set for %s", alg)
	}
	found, err := k.set.KeyfuncCtx(ctx)(token)
	if err != nil {
		return nil, err
	}
	if several, ok := found.(jwt.VerificationKeySet); ok {
		several.Keys = slices.DeleteFunc(several.Keys, func(key jwt.VerificationKey) bool { return !fits(key, alg) })
		return several, nil
	}
	if !fits(found, alg) {
		return nil, fmt.Errorf("the key named is none for %s", alg)
	}
	return found, nil
}

// fits says whether a key may be used with an algorithm.
func fits(key any, alg string) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return alg == "RS256" && k.N.BitLen() >= MinRSA
	case *ecdsa.PublicKey:
		return alg == "ES256" && k.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return alg == "EdDSA" && len(k) == ed25519.PublicKeySize
	}
	return false
}
