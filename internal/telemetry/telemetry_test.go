package telemetry

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"hapax/protocol"
)

func TestEverythingThatIsCountedShows(t *testing.T) {
	m := NewMetrics()
	m.Outcome("accepted")
	m.Outcome("duplicate")
	m.Resume("snapshot", true)
	m.Refused(protocol.TooLarge, "ws")
	m.Connected(1)
	m.Cut("slow_reader")
	m.TurnedAway("rate")
	m.Request("GET /v1/rooms", "200", time.Millisecond)
	m.Wrote(10)
	m.Purged(2, 3)
	m.Commit(5, time.Millisecond, false)
	m.Commit(1, time.Millisecond, true)
	m.Gauge("hapax_queue", "Commands that wait for a commit.", func() float64 { return 7 })
	want := `
# HELP hapax_cursor_alarms_total Cursors that could not have been right: from the future, or foreign.
# TYPE hapax_cursor_alarms_total counter
hapax_cursor_alarms_total 1
# HELP hapax_queue Commands that wait for a commit.
# TYPE hapax_queue gauge
hapax_queue 7
# HELP hapax_refused_total Errors answered, by code and wire.
# TYPE hapax_refused_total counter
hapax_refused_total{code="too_large",over="ws"} 1
# HELP hapax_sends_total Sends and status look-ups by outcome.
# TYPE hapax_sends_total counter
hapax_sends_total{outcome="accepted"} 1
hapax_sends_total{outcome="duplicate"} 1
# HELP hapax_purged_total Rows dropped by retention: results, messages.
# TYPE hapax_purged_total counter
hapax_purged_total{rows="messages"} 3
hapax_purged_total{rows="results"} 2
`
	if err := testutil.GatherAndCompare(m.Registry(), strings.NewReader(want), "hapax_cursor_alarms_total", "hapax_queue", "hapax_refused_total", "hapax_sends_total", "hapax_purged_total"); err != nil {
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
