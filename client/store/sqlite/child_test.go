//go:build !js

package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"hapax/client/ids"
	"hapax/client/store"
)

// childMode makes the test binary a second process on a store.
const (
	childMode = "HAPAX_STORE_CHILD"
	childPath = "HAPAX_STORE_PATH"
)

// runChild does what the parent asks, tells of it by a line, and waits to be killed.
func runChild(mode string) int {
	ctx := context.Background()
	s, err := Open(ctx, os.Getenv(childPath), Options{})
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	switch mode {
	case "drain":
		err = childDrains(ctx, s)
	case "reserve":
		for range 40 {
			l, reserveErr := s.Reserve(ctx, s.Device(), 8, 0)
			err = errors.Join(err, reserveErr, json.NewEncoder(os.Stdout).Encode(l))
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func childDrains(ctx context.Context, s *Store) error {
	fence, err := s.Drain(ctx)
	if err != nil {
		return err
	}
	added, err := s.Add(ctx, 0, []store.Entry{{Key: store.Key{Room: "r", ID: "child"}, Fingerprint: "f", State: store.Queued}})
	if err != nil {
		return err
	}
	_, err = s.Apply(ctx, fence, []store.Change{store.Step{
		Position: added[0].Row.Position, Revision: 1, To: store.Sending, FirstSentAt: 5, Schedule: store.Schedule{Attempts: 1, Interval: 9, LastAttemptAt: 3},
	}})
	return err
}

// child starts the second process and returns the lines before its "ready", and what kills it.
func child(t *testing.T, mode, path string) (lines []string, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childMode+"="+mode, childPath+"="+path)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
		stdin.Close()
	}
	t.Cleanup(kill)
	for in := bufio.NewScanner(stdout); in.Scan(); {
		if in.Text() == "ready" {
			return lines, kill
		}
		lines = append(lines, in.Text())
	}
	t.Fatalf("the child ended: %v", lines)
	return nil, nil
}

// TestDrainerKilled is C21 with a real process: the kernel frees the lock of one that is killed, and the lock file stays.
func TestDrainerKilled(t *testing.T) {
	path := newFile(t).path
	_, kill := child(t, "drain", path)
	s := open(t, path, Options{})
	if _, err := s.Drain(t.Context()); !errors.Is(err, store.ErrDraining) {
		t.Fatalf("two drain: %v", err)
	}
	k := store.Key{Room: "r", ID: "child"}
	if _, err := s.Cancel(t.Context(), k); !errors.Is(err, store.ErrMayHaveBeenSent) {
		t.Fatalf("cancelled in flight: %v", err)
	}
	kill()
	fence, err := s.Drain(t.Context())
	if err != nil || fence != 2 {
		t.Fatalf("fence %d, %v", fence, err)
	}
	r, ok, err := s.Find(t.Context(), k)
	if err != nil || !ok || r.State != store.Queued || r.Attempts != 1 || r.FirstSentAt != 5 {
		t.Errorf("found %+v, %v, %v", r, ok, err)
	}
	if _, err := os.Stat(path + ".lock"); err != nil {
		t.Error(err)
	}
}

// TestReserveInTwoProcesses is C02 with a real process.
func TestReserveInTwoProcesses(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	var mine []ids.Lease
	done := make(chan error)
	go func() {
		var all error
		for range 40 {
			l, err := s.Reserve(t.Context(), s.Device(), 8, 0)
			mine, all = append(mine, l), errors.Join(all, err)
		}
		done <- all
	}()
	lines, _ := child(t, "reserve", path)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	starts := map[ids.Ordinal]bool{}
	for _, line := range lines {
		var l ids.Lease
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		mine = append(mine, l)
	}
	for _, l := range mine {
		if starts[l.Start] || l.Start.Lo%8 != 1 {
			t.Errorf("lease %+v twice, or into another", l)
		}
		starts[l.Start] = true
	}
	if len(starts) != 80 {
		t.Errorf("%d leases", len(starts))
	}
}
