package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hapax/protocol"
)

const (
	// MaxToken bounds a token in bytes: it stands in front of all work that an unknown can ask for.
	MaxToken = 8 << 10
	// Leeway is how far the clocks of signer and server may differ.
	Leeway = 30 * time.Second
	// MaxLife bounds how far ahead a session ends, so that no time computed from it overflows.
	MaxLife = 10 * 365 * 24 * time.Hour
	// MinSecret is the least length of a key for HS256 in bytes, that of its digest (RFC 7518, 3.2).
	MinSecret = 32
)

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// Algorithms are all that Hapax can verify.
func Algorithms() []string { return []string{"HS256", "RS256", "ES256", "EdDSA"} }

// Verifier makes sessions of tokens. *Tokens is the implementation.
type Verifier interface {
	// Verify returns the session of a valid token. Its errors are of type *Error.
	Verify(ctx context.Context, token string) (*Session, error)
}

// Options say whose tokens are believed.
type Options struct {
	Algorithms []string         // of Algorithms; empty: all
	Issuer     string           // the iss that tokens must carry; empty: any, not with a key set
	Audience   string           // an aud that tokens must carry; empty: any, not with a key set
	Secret     []byte           // for HS256; empty: no HS256
	JWKSFile   string           // for RS256, ES256, EdDSA
	JWKSURL    string           // likewise; not both
	Client     *http.Client     // fetches JWKSURL; nil: one that takes no redirect to another place
	Now        func() time.Time // nil: time.Now
	Log        *slog.Logger     // nil: slog.Default()
}

// Tokens verifies tokens. Its methods may be called from several goroutines.
type Tokens struct {
	parser     *jwt.Parser
	algorithms []string
	keys       keys
	now        func() time.Time
}

// New reads the keys and returns a verifier. A key set is read again from time to time until ctx ends. It fails where no
// token could ever be verified, or where any service's token would do.
func New(ctx context.Context, o Options) (*Tokens, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = Algorithms()
	}
	for _, a := range o.Algorithms {
		if !slices.Contains(Algorithms(), a) {
			return nil, fmt.Errorf("auth: algorithm %q is none of %s", a, strings.Join(Algorithms(), ", "))
		}
	}
	k, err := openKeys(ctx, &o)
	if err != nil {
		return nil, err
	}
	parse := []jwt.ParserOption{
		jwt.WithValidMethods(o.Algorithms), jwt.WithExpirationRequired(), jwt.WithLeeway(Leeway),
		jwt.WithTimeFunc(o.Now), jwt.WithStrictDecoding(),
	}
	if o.Issuer != "" {
		parse = append(parse, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		parse = append(parse, jwt.WithAudience(o.Audience))
	}
	return &Tokens{parser: jwt.NewParser(parse...), algorithms: o.Algorithms, keys: k, now: o.Now}, nil
}

// Verify returns the session of a valid token.
func (t *Tokens) Verify(ctx context.Context, token string) (*Session, error) {
	if len(token) > MaxToken {
		return nil, &Error{Reason: TooLarge, Cause: fmt.Errorf("%d bytes, at most %d", len(token), MaxToken)}
	}
	if err := strict(token); err != nil {
		return nil, &Error{Reason: Malformed, Cause: err}
	}
	parsed, err := t.parser.Parse(token, func(parsed *jwt.Token) (any, error) { return t.keys.find(ctx, parsed) })
	if err != nil {
		return nil, &Error{Reason: t.reason(parsed, err), Cause: err}
	}
	s, err := t.session(parsed.Claims.(jwt.MapClaims))
	if err != nil {
		return nil, &Error{Reason: BadClaims, Cause: err}
	}
	return s, nil
}

// strict refuses a header or claims in which a member stands twice, or that two readers could read differently in
// another way: which of two `sub` counts must not be a matter of the library.
func strict(token string) error {
	if strings.IndexFunc(token, func(r rune) bool { return !strings.ContainsRune(tokenAlphabet, r) }) >= 0 {
		return errors.New("characters that are not of base64url") // the decoder would pass over line ends
	}
	for i, part := range strings.SplitN(token, ".", 4) {
		if i >= 2 {
			break // the signature; the parser counts the parts
		}
		raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil {
			return err
		}
		if _, err := protocol.Canonical(nil, raw); err != nil {
			return err
		}
	}
	return nil
}

// reason sorts the library's errors. One about the signature comes before those about claims: claims that nobody signed
// are not spoken of.
func (t *Tokens) reason(parsed *jwt.Token, err error) Reason {
	if own := new(Error); errors.As(err, &own) {
		return own.Reason
	}
	if errors.Is(err, jwt.ErrTokenMalformed) {
		return Malformed
	}
	if parsed != nil {
		if alg, _ := parsed.Header["alg"].(string); !slices.Contains(t.algorithms, alg) {
			return WrongAlgorithm
		}
	}
	for _, r := range []struct {
		err    error
		reason Reason
	}{
		{jwt.ErrTokenSignatureInvalid, WrongKey},
		{jwt.ErrTokenUnverifiable, WrongKey},
		{jwt.ErrTokenExpired, Expired},
		{jwt.ErrTokenNotValidYet, NotYet},
		{jwt.ErrTokenInvalidIssuer, WrongIssuer},
		{jwt.ErrTokenInvalidAudience, WrongAudience},
	} {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return BadClaims
}
