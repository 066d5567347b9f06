package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hapax/protocol"
)

func TestEveryAlgorithm(t *testing.T) {
	v := verifier(t)
	tokens := map[string]string{
		"HS256": hs256(secret, claims()), "RS256": rsaKey.sign(claims()), "ES256": ecKey.sign(claims()), "EdDSA": edKey.sign(claims()),
	}
	for _, alg := range Algorithms() {
		t.Run(alg, func(t *testing.T) {
			s, err := v.Verify(t.Context(), tokens[alg])
			if err != nil {
				t.Fatal(err)
			}
			if s.Actor != "ann" || !s.Expires.Equal(testNow.Add(time.Hour+Leeway)) {
				t.Fatalf("got %+v", s)
			}
			if !s.ValidAt(testNow) || s.ValidAt(s.Expires) {
				t.Fatal("the session's end is wrong")
			}
			if !s.CanWrite("team/a") || !s.CanRead("team/a") || !s.CanRead("news") || s.CanWrite("news") || s.CanRead("other") {
				t.Fatal("the rights are wrong")
			}
		})
	}
}

func TestKeyWithoutAnIDIsFound(t *testing.T) {
	v := verifier(t)
	for _, s := range []signer{rsaKey, ecKey, edKey} {
		s.id = ""
		if _, err := v.Verify(t.Context(), s.sign(claims())); err != nil {
			t.Errorf("%s: %v", s.alg, err)
		}
	}
	stranger := rsaOther
	stranger.id = ""
	refusedFor(t, v, stranger.sign(claims()), WrongKey)
}

func TestWrongKeys(t *testing.T) {
	v := verifier(t)
	ecNamedRSA, rsaNamedEC, edNamedEC := ecKey, rsaKey, edKey
	ecNamedRSA.id, rsaNamedEC.id, edNamedEC.id = "rsa", "ec", "ec"
	withKID := func(alg jwt.SigningMethod, kid any, key any) string {
		token := jwt.NewWithClaims(alg, claims())
		token.Header["kid"] = kid
		return must(token.SignedString(key))
	}
	cases := []struct {
		name, token string
		want        Reason
	}{
		{"another secret", hs256([]byte(strings.Repeat("x", 32)), claims()), WrongKey},
		{"another key of that id", rsaOther.sign(claims()), WrongKey},
		{"an unknown id", withKID(jwt.SigningMethodES256, "new", ecKey.key), WrongKey},
		{"an id that is no string", withKID(jwt.SigningMethodES256, 7, ecKey.key), WrongKey},
		{"an EC key under an RSA key's id", ecNamedRSA.sign(claims()), WrongKey},
		{"an RSA key under an EC key's id", rsaNamedEC.sign(claims()), WrongKey},
		{"an Ed25519 key under an EC key's id", edNamedEC.sign(claims()), WrongKey},
		{"the public RSA key as a secret", withKID(jwt.SigningMethodHS256, "rsa", pemOf(rsaKey)), WrongKey},
		{"the key set as a secret", hs256(keySetOf(rsaKey, ecKey, edKey), claims()), WrongKey},
		{"alg none", withKID(jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType), WrongAlgorithm},
		{"HS384 with the right secret", must(jwt.NewWithClaims(jwt.SigningMethodHS384, claims()).SignedString(secret)), WrongAlgorithm},
		{"PS256 with the right key", withKID(jwt.SigningMethodPS256, "rsa", rsaKey.key), WrongAlgorithm},
		{"an expired token of another key speaks of the key only", hs256([]byte(strings.Repeat("x", 32)), claims("exp", 1)), WrongKey},
		{"a signature cut short", cut(rsaKey.sign(claims())), WrongKey},
		{"no signature", hs256(secret, claims())[:strings.LastIndexByte(hs256(secret, claims()), '.')+1], WrongKey},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { refusedFor(t, v, c.token, c.want) })
	}
}

// cut takes the last byte off an RSA signature of 256.
func cut(token string) string { return token[:len(token)-2] }

func TestSignatureHasOneForm(t *testing.T) {
	token := hs256(secret, claims())
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	// 43 characters hold 258 bits, of which a signature has 256: a loose decoder passes over the other two.
	refusedFor(t, verifier(t), token[:len(token)-1]+string(alphabet[last|1]), Malformed)
}

func TestKeysFit(t *testing.T) {
	weak := must(rsa.GenerateKey(rand.Reader, 1024)).Public()
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)).Public()
	keys := map[string]any{"RS256": rsaKey.key.Public(), "ES256": ecKey.key.Public(), "EdDSA": edKey.key.Public(), "weak": weak, "P-384": p384, "secret": secret}
	for name, key := range keys {
		for _, alg := range Algorithms() {
			if fits(key, alg) != (name == alg) {
				t.Errorf("%s for %s: %v", name, alg, fits(key, alg))
			}
		}
	}
	small := signer{"weak", "RS256", must(rsa.GenerateKey(rand.Reader, 1024))}
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, keySetOf(small), 0o600); err != nil {
		t.Fatal(err)
	}
	v := verifier(t, func(o *Options) { o.JWKSFile = path })
	refusedFor(t, v, small.sign(claims()), WrongKey)
	small.id = ""
	refusedFor(t, v, small.sign(claims()), WrongKey)
}

