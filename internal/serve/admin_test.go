package serve_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// admin returns what the admin listener answers.
func (r *running) admin(path string) string {
	r.t.Helper()
	_, body := r.adminStatus(path)
	return body
}

func (r *running) adminStatus(path string) (int, string) {
	r.t.Helper()
	resp, err := http.Get("http://" + r.at.Admin + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// until asks for the metrics until one of them has a value.
func (r *running) until(metric string) {
	r.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(r.admin("/metrics"), metric+"\n"); {
		if time.Now().After(end) {
			r.t.Fatalf("the metrics never say %s", metric)
		}
	}
}

func TestOperatorsSeeStateAndFigures(t *testing.T) {
	r := start(t, setup{kind: "pebble"})
	s := r.enter("ada")
	s.subscribe("tea")
	for _, text := range []string{"x", "x", "y"} {
		s.say("tea", "a", text)
		s.read()
	}
	if status, body := r.adminStatus("/livez"); status != 200 || body != "ok\n" {
		t.Error(status, body)
	}
	if status, body := r.adminStatus("/readyz"); status != 200 || !strings.Contains(body, `"ready":true`) {
		t.Error(status, body)
	}
	if status, _ := r.adminStatus("/debug/pprof/"); status != 404 {
		t.Error("profiles without being asked for:", status)
	}
	s.send(object{"type": "ping"})
	for o, err := s.read(); o.str("type") != "pong"; o, err = s.read() {
		if err != nil {
			t.Fatal(err)
		}
	}
	metrics := r.admin("/metrics")
	for _, want := range []string{
		`hapax_sends_total{outcome="accepted"} 1`, `hapax_sends_total{outcome="duplicate"} 1`, `hapax_sends_total{outcome="conflict"} 1`,
		`hapax_sends_total{outcome="in_progress"} 0`, `hapax_sends_total{outcome="outcome_unknown"} 0`,
		`hapax_resumes_total{result="no_cursor"} 1`, `hapax_refused_total{code="id_conflict",over="ws"} 1`, "hapax_connections 1",
		"hapax_commit_seconds_count", "hapax_commit_group_size_bucket", "hapax_store_messages 1", "hapax_store_results 1", "hapax_store_rooms 1",
		"hapax_queue_commands 0", "hapax_subscriptions 1", "hapax_store_failed 0", "go_goroutines",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}
