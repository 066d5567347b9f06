//go:build unix

package settlement

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// runInto runs the program with its standard output going to a file.
func runInto(t *testing.T, stdout *os.File, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(deadline(t), program, args...)
	cmd.Stdout = stdout
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// TestFullDisk lets no file grow beyond a few hundred bytes.
func TestFullDisk(t *testing.T) {
	dir := folder(t, filepath.Join(casesDir, "G01"))
	write(t, filepath.Join(dir, "report.json"), "yesterday")
	r := finish(t, exec.CommandContext(deadline(t), "sh", "-c", `ulimit -f 0; exec "$0" settle --in "$1"`, program, dir))
	if r.status != 70 {
		t.Errorf("status %d, want 70: %s", r.status, r.stderr)
	}
	if got := names(t, dir); got != "dedupe.tsv events.tsv policy.tsv report.json.stale " {
		t.Errorf("the folder holds %s", got)
	}
}

// TestKilledWhileReading is G32: events.tsv is a pipe, so the program can be killed in the middle of reading it.
func TestKilledWhileReading(t *testing.T) {
	from := filepath.Join(casesDir, "G32")
	dir := folder(t, from)
	yesterday := read(t, filepath.Join(from, "yesterday.json"))
	for _, name := range []string{"report.json", "malformed.tsv", "closing.tsv"} {
		write(t, filepath.Join(dir, name), yesterday)
	}
	events := filepath.Join(dir, "events.tsv")
	row := read(t, events)
	if err := os.Remove(events); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(events, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(deadline(t), program, "settle", "--in", dir, "--closing", filepath.Join(dir, "closing.tsv"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(events, os.O_WRONLY, 0) // returns once the program reads
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.WriteString(row); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the program wasn't killed")
	}
	for _, name := range []string{"report.json", "malformed.tsv", "closing.tsv"} {
		absent(t, filepath.Join(dir, name))
		if got := read(t, filepath.Join(dir, name+".stale")); got != yesterday {
			t.Errorf("%s.stale is %q", name, got)
		}
	}
}

// TestInterrupted: a run that is asked to end has no report and leaves nothing unfinished.
func TestInterrupted(t *testing.T) {
	dir := folder(t, filepath.Join(casesDir, "G32"))
	events := filepath.Join(dir, "events.tsv")
	row := read(t, events)
	if err := os.Remove(events); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(events, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(deadline(t), program, "settle", "--in", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(events, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the program has gone; it may read on for a while
		_, err = pipe.WriteString(strings.Repeat(row, 1000))
	}
	pipe.Close()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 70 {
		t.Errorf("status %d, want 70", cmd.ProcessState.ExitCode())
	}
	if got := names(t, dir); got != "dedupe.tsv events.tsv policy.tsv " {
		t.Errorf("the folder holds %s", got)
	}
}
