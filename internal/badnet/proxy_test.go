package badnet

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// upstream answers each frame with two: an ack and a message.
func upstream(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			_, frame, err := c.Read(r.Context())
			if err != nil {
				return
			}
			for _, answer := range []string{`{"type":"ack","of":"` + string(frame) + `"}`, `{"type":"message"}`} {
				if c.Write(r.Context(), websocket.MessageText, []byte(answer)) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func through(t *testing.T, f Faults) (*Proxy, *websocket.Conn) {
	t.Helper()
	p, err := Listen(upstream(t), f, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c, _, err := websocket.Dial(context.Background(), "ws://"+p.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseNow() })
	return p, c
}

func say(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c *websocket.Conn, want string) {
	t.Helper()
	_, frame, err := c.Read(context.Background())
	if err != nil || string(frame) != want {
		t.Fatalf("read %q, %v; want %q", frame, err, want)
	}
}

func TestGoodNetworkChangesNothing(t *testing.T) {
	p, c := through(t, Faults{})
	for _, text := range []string{"a", strings.Repeat("b", 200), strings.Repeat("c", 20_000)} {
		say(t, c, text)
		hear(t, c, `{"type":"ack","of":"`+text+`"}`)
		hear(t, c, `{"type":"message"}`)
	}
	if n := p.Counts(); n.Frames != 9 || n.AcksDropped != 0 || n.Cuts != 0 || n.Connections != 1 {
		t.Errorf("counts %+v", n)
	}
}

func TestDropsAcksOnly(t *testing.T) {
	p, c := through(t, Faults{DropAck: 1})
	say(t, c, "a")
	hear(t, c, `{"type":"message"}`)
	if n := p.Counts(); n.AcksDropped != 1 {
		t.Errorf("counts %+v", n)
	}
	p.Set(Faults{})
	say(t, c, "b")
	hear(t, c, `{"type":"ack","of":"b"}`)
}

func TestCuts(t *testing.T) {
	p, c := through(t, Faults{Cut: 1})
	say(t, c, "a")
	if _, _, err := c.Read(context.Background()); err == nil {
		t.Fatal("a cut connection carried a frame")
	}
	if n := p.Counts(); n.Cuts != 1 || n.Frames != 0 {
		t.Errorf("counts %+v", n)
	}
}

func TestUpstreamGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p, err := Listen(l.Addr().String(), Faults{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, _, err := websocket.Dial(context.Background(), "ws://"+p.Addr(), nil); err == nil {
		t.Fatal("connected to nothing")
	}
}
