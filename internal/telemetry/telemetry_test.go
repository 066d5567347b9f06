package telemetry

import (
	"bytes"
	"encoding/json"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"hapax/protocol"
)

func TestEverythingThatIsCountedShows(t *testing.T) {
	m := NewMetrics()
	m.Refused(protocol.TooLarge, "ws")
	m.Connected(1)
	m.Cut("slow_reader")
	m.TurnedAway("rate")
	m.Request("GET /v1/rooms", "200", time.Millisecond)
	m.Wrote(10)
	want := `
# HELP hapax_connections Open WebSocket connections.
# TYPE hapax_connections gauge
hapax_connections 1
# HELP hapax_connections_cut_total Connections ended by the server, by reason.
# TYPE hapax_connections_cut_total counter
hapax_connections_cut_total{reason="slow_reader"} 1
# HELP hapax_connections_refused_total WebSocket connections turned away before they opened, by reason.
# TYPE hapax_connections_refused_total counter
hapax_connections_refused_total{reason="rate"} 1
# HELP hapax_refused_total Errors answered, by code and wire.
# TYPE hapax_refused_total counter
hapax_refused_total{code="too_large",over="ws"} 1
# HELP hapax_ws_written_bytes_total Bytes written to WebSocket connections.
# TYPE hapax_ws_written_bytes_total counter
hapax_ws_written_bytes_total 10
`
	if err := testutil.GatherAndCompare(m.Registry(), strings.NewReader(want), "hapax_connections", "hapax_connections_cut_total", "hapax_connections_refused_total", "hapax_refused_total", "hapax_ws_written_bytes_total"); err != nil {
		t.Fatal(err)
	}
	if problems, err := testutil.GatherAndLint(m.Registry()); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
}

func TestLoggerFormsAndLevels(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, "warn", "json")
	log.Info("unseen")
	log.Warn("seen", "room", "a\nb")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "seen" || line["room"] != "a\nb" {
		t.Fatalf("%q %v", out.String(), err)
	}
	out.Reset()
	NewLogger(&out, "nonsense", "text").Info("seen")
	if !strings.Contains(out.String(), "msg=seen") {
		t.Fatalf("%q", out.String())
	}
}

// What a destination wrote behind its answer is quoted by net/http; it gets into no log.
func TestWhatLibrariesSay(t *testing.T) {
	var out bytes.Buffer
	w := Libraries(NewLogger(&out, "debug", "text"))
	l := log.New(w, "", 0)
	l.Printf("Unsolicited response received on idle HTTP channel starting with %q; err=%v", "card 4111", nil)
	l.Print("something else")
	if s := out.String(); strings.Contains(s, "4111") || !strings.Contains(s, "Unsolicited response") || !strings.Contains(s, "something else") {
		t.Errorf("%s", s)
	}
}
