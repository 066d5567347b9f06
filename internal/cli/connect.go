package cli

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/client/store/sqlite"
	"hapax/client/transport"
	"hapax/client/transport/ws"
)

// connection holds the flags of every command that talks to a room server as a client does.
type connection struct {
	url, token string
	cacert     string
	quiet      bool
	keep       keep
}

// keep holds the flags of a client's store.
type keep struct {
	file, key string
	actor     string       // whose it is; "" where that isn't known
	limits    store.Limits // of a store in memory
}

func (c *connection) add(cmd *cobra.Command) {
	c.addServer(cmd.Flags(), "a token")
	cmd.Flags().BoolVar(&c.quiet, "quiet", false, "say nothing of connections that fail")
}

// addServer adds the flags that name a server, trust it and sign in to it. What the environment holds is no default that help could show.
func (c *connection) addServer(f *pflag.FlagSet, token string) {
	f.StringVar(&c.url, "url", "", "the server, as ws://host:port or http://host:port (else HAPAX_URL)")
	f.StringVar(&c.token, "token", "", token+", or @FILE that holds one and is read again when needed (else HAPAX_TOKEN)")
	f.StringVar(&c.cacert, "cacert", "", "a `FILE` of PEM certificates: who may sign the server's, in the place of those that the system trusts")
}

// word is what a flag says, or else the environment.
func word(flag, env string) string {
	if flag != "" {
		return flag
	}
	return os.Getenv(env)
}

// roots reads --cacert, nil where it isn't given.
func (c *connection) roots() (*x509.CertPool, error) {
	if c.cacert == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.cacert)
	if err != nil {
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf("--cacert: %w", err)}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf("--cacert: %s holds no PEM certificate", c.cacert)}
	}
	return pool, nil
}

func (k *keep) add(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&k.file, "store", "", "a file that "+use)
	cmd.Flags().StringVar(&k.key, "store-key", "", "a file with 64 hex digits: the key with which bodies are encrypted in --store")
}

// endpoint is the WebSocket address of a server that people write in several ways.
func (c *connection) endpoint() (string, error) {
	given := word(c.url, "HAPAX_URL")
	text := given
	if text == "" {
		return "", usage("--url is missing: the server's address, as ws://127.0.0.1:7480")
	}
	if !strings.Contains(text, "://") {
		text = "ws://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", usage("--url %q is no address of a server; it looks like ws://127.0.0.1:7480", given)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return "", usage("--url %q: the scheme must be ws, wss, http or https", given)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/ws"
	}
	return u.String(), nil
}

// tokens returns what the SDK asks for a token. A file is read each time, so that it may be renewed.
func (c *connection) tokens() (func(context.Context) (string, error), error) {
	given := word(c.token, "HAPAX_TOKEN")
	if given == "" {
		return nil, usage(`--token is missing; a --dev server's is made by "hapax token --data DIR --actor NAME"`)
	}
	file, isFile := strings.CutPrefix(given, "@")
	return func(context.Context) (string, error) {
		if !isFile {
			return given, nil
		}
		text, err := os.ReadFile(file)
		return strings.TrimSpace(string(text)), err
	}, nil
}

// open opens the store of the flags, one in memory where none is named.
func (k *keep) open(ctx context.Context) (store.Store, error) {
	key, err := k.readKey()
	if err != nil {
		return nil, err
	}
	if k.file == "" {
		return memory.Open(memory.NewMedium(), memory.Options{Limits: k.limits}), nil
	}
	if err := outputFile("--store", k.file); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, k.file, sqlite.Options{Key: key, Claimant: store.Claimant{Actor: k.actor}})
	switch {
	case errors.Is(err, store.ErrWrongStore):
		return nil, &ExitError{Code: ExitFailed, Err: fmt.Errorf("%s: %w%s", k.file, store.ErrWrongStore, k.owner(ctx, key))}
	case errors.Is(err, store.ErrUnowned):
		return nil, &ExitError{Code: ExitFailed, Err: fmt.Errorf(
			`%s: %w; if they are %s's, "hapax outbox claim --store %s --actor %s" makes them so`, k.file, err, k.actor, k.file, k.actor)}
	case errors.Is(err, store.ErrIncompatible):
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf(`%s: %w; or "hapax outbox reset --store %s"`, k.file, err, k.file)}
	case errors.Is(err, store.ErrNotEncrypted):
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf(
			`%s: %w; if you trust what it holds, "hapax outbox encrypt --store %s --store-key %s" encrypts it`, k.file, err, k.file, k.key)}
	case errors.Is(err, store.ErrWrongKey):
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf("%s: %w: give its --store-key", k.file, err)}
	case err != nil:
		return nil, &ExitError{Code: ExitMachine, Err: fmt.Errorf("%s: %w", k.file, err)}
	}
	return s, nil
}

