package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// management is the connection of commands that use the gateway's management API.
type management struct {
	connection
	client *http.Client
}

const (
	manageTries  = 5           // of one request, the same Idempotency-Key each time
	managePause  = time.Second // between two tries, where the server names no time
	manageWait   = 30 * time.Second
	manageAnswer = 16 << 20 // bytes of an answer
)

// refusal is a problem document.
type refusal struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	Retryable bool   `json:"retryable"`
	after     time.Duration
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (%s)", r.Detail, r.Code) }

// base is the server's HTTP address, without a path.
func (m *management) base() (string, error) {
	ws, err := m.endpoint()
	if err != nil {
		return "", err
	}
	u, err := url.Parse(ws)
	if err != nil {
		return "", usage("--url: %w", err)
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	u.Path = ""
	return u.String(), nil
}

// call asks the server until it answers: a network error and a retryable refusal are tried again, with the same bytes and key, so that
// what it does is done once. out is filled from a 2xx answer's body.
func (m *management) call(ctx context.Context, method, path, key string, in, out any) error {
	base, err := m.base()
	if err != nil {
		return err
	}
	token, err := m.tokens()
	if err != nil {
		return err
	}
	var body []byte
	if in != nil {
		if body, err = json.Marshal(in); err != nil {
			return &ExitError{Code: ExitMachine, Err: err}
		}
	}
	for try := 1; ; try++ {
		text, err := token(ctx)
		if err != nil {
			return &ExitError{Code: ExitConfig, Err: fmt.Errorf("--token: %w", err)}
		}
		err = m.once(ctx, method, base+path, text, key, body, out)
		refused := new(refusal)
		isRefused := errors.As(err, &refused)
		if err == nil || try == manageTries || isRefused && !refused.Retryable {
			return err
		}
		pause := managePause
		if isRefused && refused.after > 0 {
			pause = refused.after
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

func (m *management) once(ctx context.Context, method, address, token, key string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, manageWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	c, err := m.http()
	if err != nil {
		return err
	}
	resp, err := c.Do(r)
	if err != nil {
		return fmt.Errorf("the server can't be reached: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, manageAnswer))
	if err != nil {
		return fmt.Errorf("the answer did not arrive whole: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		if out == nil {
			return nil
		}
		return json.Unmarshal(text, out)
	}
	p := &refusal{}
	if json.Unmarshal(text, p) != nil || p.Code == "" {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		p.after = time.Duration(min(seconds, 60)) * time.Second
	}
	return p
}

// failed gives an error of call its exit status.
func failed(err error) error {
	if exit := new(ExitError); err == nil || errors.As(err, &exit) {
		return err
	}
	return &ExitError{Code: ExitFailed, Err: err}
}

func newManagement(cmd *cobra.Command) *management {
	m := &management{}
	m.addServer(cmd.PersistentFlags(), "a token with rights for the tenant")
	return m
}

// http is the client of all requests. No redirects: the token is for the server that was named.
func (m *management) http() (*http.Client, error) {
	roots, err := m.roots()
	if err != nil || m.client != nil {
		return m.client, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	m.client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return m.client, nil
}

// queryOf makes a query of the values that aren't empty.
func queryOf(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return strings.TrimSuffix("?"+q.Encode(), "?")
}
