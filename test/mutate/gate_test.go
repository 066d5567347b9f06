package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The toy module: its tests are sharp for Double, blunt for Half, endless for Wait where it waits for something else.
const (
	toyMod  = "module toy\n\ngo 1.24\n"
	toyCode = "package toy\n\n// Double and Half do what they say.\nfunc Double(n int) int { return 2 * n }\n\nfunc Half(n int) int { return n / 2 }\n\n" +
		"func Wait(done chan bool) bool { return <-done }\n"
	toyTest = `package toy

import "testing"

func TestDouble(t *testing.T) {
	if Double(3) != 6 {
		t.Error("no double")
	}
}

func TestHalf(t *testing.T) { Half(4) }

func TestWait(t *testing.T) {
	done := make(chan bool, 1)
	done <- true
	if !Wait(done) {
		t.Error("no wait")
	}
}
`
)

func toy(t *testing.T, tests string) *Gate {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": toyMod, "toy.go": toyCode, "toy_test.go": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Gate{Root: dir, Workers: runtime.GOMAXPROCS(0), Limit: time.Minute}
}

var (
	control = Fault{Name: "control", File: "toy.go", Right: "2 * n", Wrong: "n + n", Harmless: true}
	sharp   = Fault{Name: "sharp", File: "toy.go", Right: "2 * n", Wrong: "3 * n", Test: "TestDouble"}
)

func changed(f Fault, change func(*Fault)) Fault {
	change(&f)
	return f
}

// TestGate is G24: each way in which a suite can have no teeth fails the gate by its name.
func TestGate(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault Fault
		want  Verdict
	}{
		{"caught", sharp, Caught},
		{"survivor", changed(sharp, func(f *Fault) { f.Right, f.Wrong, f.Test = "n / 2", "n / 3", "TestHalf" }), Survived},
		{"caught by another test than the named", changed(sharp, func(f *Fault) { f.Test = "TestHalf" }), Survived},
		{"no longer applies", changed(sharp, func(f *Fault) { f.Right = "4 * n" }), Stale},
		{"applies twice", changed(sharp, func(f *Fault) { f.Right = "return" }), Stale},
		{"file gone", changed(sharp, func(f *Fault) { f.File = "gone.go" }), Stale},
		{"changes nothing", changed(sharp, func(f *Fault) { f.Wrong = f.Right }), Stale},
		{"doesn't compile", changed(sharp, func(f *Fault) { f.Wrong = "2 *" }), NotCompiling},
		{"no such test", changed(sharp, func(f *Fault) { f.Test = "TestGone" }), NoSuchTest},
		{"name is only a part", changed(sharp, func(f *Fault) { f.Test = "TestDou" }), NoSuchTest},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gate := toy(t, toyTest)
			outcomes, err := gate.Run(context.Background(), []Fault{c.fault, changed(control, func(f *Fault) { f.In, f.File = ".", "toy.go" })})
			if err != nil {
				t.Fatal(err)
			}
			if got := outcomes[0]; got.Verdict != c.want || got.Good() != (c.want == Caught) {
				t.Errorf("the gate says %q: %s", got.Verdict, got.Detail)
			}
		})
	}
}

func TestGateTimesOut(t *testing.T) {
	gate := toy(t, toyTest)
	gate.Limit = 2 * time.Second
	endless := Fault{Name: "endless", File: "toy.go", Right: "return <-done", Wrong: "<-done; return <-done", Test: "TestWait"}
	outcomes, err := gate.Run(context.Background(), []Fault{endless, control})
	if err != nil {
		t.Fatal(err)
	}
	// The runtime notices that all goroutines sleep, which fails the test, unless one of them waits outside.
	if outcomes[0].Verdict != TimedOut && outcomes[0].Verdict != Caught {
		t.Errorf("the gate says %q: %s", outcomes[0].Verdict, outcomes[0].Detail)
	}
	spinning := changed(endless, func(f *Fault) { f.Wrong = "for {}" })
	outcomes, err = gate.Run(context.Background(), []Fault{spinning, control})
	if err != nil {
		t.Fatal(err)
	}
	if outcomes[0].Verdict != TimedOut || outcomes[0].Good() {
		t.Errorf("the gate says %q of an endless loop: %s", outcomes[0].Verdict, outcomes[0].Detail)
	}
}

// TestGateControl: tests that fail whatever the code is catch every fault, and the control shows it.
func TestGateControl(t *testing.T) {
	for name, c := range map[string]struct {
		tests string
		want  Verdict
	}{"sharp tests": {toyTest, Passed}, "tests that always fail": {strings.Replace(toyTest, "!= 6", "!= 7", 1), ControlFailed}} {
		outcomes, err := toy(t, c.tests).Run(context.Background(), []Fault{sharp, control})
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[1].Verdict != c.want || outcomes[1].Good() != (c.want == Passed) {
			t.Errorf("%s: the control %q", name, outcomes[1].Verdict)
		}
	}
}

func TestGateRefusesEmptyLists(t *testing.T) {
	for name, faults := range map[string][]Fault{
		"nothing": nil, "only controls": {control}, "no control": {sharp}, "a name twice": {sharp, sharp, control},
	} {
		if _, err := toy(t, toyTest).Run(context.Background(), faults); err == nil {
			t.Errorf("%s: the gate is content", name)
		}
	}
	if status := run(context.Background(), nil, time.Second); status == 0 {
		t.Error("a list without faults exits 0")
	}
}

// TestFaultsOfTheHouse: the real list is one that the gate takes, large enough, and every fault applies today.
func TestFaultsOfTheHouse(t *testing.T) {
	faults := allFaults()
	if err := check(faults); err != nil {
		t.Fatal(err)
	}
	harmful := 0
	for _, f := range faults {
		if !f.Harmless {
			harmful++
		}
		source, err := os.ReadFile(filepath.Join("../..", f.File))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		} else if n := strings.Count(string(source), f.Right); n != 1 {
			t.Errorf("%s: its place stands %d times in %s", f.Name, n, f.File)
		}
	}
	if harmful < 30 {
		t.Errorf("only %d faults", harmful)
	}
}