func TestAlgorithmsAreAllowedByList(t *testing.T) {
	v := verifier(t, func(o *Options) { o.Algorithms = []string{"ES256", "HS256"} })
	if _, err := v.Verify(t.Context(), ecKey.sign(claims())); err != nil {
		t.Fatal(err)
	}
	refusedFor(t, v, rsaKey.sign(claims()), WrongAlgorithm)
	refusedFor(t, v, edKey.sign(claims()), WrongAlgorithm)
}

func TestSecretAloneTakesNoOtherAlgorithm(t *testing.T) {
	v := verifier(t, func(o *Options) { o.JWKSFile = "" })
	refusedFor(t, v, rsaKey.sign(claims()), WrongKey)
	set := verifier(t, func(o *Options) { o.Secret = nil })
	refusedFor(t, set, hs256(secret, claims()), WrongKey)
	refusedFor(t, set, hs256(nil, claims()), WrongKey)
}

func TestClaims(t *testing.T) {
	v := verifier(t)
	at := func(d time.Duration) int64 { return testNow.Add(d).Unix() }
	entry := func(room, rights any) []any { return []any{map[string]any{"room": room, "rights": rights}} }
	cases := []struct {
		name   string
		change []any
		want   Reason // "" is a session
	}{
		{"expired within the leeway", []any{"exp", at(-Leeway + time.Second)}, ""},
		{"expired past it", []any{"exp", at(-Leeway)}, Expired},
		{"no exp", []any{"exp", nil}, BadClaims},
		{"exp 0", []any{"exp", 0}, BadClaims},
		{"exp as text", []any{"exp", "tomorrow"}, BadClaims},
		{"exp long past", []any{"exp", -5}, Expired},
		{"valid from now, by a fast clock", []any{"nbf", at(Leeway)}, ""},
		{"not valid yet", []any{"nbf", at(Leeway + time.Second)}, NotYet},
		{"another issuer", []any{"iss", "https://evil.example"}, WrongIssuer},
		{"no issuer", []any{"iss", nil}, BadClaims},
		{"an issuer that begins like ours", []any{"iss", testIssuer + ".evil.example"}, WrongIssuer},
		{"another audience", []any{"aud", "shop"}, WrongAudience},
		{"one of several audiences", []any{"aud", []string{"shop", testAudience}}, ""},
		{"no audience", []any{"aud", nil}, BadClaims},
		{"an empty audience", []any{"aud", []string{}}, BadClaims},
		{"no sub", []any{"sub", nil}, BadClaims},
		{"an empty sub", []any{"sub", ""}, BadClaims},
		{"sub as a number", []any{"sub", 7}, BadClaims},
		{"sub of 128 bytes", []any{"sub", strings.Repeat("é", 64)}, ""},
		{"sub of 129 bytes", []any{"sub", strings.Repeat("a", 129)}, BadClaims},
		{"sub with a line end", []any{"sub", "ann\nbob"}, BadClaims},
		{"no rooms", []any{"rooms", nil}, ""},
		{"rooms as text", []any{"rooms", "*"}, BadClaims},
		{"rooms of text", []any{"rooms", []string{"*"}}, BadClaims},
		{"a room without rights", []any{"rooms", []any{map[string]any{"room": "a"}}}, BadClaims},
		{"a room's name too long", []any{"rooms", entry(strings.Repeat("a", 129), "r")}, BadClaims},
		{"a room's name empty", []any{"rooms", entry("", "r")}, BadClaims},
		{"rights unknown", []any{"rooms", entry("a", "rwx")}, BadClaims},
		{"rights in capitals", []any{"rooms", entry("a", "RW")}, BadClaims},
		{"rights empty", []any{"rooms", entry("a", "")}, BadClaims},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			token := edKey.sign(claims(c.change...))
			if c.want != "" {
				refusedFor(t, v, token, c.want)
				return
			}
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Fatalf("%v (%v)", err, errors.Unwrap(err))
			}
		})
	}
}

func TestWithoutRoomsThereAreNoRights(t *testing.T) {
	for _, rooms := range []any{nil, []any{}} {
		s, err := verifier(t).Verify(t.Context(), edKey.sign(claims("rooms", rooms)))
		if err != nil {
			t.Fatal(err)
		}
		if s.CanRead("a") || s.CanWrite("a") {
			t.Fatalf("rooms %v give rights", rooms)
		}
	}
}

