package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the second process of the idle measurement.
func TestMain(m *testing.M) {
	if os.Getenv("HAPAX_BENCH_CLIENTS") != "" {
		if err := IdleClients(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every part measures something, and its figures hang together.
func TestEveryPartMeasures(t *testing.T) {
	p := Plan{
		Parts: Parts(), Dir: t.TempDir(), Runs: 2, Measure: 300 * time.Millisecond, Warm: 10 * time.Millisecond, Text: 100, Keys: 100, Connections: 50,
		IdleClients: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "HAPAX_BENCH_CLIENTS=1")
			return cmd
		},
		fillStep: 20 * time.Millisecond, loads: loads{connections: 4, inFlight: 4, senders: 4, window: 4, readers: 5},
	}
	report, err := Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(Parts()) || report.Machine.SyncMs <= 0 || report.Machine.Cores < 1 {
		t.Fatalf("%+v", report)
	}
	for _, r := range report.Results {
		if r.Against != "" && (r.Ratio <= 0 || len(r.Ratios) != p.Runs || r.Median.P99ms < r.Median.P50ms) {
			t.Errorf("%s: %+v", r.Name, r)
		}
		if r.Name != "idle" && r.Median.PerSecond <= 0 {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	var table, asJSON bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&asJSON); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(asJSON.Bytes(), &back); err != nil || len(back.Results) != len(report.Results) {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if !strings.Contains(table.String(), r.Name) || !strings.Contains(table.String(), r.Conditions) {
			t.Errorf("%s isn't in the table:\n%s", r.Name, table.String())
		}
	}
	if left, err := os.ReadDir(p.Dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestMedians(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v", c.values, got)
		}
	}
	p := pairs{}
	p.add(Figure{PerSecond: 10}, Figure{PerSecond: 20})
	p.add(Figure{PerSecond: 30}, Figure{PerSecond: 10})
	p.add(Figure{PerSecond: 10}, Figure{PerSecond: 10})
	if got := median(p.ratios()); got != 1 {
		t.Errorf("the median of ratios is %v, not the ratio of medians", got)
	}
}

func BenchmarkWebSocket(b *testing.B) {
	target, err := startTarget(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := target.close(); err != nil {
			b.Error(err)
		}
	}()
	n := 0
	for b.Loop() {
		n++
		f, err := throughWebSocket(b.Context(), target, Load{Connections: agreed.connections, InFlight: agreed.inFlight, Text: 100, Warm: 200 * time.Millisecond, Measure: time.Second}, fmt.Sprint("w", n))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(f.PerSecond, "sends/s")
		b.ReportMetric(f.P99ms, "p99-ms")
	}
}

func BenchmarkFanOut(b *testing.B) {
	target, err := startTarget(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := target.close(); err != nil {
			b.Error(err)
		}
	}()
	n := 0
	for b.Loop() {
		n++
		f, err := fanOut(b.Context(), target, Spread{Readers: agreed.readers, InFlight: agreed.inFlight, Text: 100, Warm: 200 * time.Millisecond, Measure: time.Second}, fmt.Sprint("f", n))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(f.PerSecond, "deliveries/s")
		b.ReportMetric(f.P99ms, "p99-ms")
	}
}
