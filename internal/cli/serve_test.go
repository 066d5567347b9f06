package cli

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	return Main(args, strings.NewReader(""), &out, &err), out.String(), err.String()
}

func TestConfigCommands(t *testing.T) {
	t.Setenv("HAPAX_LIMITS_IN_FLIGHT", "99")
	file := filepath.Join(t.TempDir(), "hapax.yaml")
	if err := os.WriteFile(file, []byte("auth: {secret: shh-shh-shh-shh-shh-shh-shh-shh-}\nlisten: 0.0.0.0:80\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := run(t, "config", "print", "--config", file, "--data", "elsewhere")
	for _, want := range []string{"in_flight: 99", "listen: 0.0.0.0:80", "data: elsewhere", "********"} {
		if status != ExitOK || !strings.Contains(out, want) {
			t.Errorf("no %q: %d %s %s", want, status, out, errs)
		}
	}
	if strings.Contains(out, "shh") {
		t.Error("the secret shows")
	}
	if status, out, errs := run(t, "config", "check", "--config", file); status != ExitOK || out == "" {
		t.Error(status, out, errs)
	}
	t.Setenv("HAPAX_LIMITS_INFLIGHT", "7")
	if status, _, errs := run(t, "config", "check"); status != ExitConfig || !strings.Contains(errs, "HAPAX_LIMITS_IN_FLIGHT") {
		t.Error(status, errs)
	}
}

// started runs serve in this process and waits for it to listen. end returns its status and what it wrote.
func started(t *testing.T, args ...string) (end func() (int, string)) {
	t.Helper()
	in, out := io.Pipe()
	status := make(chan int, 1)
	go func() {
		s := Main(append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...), strings.NewReader(""), io.Discard, out)
		_ = out.Close()
		status <- s
	}()
	lines, log := bufio.NewReader(in), ""
	for !strings.Contains(log, `"listening"`) {
		line, err := lines.ReadString('\n')
		log += line
		if err != nil {
			t.Fatalf("it doesn't listen: %s", log)
		}
	}
	rest := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(lines)
		rest <- string(b)
	}()
	return func() (int, string) {
		select {
		case s := <-status:
			return s, log + <-rest
		case <-time.After(2 * time.Minute):
			t.Fatal("it doesn't end")
			return 0, ""
		}
	}
}

func TestServeDrainsOnASignal(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	end := started(t, "--data", data)
	if status, _, errs := run(t, "serve", "--data", data, "--listen", "127.0.0.1:0"); status != ExitConfig || !strings.Contains(errs, "another hapax") {
		t.Errorf("a folder in use: %d %s", status, errs)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status, log := end(); status != ExitOK || !strings.Contains(log, `"stopped"`) {
		t.Errorf("%d %s", status, log)
	}
	if _, err := os.Stat(filepath.Join(data, "admin.sock")); !os.IsNotExist(err) {
		t.Errorf("the admin socket is left: %v", err)
	}
}

func TestWhatServeRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	newer, damaged, file := filepath.Join(t.TempDir(), "newer"), filepath.Join(t.TempDir(), "damaged"), filepath.Join(t.TempDir(), "file")
	end := started(t, "--data", damaged)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status, log := end(); status != ExitOK {
		t.Fatal(log)
	}
	manifests, err := filepath.Glob(filepath.Join(damaged, "db", "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, m := range manifests {
		if err := os.Truncate(m, 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(newer, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(newer, "format"): "hapax-store 99\n", file: "not a folder"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"open to all without auth":  {[]string{"--listen", "0.0.0.0:0"}, ExitConfig, "no auth is configured"},
		"dev, open to all":          {[]string{"--dev", "--listen", ":0"}, ExitConfig, "reachable from other machines"},
		"an address in use":         {[]string{"--listen", taken.Addr().String()}, ExitConfig, "in use"},
		"a folder of a newer hapax": {[]string{"--data", newer}, ExitConfig, "newer version"},
		"a damaged folder":          {[]string{"--data", damaged}, ExitMachine, "damaged"},
		"a file for a folder":       {[]string{"--data", file}, ExitMachine, "file"},
		"an unknown flag":           {[]string{"--lisen", ":0"}, ExitUsage, "lisen"},
		"a limit out of bounds":     {[]string{"--limits-in-flight", "0"}, ExitConfig, "limits.in_flight"},
		"a file that isn't there":   {[]string{"--config", filepath.Join(t.TempDir(), "absent.yaml")}, ExitConfig, "absent.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			base := []string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
			status, _, errs := run(t, append(base, c.args...)...)
			if status != c.status || !strings.Contains(errs, c.says) {
				t.Errorf("status %d, want %d: %s", status, c.status, errs)
			}
		})
	}
}

func TestBenchRefusesUnknownParts(t *testing.T) {
	if status, _, errs := run(t, "bench", "everything"); status != ExitUsage || !strings.Contains(errs, "fanout") {
		t.Error(status, errs)
	}
}
