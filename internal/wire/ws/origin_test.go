package ws

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"hapax/internal/telemetry"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// An origin and a host are one by what they name, with or without the default port, in upper or lower case.
func TestOriginsAreComparedAsBrowsersDo(t *testing.T) {
	for _, c := range []struct {
		origin, host string
		allowed      bool
	}{
		{"https://chat.example", "hapax.example", true},
		{"https://Chat.Example", "hapax.example", true},
		{"http://chat.example", "hapax.example", false},
		{"https://chat.example:8443", "hapax.example", false},
		{"https://hapax.example", "hapax.example", true},
		{"https://hapax.example", "hapax.example:443", true},
		{"https://hapax.example", "HAPAX.example:443", true},
		{"http://hapax.example", "hapax.example:80", true},
		{"http://hapax.example", "hapax.example:443", false},
		{"https://hapax.example:8443", "hapax.example:8443", true},
		{"https://hapax.example:8443", "hapax.example", false},
		{"null", "hapax.example", false},
		{"https://evil.example", "hapax.example", false},
		{"https://hapax.example.evil.example", "hapax.example", false},
	} {
		s := &Server{Options: Options{Origins: []string{"https://chat.example"}}}
		r := httptest.NewRequest("GET", "/v1/ws", nil)
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		if got := s.originAllowed(r); got != c.allowed {
			t.Errorf("%s on %s: %v", c.origin, c.host, got)
		}
	}
}

func TestARefusedOriginIsTold(t *testing.T) {
	var out strings.Builder
	m := telemetry.NewMetrics()
	s := New(Options{
		Origins: []string{"https://chat.example"}, Metrics: m, Log: slog.New(slog.NewTextHandler(&out, nil)), Protocol: protocol.DefaultLimits,
		Admission: limit.New(limit.Limits{}, nil, nil), Limits: Limits{Connections: 1, ConnectionsPerSecond: 1, ConnectionsBurst: 1},
	})
	for range 100 {
		r := httptest.NewRequest("GET", "/v1/ws", nil)
		r.Host = "hapax.example"
		r.Header.Set("Upgrade", "websocket")
		r.Header.Set("Sec-WebSocket-Protocol", protocol.Subprotocol)
		r.Header.Set("Origin", "https://evil.example")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 403 {
			t.Fatal(w.Code)
		}
	}
	text := out.String()
	if n := strings.Count(text, "\n"); n < 1 || n > 10 {
		t.Errorf("%d lines for 100 refusals", n)
	}
	for _, want := range []string{"reason=origin", "https://evil.example", "hapax.example", "https://chat.example"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q isn't told: %s", want, text)
		}
	}
}
