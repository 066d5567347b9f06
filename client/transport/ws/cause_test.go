//go:build !js

package ws

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hapax/client/transport"
)

// listening hands each connection to f and returns the address.
func listening(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// says answers whatever comes with a text.
func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, text)
	}
}

func TestEachFailedDialHasItsCause(t *testing.T) {
	closed := listening(t, func(net.Conn) {})
	plain := serve(t, []string{"other"}, func(context.Context, *websocket.Conn) {})
	mux := http.NewServeMux()
	for path, status := range map[string]int{"/401": 401, "/403": 403, "/404": 404, "/302": 302, "/200": 200, "/503": 503} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	secure := httptest.NewUnstartedServer(mux)
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	port := func(u string) string { return u[strings.LastIndex(u, ":"):] }
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url   string
		roots *x509.CertPool
		want  transport.Cause
	}{
		"a port where nothing listens":      {"ws://" + refused, nil, transport.Refused},
		"the same by TLS":                   {"wss://" + refused, nil, transport.Refused},
		"an authority nobody knows":         {"wss://127.0.0.1" + port(secure.URL), nil, transport.Untrusted},
		"a known one of another name":       {"wss://localhost" + port(secure.URL), roots, transport.Certificate},
		"plain text to a TLS port":          {"ws://127.0.0.1" + port(secure.URL), nil, transport.TLSWanted},
		"plain http to a TLS port":          {"http://127.0.0.1" + port(secure.URL), nil, transport.TLSWanted},
		"a TLS port that answers an alert":  {"ws://" + listening(t, says("\x15\x03\x01\x00\x02\x02\x16")), nil, transport.TLSWanted},
		"nginx's words":                     {"ws://" + listening(t, says("HTTP/1.1 400 Bad Request\r\nContent-Length: 52\r\n\r\n<h1>The plain HTTP request was sent to HTTPS port</h1>")), nil, transport.TLSWanted},
		"TLS to a plain port":               {"wss://127.0.0.1" + port(web.URL), nil, transport.PlainPort},
		"https to a plain port":             {"https://127.0.0.1" + port(web.URL), nil, transport.PlainPort},
		"another path":                      {web.URL + "/404", nil, transport.Status},
		"another path of a trusted server":  {"wss://127.0.0.1" + port(secure.URL) + "/404", roots, transport.Status},
		"a sign-in before":                  {web.URL + "/401", nil, transport.Status},
		"forbidden":                         {web.URL + "/403", nil, transport.Status},
		"a page":                            {web.URL + "/200", nil, transport.Status},
		"unavailable":                       {web.URL + "/503", nil, transport.Status},
		"a name that isn't":                 {"ws://no-such-host.invalid:7480", nil, transport.NoName},
		"an end without an answer":          {"ws://" + closed, nil, transport.Other},
		"another protocol over a WebSocket": {plain, nil, transport.Subprotocol},
		"another scheme":                    {"ftp://127.0.0.1", nil, transport.BadURL},
		"no host":                           {"ws:///v1/ws", nil, transport.BadURL},
		"no host, a port":                   {"ws://:7480", nil, transport.BadURL},
		"no scheme":                         {"127.0.0.1:7480", nil, transport.BadURL},
		"nonsense":                          {"ws://[::1", nil, transport.BadURL},
		"nothing":                           {"", nil, transport.BadURL},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := Dialer{Roots: c.roots}.Dial(t.Context(), c.url)
			var e *transport.DialError
			if conn != nil || !errors.As(err, &e) || e.Cause != c.want {
				t.Fatalf("%v, want cause %s", err, c.want)
			}
			if strings.ContainsAny(e.Error(), "\n\r") {
				t.Errorf("more than one line: %q", e.Error())
			}
		})
	}
}

func TestADialOutOfTimeIsTold(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	_, err := Dialer{}.Dial(ctx, "ws://"+listening(t, func(net.Conn) { <-hold }))
	if e := new(transport.DialError); !errors.As(err, &e) || e.Cause != transport.TimedOut {
		t.Fatal(err)
	}
}

func TestADialErrorShowsNoSecret(t *testing.T) {
	_, err := Dialer{}.Dial(t.Context(), "ftp://ann:hunter2@127.0.0.1:1/v1/ws?token=hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatal(err)
	}
}

func TestATrustedAuthorityOfOnesOwn(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: hapax})
		if err != nil {
			t.Error(err)
			return
		}
		_, _, _ = c.Read(r.Context())
		_ = c.CloseNow()
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c, err := Dialer{Roots: roots}.Dial(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Log(err)
	}
}
