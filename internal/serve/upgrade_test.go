package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"hapax/internal/config"
	"hapax/protocol"
)

func TestOnlyTheRightHandshakeGetsIn(t *testing.T) {
	r := start(t, setup{})
	if a := r.get("/v1/ws", ""); a.status != 400 || a.body.str("code") != "bad_request" {
		t.Errorf("no upgrade: %d %s", a.status, a.raw)
	}
	for _, offered := range [][]string{nil, {"chat"}, {"hapax.v2"}} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, resp, err := websocket.Dial(ctx, "ws://"+r.at.Clients+"/v1/ws", &websocket.DialOptions{Subprotocols: offered})
		cancel()
		if err == nil || resp == nil || resp.StatusCode != 400 {
			t.Errorf("subprotocols %v: %v", offered, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+r.at.Clients+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{"other", protocol.Subprotocol}})
	if err != nil || conn.Subprotocol() != protocol.Subprotocol {
		t.Fatalf("among others: %v", err)
	}
	_ = conn.CloseNow()
}

func TestOrigins(t *testing.T) {
	dev := start(t, setup{})
	configured := start(t, setup{change: func(c *config.Config) {
		c.Auth.Secret, c.Origins = strings.Repeat("k", 32), []string{"https://chat.example"}
	}})
	own := "http://" + configured.at.Clients
	for _, c := range []struct {
		name    string
		r       *running
		origin  []string
		host    string
		allowed bool
	}{
		{"no page", configured, nil, "", true},
		{"the server's own page", configured, []string{own}, "", true},
		{"a listed page", configured, []string{"https://chat.example"}, "", true},
		{"another scheme", configured, []string{"http://chat.example"}, "", false},
		{"a page below the listed", configured, []string{"https://evil.chat.example"}, "", false},
		{"another port", configured, []string{"http://127.0.0.1:1"}, "", false},
		{"a foreign page", configured, []string{"https://evil.example"}, "", false},
		{"a sandboxed page", configured, []string{"null"}, "", false},
		{"two origins", configured, []string{own, "https://evil.example"}, "", false},
		{"dev, any page of this machine", dev, []string{"http://localhost:5173"}, "", true},
		{"dev, a foreign page", dev, []string{"https://evil.example"}, "", false},
		{"dev, a rebound name", dev, []string{"http://evil.example:7480"}, "evil.example:7480", false},
		{"dev, a page of this machine by a rebound name", dev, []string{"http://localhost:5173"}, "evil.example:7480", false},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		conn, resp, err := websocket.Dial(ctx, "ws://"+c.r.at.Clients+"/v1/ws", &websocket.DialOptions{
			Subprotocols: []string{protocol.Subprotocol}, HTTPHeader: http.Header{"Origin": c.origin}, Host: c.host,
		})
		cancel()
		if (err == nil) != c.allowed || !c.allowed && (resp == nil || resp.StatusCode != 403) {
			t.Errorf("%s: %v", c.name, err)
		}
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
}

func TestR25AHerdIsToldToComeBack(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Limits.ConnectionsPerSecond, c.Limits.ConnectionsBurst = 1, 5 }})
	times, away := map[int64]bool{}, 0
	for range 30 {
		s := r.connect()
		s.send(object{"type": "hello", "token": r.token("ada")})
		o, err := s.read()
		if err != nil {
			t.Fatal(err)
		}
		if o.str("type") == "welcome" {
			continue
		}
		if o.str("code") != string(protocol.Unavailable) {
			t.Fatalf("%v", o)
		}
		s.wantClose(1013)
		away++
		times[o.num("retryAfterMs")/500] = true
	}
	if away < 15 || len(times) < 4 {
		t.Errorf("%d of 30 turned away, to %d different half seconds", away, len(times))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Limits.Connections = 2 }})
	first := r.enter("ada")
	r.enter("ada")
	_, resp, err := r.dial(nil)
	if err == nil || resp == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("a third: %v", err)
	}
	first.subscribe("tea") // the others go on
}

func TestSubscriptionsAreBounded(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Limits.Subscriptions = 2 }})
	s := r.enter("ada")
	s.subscribe("a")
	s.subscribe("b")
	s.send(object{"type": "subscribe", "room": "c"})
	s.wantError(protocol.RateLimited) // room may be made: no final answer
	s.subscribe("a")                  // again is no further one
	s.send(object{"type": "unsubscribe", "room": "a"})
	s.want("unsubscribed")
	s.subscribe("c")
}

func TestFramesThatEndTheConnection(t *testing.T) {
	r := start(t, setup{})
	for name, c := range map[string]struct {
		kind  websocket.MessageType
		frame []byte
		code  protocol.Code
		close int
	}{
		"1 MB":          {websocket.MessageText, []byte(strings.Repeat("x", 1<<20)), protocol.TooLarge, 1009},
		"binary":        {websocket.MessageBinary, []byte(`{"type":"ping"}`), protocol.BadRequest, 1003},
		"invalid UTF-8": {websocket.MessageText, []byte("{\"type\":\"ping\",\"ref\":\"\xff\"}"), protocol.BadRequest, 1007},
	} {
		t.Run(name, func(t *testing.T) {
			s := r.enter("ada")
			s.t = t
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_ = s.conn.Write(ctx, c.kind, c.frame) // the server may stop reading before the end
			s.wantError(c.code)
			s.wantClose(c.close)
		})
	}
	if a := r.get("/v1/rooms", r.token("ada")); a.status != 200 {
		t.Errorf("the server: %d", a.status)
	}
}
