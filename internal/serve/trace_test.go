package serve_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// notes is a log that can be read while it is written.
type notes struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

// line waits for the log's line of a message that holds all the words, and returns it.
func (n *notes) line(t *testing.T, words ...string) map[string]any {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		n.mu.Lock()
		text := n.buf.String()
		n.mu.Unlock()
		for line := range strings.Lines(text) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				var m map[string]any
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err)
				}
				return m
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no line with %q: %s", words, text)
		}
	}
}

// TestEachAnswerIsTiedToItsRequest: over rooms, ingest, management, console, admin and WebSocket alike, the answer carries the request's id,
// and the log's access line at debug has it with the route.
func TestEachAnswerIsTiedToItsRequest(t *testing.T) {
	log := &notes{}
	s := start(t, setup{log: slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ask := func(method, address, id string, more ...string) *http.Response {
		r, err := http.NewRequest(method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if id != "" {
			r.Header.Set("X-Request-Id", id)
		}
		r.Header.Set("Traceparent", parent)
		for i := 0; i < len(more); i += 2 {
			r.Header.Set(more[i], more[i+1])
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	clients, admin := "http://"+s.at.Clients, "http://"+s.at.Admin
	for i, c := range []struct {
		address, route string
		status         int
		more           []string
	}{
		{clients + "/v1/rooms/r/messages", "/v1/rooms/{room}/messages", http.StatusUnauthorized, nil},
		{clients + "/v1/rooms", "/v1/rooms", http.StatusOK, []string{"Authorization", "Bearer " + s.token("ann")}},
		{clients + "/v1/ingest/acme/orders", "", 0, nil},
		{clients + "/v1/ledger/acme", "", 0, nil},
		{clients + "/v1/nowhere", "", http.StatusNotFound, nil},
		{clients + "/", "", http.StatusOK, nil},
		{admin + "/livez", "/livez", http.StatusOK, nil},
		{admin + "/nowhere", "", http.StatusNotFound, nil},
		{clients + "/v1/ws", "/v1/ws", http.StatusSwitchingProtocols, []string{
			"Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Version", "13", "Sec-Websocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==",
			"Sec-Websocket-Protocol", "hapax.v1"}},
	} {
		id := "mine/" + string(rune('a'+i))
		resp := ask("GET", c.address, id, c.more...)
		if got := resp.Header.Get("X-Request-Id"); got != id {
			t.Errorf("%s: the answer's id is %q", c.address, got)
		}
		if c.status != 0 && resp.StatusCode != c.status {
			t.Errorf("%s: %s", c.address, resp.Status)
		}
		line := log.line(t, `"msg":"request"`, `"request":"`+id+`"`)
		if route, _ := line["route"].(string); !strings.Contains(route, c.route) || line["status"] != float64(resp.StatusCode) || line["traceparent"] != parent ||
			!strings.HasPrefix(line["address"].(string), "127.0.0.1") {
			t.Errorf("%s: %v", c.address, line)
		}
	}
}

// TestRequestIdsAreBoundedAndHarmless: of what a client sends only what can stand in a line is kept, and at most 128 bytes.
func TestRequestIdsAreBoundedAndHarmless(t *testing.T) {
	s := start(t, setup{})
	made := map[string]bool{}
	for given, want := range map[string]string{
		"": "", "order-17": "order-17", "a b\tc\"d": "abcd", "\u202e\u200b": "", strings.Repeat("x", 4000): strings.Repeat("x", 128), "{};": "",
	} {
		r, err := http.NewRequest("GET", "http://"+s.at.Admin+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Request-Id", given)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got := resp.Header.Get("X-Request-Id")
		if want == "" && (len(got) < 20 || made[got]) || want != "" && got != want {
			t.Errorf("%.20q: %q", given, got)
		}
		made[got] = true
	}
}

// TestARefusedTokenIsToldWithAddressAndRoute: a line says who came to which route; a flood of them is sampled.
func TestARefusedTokenIsToldWithAddressAndRoute(t *testing.T) {
	log := &notes{}
	s := start(t, setup{log: slog.NewJSONHandler(log, nil)})
	began := time.Now()
	for range 200 {
		r, err := http.NewRequest("GET", "http://"+s.at.Clients+"/v1/rooms", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer nonsense")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	line := log.line(t, "a token was refused")
	if !strings.HasPrefix(line["address"].(string), "127.0.0.1") || line["route"] != "GET /v1/rooms" || line["request"] == "" {
		t.Error(line)
	}
	log.mu.Lock()
	lines := strings.Count(log.buf.String(), "a token was refused")
	log.mu.Unlock()
	if most := 2 + int(time.Since(began)/time.Second); lines > most {
		t.Errorf("%d lines for 200 refusals", lines)
	}
}
