package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	//go:embed settle.sql
	settleSQL string
	//go:embed settle.sh
	settleShell string
)

func main() {
	b := bench{}
	flag.Uint64Var(&b.events, "events", 20_000_000, "events")
	flag.Uint64Var(&b.keys, "keys", 2_000_000, "keys")
	flag.StringVar(&b.dir, "dir", "", "where the files go (default: a temporary folder, removed afterwards)")
	flag.BoolVar(&b.others, "others", true, "also measure sort with awk, and SQLite")
	flag.Parse()
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "settlebench:", err)
		os.Exit(1)
	}
}

// bench is one paired measurement.
type bench struct {
	events, keys uint64
	dir          string
	others       bool
	program      string
	want         string // the figures that all must come to
}

func (b *bench) run() error {
	work, err := os.MkdirTemp(b.dir, "settlebench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b.program = filepath.Join(work, "hapax")
	if out, err := exec.Command("go", "build", "-o", b.program, "./cmd/hapax").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	plain, shuffled := filepath.Join(work, "plain"), filepath.Join(work, "shuffled")
	if err := b.generate(plain); err != nil {
		return err
	}
	fmt.Printf("%d events over %d keys, %s\n", b.events, b.keys, load())
	settle, err := b.settle("hapax settle", plain, "512MiB")
	if err != nil {
		return err
	}
	if err := b.row("hapax health", settle, time1(b.program, "health", "--in", plain)); err != nil {
		return err
	}
	if b.others {
		if err := b.measureOthers(plain, settle); err != nil {
			return err
		}
	}
	if _, err := b.settle("hapax settle, again", plain, "512MiB"); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(plain, "events.tsv")); err != nil {
		return err
	}
	if err := b.generate(shuffled, "--shuffle"); err != nil {
		return err
	}
	_, err = b.settle("shuffled, in 256 MB", shuffled, "256MB")
	return err
}

func (b *bench) generate(dir string, more ...string) error {
	args := append([]string{"settle", "generate", "--out", dir, "--events", fmt.Sprint(b.events), "--keys", fmt.Sprint(b.keys)}, more...)
	if out, err := exec.Command(b.program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("generate: %w: %s", err, out)
	}
	return nil
}

// settle measures the program and holds its figures to those of the first run.
func (b *bench) settle(name, dir, memory string) (time.Duration, error) {
	m := time1(b.program, "settle", "--in", dir, "--memory", memory)
	report, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return 0, errors.Join(m.err, err)
	}
	figures, err := reportFigures(report)
	if err != nil {
		return 0, err
	}
	if b.want == "" {
		b.want = figures
	}
	return m.took, errors.Join(b.row(name, m.took, m), b.same(name, figures))
}

func (b *bench) measureOthers(dir string, settle time.Duration) error {
	script := filepath.Join(dir, "settle.sh")
	if err := os.WriteFile(script, []byte(settleShell), 0o755); err != nil {
		return err
	}
	for _, other := range []struct{ name, figures, command string }{
		{"sort and awk", "figures.awk", "cd " + dir + " && sh settle.sh"},
		{"SQLite", "figures.sqlite", "cd " + dir + " && sqlite3 -bail judged.db"},
	} {
		cmd := exec.Command("sh", "-c", other.command)
		cmd.Stdin = strings.NewReader(settleSQL)
		if err := b.row(other.name, settle, measure(cmd)); err != nil {
			return err
		}
		figures, err := os.ReadFile(filepath.Join(dir, other.figures))
		if err != nil {
			return err
		}
		if err := b.same(other.name, string(figures)); err != nil {
			return err
		}
		os.Remove(filepath.Join(dir, "judged.db")) // makes room; all is removed at the end
	}
	return nil
}

func (b *bench) same(name, figures string) error {
	if figures == b.want {
		return nil
	}
	got, want := strings.Split(figures, "\n"), strings.Split(b.want, "\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Errorf("%s comes to other figures in line %d of %d: %q, want %q", name, i+1, len(want), slices.Concat(got, []string{"nothing"})[min(i, len(got))], want[i])
		}
	}
	return fmt.Errorf("%s has %d lines of figures, want %d", name, len(got), len(want))
}

// measured is one finished command.
type measured struct {
	took   time.Duration
	cpu    time.Duration
	peakMB int64
	err    error
}

func time1(program string, args ...string) measured { return measure(exec.Command(program, args...)) }

func measure(cmd *exec.Cmd) measured {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begun := time.Now()
	err := cmd.Run()
	m := measured{took: time.Since(begun)}
	if cmd.ProcessState == nil {
		m.err = err
		return m
	}
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.peakMB = usage.Maxrss / 1000
	}
	// Rejected events make status 2; that is what the workload holds.
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 2 {
		m.err = fmt.Errorf("status %d: %s", code, stderr.String())
	}
	return m
}

func (b *bench) row(name string, against time.Duration, m measured) error {
	if m.err != nil {
		return fmt.Errorf("%s: %w", name, m.err)
	}
	fmt.Printf("%-22s %8.1f s  %6.2f M events/s  %8.1f s CPU  peak %5d MB  %6.1f times settle\n", name, m.took.Seconds(),
		float64(b.events)/m.took.Seconds()/1e6, m.cpu.Seconds(), m.peakMB, m.took.Seconds()/against.Seconds())
	return nil
}

// reportFigures writes a report as the scripts write theirs: counts, sums in cents, tenants by bytes, the ledger.
func reportFigures(report []byte) (string, error) {
	var r struct {
		Counts                         map[string]int64
		Accepted_total, Deduped_amount string
		Tenant_totals                  map[string]string
		Lru                            []struct {
			Tenant, Source, Dedupe_key   string
			Hits, Lru_rank, Seen_at, Seq int64
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return "", err
	}
	cents := func(text string) string { return strings.TrimLeft(strings.Replace(text, ".", "", 1), "0") }
	var out strings.Builder
	fmt.Fprintf(&out, "accept\t%d\t%s\n", r.Counts["accept"], cents(r.Accepted_total))
	fmt.Fprintf(&out, "duplicate_done\t%d\nduplicate_pending\t%d\nboth\t%s\n", r.Counts["duplicate_done"], r.Counts["duplicate_pending"], cents(r.Deduped_amount))
	fmt.Fprintf(&out, "unknown_key\t%d\nbad_amount\t%d\n", r.Counts["unknown_key"], r.Counts["bad_amount"])
	var tenants []string
	for tenant := range r.Tenant_totals {
		tenants = append(tenants, tenant)
	}
	slices.Sort(tenants)
	for _, tenant := range tenants {
		fmt.Fprintf(&out, "tenant\t%s\t%s\n", tenant, cents(r.Tenant_totals[tenant]))
	}
	for _, e := range r.Lru {
		fmt.Fprintf(&out, "lru\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", e.Tenant, e.Source, e.Dedupe_key, e.Hits, e.Lru_rank, e.Seen_at, e.Seq)
	}
	return out.String(), nil
}

// load says how busy the machine is with other things, for whoever reads the figures.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Join(strings.Fields(string(text))[:3], " ")
}
