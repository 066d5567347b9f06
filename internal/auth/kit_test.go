package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

const (
	testIssuer   = "https://id.example"
	testAudience = "chat"
)

var (
	testNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	secret  = []byte("0123456789abcdef0123456789abcdef")
	quiet   = slog.New(slog.DiscardHandler)
)

// signer is a private key with the id and algorithm of its tokens.
type signer struct {
	id, alg string
	key     crypto.Signer
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Made once: RSA keys take long.
var (
	rsaKey   = signer{"rsa", "RS256", must(rsa.GenerateKey(rand.Reader, 2048))}
	rsaOther = signer{"rsa", "RS256", must(rsa.GenerateKey(rand.Reader, 2048))}
	ecKey    = signer{"ec", "ES256", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	edKey    = signer{"ed", "EdDSA", edSigner()}
)

func edSigner() crypto.Signer {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	return must(private, err)
}

func keySetOf(signers ...signer) []byte {
	var doc jwkset.JWKSMarshal
	for _, s := range signers {
		jwk := must(jwkset.NewJWKFromKey(s.key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{
			KID: s.id, ALG: jwkset.ALG(s.alg), USE: jwkset.UseSig,
		}}))
		doc.Keys = append(doc.Keys, jwk.Marshal())
	}
	return must(json.Marshal(doc))
}

// pemOf is a public key as it is published.
func pemOf(s signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(s.key.Public()))})
}

func claims(change ...any) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": testIssuer, "aud": testAudience, "sub": "ann", "exp": testNow.Add(time.Hour).Unix(),
		"rooms": []any{map[string]any{"room": "team/*", "rights": "rw"}, map[string]any{"room": "news", "rights": "r"}},
	}
	for i := 0; i+1 < len(change); i += 2 {
		if name := change[i].(string); change[i+1] == nil {
			delete(c, name)
		} else {
			c[name] = change[i+1]
		}
	}
	return c
}

func (s signer) sign(c jwt.MapClaims) string {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(s.alg), c)
	if s.id != "" {
		token.Header["kid"] = s.id
	}
	return must(token.SignedString(s.key))
}

func hs256(key []byte, c jwt.MapClaims) string {
	return must(jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(key))
}

// verifier believes the secret and a key set of all kinds.
func verifier(t testing.TB, change ...func(*Options)) *Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, keySetOf(rsaKey, ecKey, edKey), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Issuer: testIssuer, Audience: testAudience, Secret: secret, JWKSFile: path, Log: quiet,
		Now: func() time.Time { return testNow },
	}
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	v, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func refusedFor(t *testing.T, v Verifier, token string, want Reason) {
	t.Helper()
	s, err := v.Verify(t.Context(), token)
	var e *Error
	if s != nil || !errors.As(err, &e) {
		t.Fatalf("got %+v, %v; want %q", s, err, want)
	}
	if e.Reason != want {
		t.Fatalf("refused for %q (%v), want %q", e.Reason, e.Cause, want)
	}
}