func (k *keep) readKey() ([]byte, error) {
	if k.key == "" {
		return nil, nil
	}
	if k.file == "" {
		return nil, usage("--store-key goes with --store")
	}
	text, err := os.ReadFile(k.key)
	if err != nil {
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf("--store-key: %w", err)}
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, &ExitError{Code: ExitConfig, Err: fmt.Errorf("--store-key: %s doesn't hold 64 hex digits", k.key)}
	}
	return key, nil
}

// dial opens a client by the flags. It connects once the caller, who listens by then, calls Connect. The caller closes it.
func (c *connection) dial(ctx context.Context, offline bool) (*client.Client, error) {
	o := client.Options{Name: "hapax " + Version, Offline: true}
	var err error
	if !offline {
		roots, err := c.roots()
		if err != nil {
			return nil, err
		}
		o.Transport = ws.Dialer{Roots: roots}
		if o.URL, err = c.endpoint(); err != nil {
			return nil, err
		}
		if o.Token, err = c.tokens(); err != nil {
			return nil, err
		}
	}
	if c.keep.actor == "" {
		if c.keep.actor, err = c.subject(ctx); err != nil {
			return nil, err
		}
	}
	if o.Store, err = c.keep.open(ctx); err != nil {
		return nil, err
	}
	if offline {
		// Neither is used before Connect, which an offline command never calls.
		o.URL, o.Token = "ws://127.0.0.1/v1/ws", func(context.Context) (string, error) { return "", nil }
	}
	cl, err := client.Open(ctx, o)
	if err != nil {
		return nil, &ExitError{Code: ExitMachine, Err: err}
	}
	return cl, nil
}

// subject is the actor that the token names, "" where it names none: a store is opened for that one, before a message could lie in it and
// be sent by the process that drains it as another. Only the server judges tokens, so one that can't be read here passes.
func (c *connection) subject(ctx context.Context) (string, error) {
	if word(c.token, "HAPAX_TOKEN") == "" {
		return "", nil
	}
	token, err := c.tokens()
	if err != nil {
		return "", err
	}
	text, err := token(ctx)
	if err != nil {
		return "", &ExitError{Code: ExitConfig, Err: fmt.Errorf("--token: %w", err)}
	}
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(text, &claims); err != nil {
		return "", nil
	}
	return claims.Subject, nil
}

// owner says whose a store is that is not this actor's.
func (k *keep) owner(ctx context.Context, key []byte) string {
	s, err := sqlite.Open(ctx, k.file, sqlite.Options{Key: key})
	if err != nil {
		return ""
	}
	o, err := s.Owner(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return ""
	}
	return fmt.Sprintf(": it is %q's, and this is %q", o.Actor, k.actor)
}

// explain says of a store that belongs to another server, or actor, which file it is and what can be done.
func (k *keep) explain(err error) error {
	if !errors.Is(err, session.ErrWrongStore) || k.file == "" {
		return err
	}
	return fmt.Errorf(`%s: %w: it was first used with that one, and this server, or its data folder, is new to it. Nothing was sent; give another --store `+
		`for this server. "hapax outbox export --store %s" prints what waits in it`, k.file, err, k.file)
}

// tell writes a line for each connection that failed or was lost, with its cause.
func (c *connection) tell(w io.Writer, e client.Event) {
	s, ok := e.(session.ConnectionChanged)
	if !ok || c.quiet || s.Err == nil || s.State != session.Offline {
		return
	}
	var dial *transport.DialError
	text := s.Err.Error()
	if !errors.As(s.Err, &dial) {
		text = "the connection ended: " + text
	}
	fmt.Fprintf(w, "hapax: %s (next try in %s)\n", oneLine(text), time.Duration(s.RetryIn)*time.Millisecond)
}

// oneLine makes one harmless line of what may hold a server's words.
func oneLine(text string) string { return shown(strings.Join(strings.Fields(text), " ")) }

// hopeless says whether an event means that a command can't go on without somebody's help, and why.
func hopeless(e client.Event) error {
	switch e := e.(type) {
	case session.ConnectionChanged:
		switch {
		case e.State == session.AuthRequired:
			return fmt.Errorf("the server doesn't accept the token: %w", orUnknown(e.Err))
		case errors.Is(e.Err, session.ErrWrongStore), errors.Is(e.Err, session.ErrActorMismatch):
			return e.Err
		}
	case session.Failed:
		return e.Err
	}
	return nil
}

func orUnknown(err error) error {
	if err == nil {
		return session.ErrSessionInvalid
	}
	return err
}