func TestFarEndIsBounded(t *testing.T) {
	for _, exp := range []any{testNow.Add(50 * 365 * 24 * time.Hour).Unix(), 9e15} {
		s, err := verifier(t).Verify(t.Context(), edKey.sign(claims("exp", exp)))
		if err != nil {
			t.Fatal(err)
		}
		if !s.Expires.Equal(testNow.Add(MaxLife)) {
			t.Fatalf("exp %v ends at %v", exp, s.Expires)
		}
	}
}

func TestMalformedTokens(t *testing.T) {
	v := verifier(t)
	part := base64.RawURLEncoding.EncodeToString
	good := strings.Split(hs256(secret, claims()), ".")
	signed := func(header, body string) string { // by the right secret
		text := part([]byte(header)) + "." + part([]byte(body))
		return text + "." + part(must(jwt.SigningMethodHS256.Sign(text, secret)))
	}
	const header = `{"alg":"HS256","typ":"JWT"}`
	body := `{"iss":"` + testIssuer + `","aud":"chat","sub":"ann","exp":99999999999}`
	if _, err := v.Verify(t.Context(), signed(header, body)); err != nil {
		t.Fatalf("the cases below would prove nothing: %v", err)
	}
	cases := map[string]string{
		"empty": "", "one part": "abc", "two parts": "a.b", "four parts": strings.Join(good, ".") + ".x", "dots": "...",
		"not base64":             "!." + good[1] + "." + good[2],
		"padded":                 good[0] + "==." + good[1] + "." + good[2],
		"header no JSON":         signed("x", body),
		"header a list":          signed(`["HS256"]`, body),
		"claims no JSON":         signed(header, "x"),
		"claims a list":          signed(header, "[]"),
		"two documents":          signed(header, body+"{}"),
		"sub twice":              signed(header, strings.Replace(body, "{", `{"sub":"bob",`, 1)),
		"alg twice":              signed(`{"alg":"none","alg":"HS256"}`, body),
		"invalid UTF-8":          signed(header, strings.Replace(body, "ann", "a\xff", 1)),
		"crit":                   signed(`{"alg":"HS256","crit":["exp"]}`, body),
		"deep":                   signed(header, `{"x":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`}`),
		"signature with newline": strings.Join(good, ".") + "\n",
	}
	for name, token := range cases {
		t.Run(name, func(t *testing.T) { refusedFor(t, v, token, Malformed) })
	}
	refusedFor(t, v, signed(`{"typ":"JWT"}`, body), WrongAlgorithm)
	refusedFor(t, v, signed(`{"alg":"hs256"}`, body), WrongAlgorithm)
	refusedFor(t, v, signed(`{"ALG":"HS256"}`, body), WrongAlgorithm)
	refusedFor(t, v, signed(header, strings.Replace(body, "sub", "Sub", 1)), BadClaims)
}

func TestHugeTokens(t *testing.T) {
	v := verifier(t)
	fill := func(n int) string { return hs256(secret, claims("x", strings.Repeat("a", n))) }
	refusedFor(t, v, fill(MaxToken), TooLarge)
	refusedFor(t, v, strings.Repeat(".", MaxToken+1), TooLarge)
	if _, err := v.Verify(t.Context(), fill(MaxToken/2)); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsTellClientsNothingOfTheCause(t *testing.T) {
	v := verifier(t)
	_, err := v.Verify(t.Context(), rsaOther.sign(claims()))
	if err.Error() != string(WrongKey) || errors.Unwrap(err) == nil {
		t.Fatalf("got %q, caused by %v", err, errors.Unwrap(err))
	}
	if CodeOf(err) != protocol.SessionInvalid || CodeOf(&Error{Reason: KeysMissing}) != protocol.Unavailable || CodeOf(errors.New("x")) != protocol.Unavailable {
		t.Fatal("codes are wrong")
	}
}

func FuzzVerify(f *testing.F) {
	v := verifier(f)
	f.Add(hs256(secret, claims()))
	f.Add(rsaKey.sign(claims()))
	f.Add(ecKey.sign(claims()))
	f.Add(must(jwt.NewWithClaims(jwt.SigningMethodNone, claims()).SignedString(jwt.UnsafeAllowNoneSignatureType)))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		s, err := v.Verify(t.Context(), token)
		if err != nil {
			if e := new(Error); s != nil || !errors.As(err, &e) {
				t.Fatalf("got %v, %v", s, err)
			}
			return
		}
		// Nobody but the seeds' makers has the keys, so what is accepted was signed by them.
		at := strings.LastIndexByte(token, '.')
		sig := must(base64.RawURLEncoding.DecodeString(token[at+1:]))
		if jwt.SigningMethodHS256.Verify(token[:at], sig, secret) != nil && jwt.SigningMethodRS256.Verify(token[:at], sig, rsaKey.key.Public()) != nil &&
			jwt.SigningMethodES256.Verify(token[:at], sig, ecKey.key.Public()) != nil {
			t.Fatalf("accepted without a signature: %s", token)
		}
	})
}

func BenchmarkVerifyHS256(b *testing.B) {
	v := verifier(b)
	token := hs256(secret, claims())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
