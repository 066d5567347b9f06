package auth

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hapax/internal/config"
)

// ErrSignedElsewhere says that tokens are believed by public keys only: whoever holds the private ones signs.
var ErrSignedElsewhere = errors.New("auth: tokens are signed by whoever holds the private keys of auth.jwks_file or auth.jwks_url; here are only the public ones")

// Signer makes tokens by a key for HS256, as a server of the same configuration takes them.
type Signer struct {
	secret           []byte
	issuer, audience string // empty: any is taken, and none is written
}

// SignerOf returns the signer of what an operator configured: auth.secret or auth.key_file, with the issuer and the audience that are
// asked for. ErrSignedElsewhere where there is no such key, or HS256 isn't among the algorithms.
func SignerOf(c config.Auth) (*Signer, error) {
	o, err := FromConfig(c)
	if err != nil {
		return nil, err
	}
	if len(o.Secret) == 0 || !slices.Contains(o.Algorithms, "HS256") {
		return nil, ErrSignedElsewhere
	}
	return &Signer{secret: o.Secret, issuer: o.Issuer, audience: o.Audience}, nil
}

// SignClaims makes a token, valid from now for ttl.
func (s *Signer) SignClaims(c Claims, ttl time.Duration, now time.Time) (string, error) {
	if err := c.check(); err != nil {
		return "", fmt.Errorf("auth: %w", err)
	}
	if ttl <= 0 || ttl > MaxLife {
		return "", fmt.Errorf("auth: a token's time is above 0 and at most %v", MaxLife)
	}
	claims := c.claims()
	claims["sub"], claims["iat"], claims["exp"] = c.Actor, now.Unix(), now.Add(ttl).Unix()
	if s.issuer != "" {
		claims["iss"] = s.issuer
	}
	if s.audience != "" {
		claims["aud"] = s.audience
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(s.secret)
	if err != nil {
		return "", fmt.Errorf("auth: %w", err)
	}
	if len(token) > MaxToken {
		return "", fmt.Errorf("auth: so many grants make a token of %d bytes; a server takes %d", len(token), MaxToken)
	}
	return token, nil
}
