package audit

import (
	"flag"
	"syscall"
	"testing"
)

var benchEvents = flag.Int("events", 2_000_000, "events of the generated set; a tenth as many keys")

// BenchmarkRecompute measures events a second and peak memory, files in the page cache:
//
//	go test ./internal/audit -run '^$' -bench Recompute -benchtime 3x -events 20000000
func BenchmarkRecompute(b *testing.B) {
	dir := b.TempDir()
	if err := generate(dir, *benchEvents, *benchEvents/10); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if _, err := Recompute(dir); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(*benchEvents)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MiB")
}
