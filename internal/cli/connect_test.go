package cli

import (
	"bytes"
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// seen collects what is written and calls a function once it holds a text.
type seen struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	want string
	then func()
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.buf.Write(p)
	if strings.Contains(s.buf.String(), s.want) {
		s.then()
	}
	return n, err
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// runUntil runs a command until it writes want on standard error, or ends by itself.
func runUntil(t *testing.T, want string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &seen{want: want, then: cancel}
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(errs)
	err = root.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

// refusedPort returns an address at which nothing listens.
func refusedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestAFailedConnectionIsALineWithItsCause: a server that isn't there, or isn't what was meant, is told at once, also by commands
// that go on trying.
func TestAFailedConnectionIsALineWithItsCause(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(login.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	cert := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(cert, text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := func(scheme string, s *httptest.Server) string { return scheme + "://" + s.Listener.Addr().String() }
	for name, c := range map[string]struct {
		url  string
		says string
		more []string
	}{
		"a port where nothing listens": {"ws://" + refusedPort(t), "connection refused", nil},
		"the same by http":             {"http://" + refusedPort(t), "connection refused", nil},
		"an unknown authority":         {other("wss", secure), "--cacert FILE", nil},
		"plain text to TLS":            {other("ws", secure), "is it wss:// or https://?", nil},
		"TLS to plain text":            {other("wss", web), "is it ws:// or http://?", nil},
		"https to plain text":          {other("https", web), "is it ws:// or http://?", nil},
		"another path":                 {other("ws", web) + "/other", "404 Not Found", nil},
		"a sign-in before":             {other("http", login), "401 Unauthorized", nil},
		"a name that isn't":            {"ws://no-such-host.invalid", "is the name right", nil},
		"with its authority":           {other("wss", secure), "404 Not Found", []string{"--cacert", cert}},
	} {
		for _, command := range [][]string{{"send", "hello"}, {"tail"}, {"history"}, {"status", "some-id"}} {
			t.Run(name+", "+command[0], func(t *testing.T) {
				args := append(append(command, "--url", c.url, "--token", "t", "--room", "r"), c.more...)
				_, errs, err := runUntil(t, c.says, args...)
				if !strings.Contains(errs, c.says) || !strings.Contains(errs, "next try in") {
					t.Fatalf("%q, %v", errs, err)
				}
				if command[0] == "send" && (err == nil || !strings.Contains(err.Error(), "nothing of the 1 that waited has left")) {
					t.Errorf("what never left isn't told: %v", err)
				}
			})
		}
	}
}

func TestQuietSaysNothingOfFailedConnections(t *testing.T) {
	store := filepath.Join(t.TempDir(), "outbox.db")
	status, out, errs := run(t, "send", "--quiet", "--url", "ws://"+refusedPort(t), "--token", "t", "--room", "r", "--store", store, "--timeout", "100ms", "hello")
	if status != ExitFailed || strings.Contains(errs, "refused") || !strings.Contains(errs, "nothing of the 1 that waited has left; they wait in "+store) {
		t.Error(status, out, errs)
	}
}

// TestWrongWordsAboutTheServer: there is no way to trust any certificate, and what can't be read is said before anything is stored.
func TestWrongWordsAboutTheServer(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want int
		args []string
	}{
		{ExitUsage, []string{"--insecure"}},
		{ExitConfig, []string{"--cacert", empty}},
		{ExitConfig, []string{"--cacert", empty + ".absent"}},
		{ExitUsage, []string{"--url", "ftp://127.0.0.1"}},
		{ExitUsage, []string{"--url", "ws://"}},
		{ExitUsage, []string{"--url", "ws://:7480"}},
	} {
		args := append([]string{"send", "--url", "wss://127.0.0.1:1", "--token", "t", "--room", "r", "hello"}, c.args...)
		if status, _, errs := run(t, args...); status != c.want {
			t.Errorf("%v: %d, want %d: %s", c.args, status, c.want, errs)
		}
	}
}

// TestHelpShowsNoSecret: what the environment holds is no default that help prints, of any command.
func TestHelpShowsNoSecret(t *testing.T) {
	const secret = "eyJ-a-secret"
	for _, name := range []string{"HAPAX_TOKEN", "HAPAX_URL", "HAPAX_AUTH_SECRET"} {
		t.Setenv(name, secret)
	}
	var walk func(words []string)
	walk = func(words []string) {
		status, out, errs := run(t, append(words, "--help")...)
		if status != ExitOK || strings.Contains(out+errs, secret) {
			t.Errorf("%v: %d %s %s", words, status, out, errs)
		}
		command, _, err := newRoot().Find(words)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range command.Commands() {
			walk(append(words[:len(words):len(words)], c.Name()))
		}
	}
	walk(nil)
}
