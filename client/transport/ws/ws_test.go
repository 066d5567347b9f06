//go:build !js

package ws

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"hapax/client/transport"
	"hapax/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs f on each WebSocket that is opened.
func serve(t *testing.T, subprotocols []string, f func(ctx context.Context, c *websocket.Conn)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: subprotocols})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.CloseNow() }()
		f(r.Context(), c)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var hapax = []string{protocol.Subprotocol}

func TestFramesGoBothWays(t *testing.T) {
	url := serve(t, hapax, func(ctx context.Context, c *websocket.Conn) {
		for {
			kind, b, err := c.Read(ctx)
			if err != nil {
				return
			}
			if c.Write(ctx, kind, append([]byte("echo "), b...)) != nil {
				return
			}
		}
	})
	c, err := Dialer{}.Dial(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		var frames [][]byte
		for i := range 50 * round { // also none
			frames = append(frames, fmt.Appendf(nil, "%d %d %s", round, i, strings.Repeat("x", 100*i)))
		}
		if err := c.Write(t.Context(), frames); err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			b, err := c.Read(t.Context())
			if err != nil || string(b) != "echo "+string(f) {
				t.Fatalf("read %q, %v", b, err)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); err == nil {
		t.Fatal("read from a closed connection")
	}
	if err := c.Write(t.Context(), [][]byte{{'x'}}); err == nil {
		t.Fatal("written to a closed connection")
	}
}

// A batch is one write to the socket.
func TestBatchIsOneWrite(t *testing.T) {
	var k corked
	var writes int
	a, b := net.Pipe()
	defer a.Close()
	done := make(chan string, 1)
	go func() {
		buf := make([]byte, 1<<20)
		n, _ := b.Read(buf)
		done <- string(buf[:n])
		_ = b.Close()
	}()
	k.wrap(counting{a, &writes})
	_ = k.set(true)
	for range 10 {
		if n, err := k.Write([]byte("frame ")); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	if writes != 0 {
		t.Fatalf("%d writes while corked", writes)
	}
	if err := k.set(false); err != nil {
		t.Fatal(err)
	}
	if got := <-done; writes != 1 || got != strings.Repeat("frame ", 10) {
		t.Fatalf("%d writes, %q", writes, got)
	}
}

type counting struct {
	net.Conn
	n *int
}

func (c counting) Write(p []byte) (int, error) { *c.n++; return c.Conn.Write(p) }

func TestRefusedDials(t *testing.T) {
	other := serve(t, nil, func(context.Context, *websocket.Conn) {})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for url, want := range map[string]string{
		other:                       "doesn't speak hapax.v1",
		plain.URL + "?token=secret": "404",
		"http://127.0.0.1:1/":       "refused",
		"ftp://127.0.0.1":           "scheme",
	} {
		_, err := Dialer{}.Dial(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("dial %s: %v", url, err)
		}
	}
}

func TestReadLimitAndKind(t *testing.T) {
	url := serve(t, hapax, func(ctx context.Context, c *websocket.Conn) {
		_, what, err := c.Read(ctx)
		if err != nil {
			return
		}
		if string(what) == "binary" {
			_ = c.Write(ctx, websocket.MessageBinary, []byte("x"))
		} else {
			_ = c.Write(ctx, websocket.MessageText, make([]byte, 2000))
		}
		_, _, _ = c.Read(ctx)
	})
	for _, what := range []string{"binary", "large"} {
		c, err := Dialer{ReadLimit: 1000}.Dial(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(t.Context(), [][]byte{[]byte(what)}); err != nil {
			t.Fatal(err)
		}
		if b, err := c.Read(t.Context()); err == nil {
			t.Fatalf("%s: read %d bytes", what, len(b))
		}
		_ = c.Close()
	}
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := (Dialer{}).Dial(ctx, "ws://"+l.Addr().String()); err == nil {
		t.Fatal("dialled")
	}
}

// G1: until the welcome little is read, then as much as the server announces.
func TestTheReadLimitIsTheServers(t *testing.T) {
	sizes := []int{protocol.WelcomeFrame, 1 << 20, 1<<20 + 1}
	url := serve(t, hapax, func(ctx context.Context, c *websocket.Conn) {
		for _, n := range sizes {
			if c.Write(ctx, websocket.MessageText, []byte(strings.Repeat("x", n))) != nil {
				return
			}
		}
		_, _, _ = c.Read(ctx)
	})
	for name, d := range map[string]struct {
		Dialer
		read int
	}{
		"announced": {Dialer{}, 2}, "less by the app's word": {Dialer{ReadLimit: 1 << 19}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := d.Dial(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			for i, n := range sizes {
				b, err := c.Read(t.Context())
				if (err == nil) != (i < d.read) || err == nil && len(b) != n {
					t.Fatalf("frame %d: %d bytes, %v", i, len(b), err)
				}
				if err != nil {
					return
				}
				c.(transport.Limited).SetReadLimit(1 << 20)
			}
		})
	}
}
