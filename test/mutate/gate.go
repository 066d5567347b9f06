package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Fault is one change of one file that a test must notice.
type Fault struct {
	Name  string
	File  string // below the root of the module
	Right string // stands exactly once in the file
	Wrong string
	Test  string // the test that must fail
	// In is the package of the test below the root; "": the file's own.
	In string
	// Harmless is a control: the code does the same, and all tests that faults in its package name must pass.
	Harmless bool
	// InCopy runs the test in a copy of its package's folder with the fault in it, for a test that reads source files.
	InCopy bool
}

func (f *Fault) packageOf() string { return cmp.Or(f.In, filepath.ToSlash(filepath.Dir(f.File))) }

// Verdict is what became of a fault.
type Verdict string

// The verdicts; only the first two are good, the second one of a control.
const (
	Caught        Verdict = "caught"
	Passed        Verdict = "passed, as a control must"
	Survived      Verdict = "survived"
	TimedOut      Verdict = "timed out"
	Stale         Verdict = "no longer applies"
	NotCompiling  Verdict = "doesn't compile"
	NoSuchTest    Verdict = "names a test that isn't there"
	ControlFailed Verdict = "failed, though it is harmless"
)

// Outcome of one fault.
type Outcome struct {
	Fault   Fault
	Verdict Verdict
	Detail  string // output of what went wrong
	Took    time.Duration
}

// Good reports whether the outcome is what the gate wants.
func (o *Outcome) Good() bool { return o.Verdict == Caught || o.Verdict == Passed }

// Gate runs faults against the module at Root.
type Gate struct {
	Root    string
	Workers int
	Limit   time.Duration // a test that runs longer has timed out
	Done    func(Outcome) // told each outcome as it comes, one at a time
}

// check refuses lists that would prove nothing.
func check(faults []Fault) error {
	names, controls, packages := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range faults {
		if names[f.Name] {
			return fmt.Errorf("two faults are named %q", f.Name)
		}
		names[f.Name] = true
		if f.Harmless {
			controls[f.packageOf()] = true
		} else {
			packages[f.packageOf()] = true
		}
	}
	if len(packages) == 0 {
		return errors.New("there are no faults")
	}
	for p := range packages {
		if !controls[p] {
			return fmt.Errorf("%s has faults but no control", p)
		}
	}
	return nil
}

// Run tries every fault. An error means that the gate itself couldn't work or the list is none.
func (g *Gate) Run(ctx context.Context, faults []Fault) ([]Outcome, error) {
	if err := check(faults); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "hapax-mutate-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	outcomes := make([]Outcome, len(faults))
	told := make(chan Outcome)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(g.Workers)
	go func() {
		defer close(told)
		for i, f := range faults {
			tests := []string{f.Test}
			if f.Harmless {
				tests = testsIn(faults, f.packageOf())
			}
			group.Go(func() error {
				begun := time.Now()
				t := trial{gate: g, fault: f, tests: tests, dir: filepath.Join(scratch, fmt.Sprint(i))}
				verdict, detail, err := t.run(ctx)
				outcomes[i] = Outcome{Fault: f, Verdict: verdict, Detail: detail, Took: time.Since(begun)}
				if err == nil {
					told <- outcomes[i]
				}
				return err
			})
		}
		err = group.Wait()
	}()
	for o := range told {
		if g.Done != nil {
			g.Done(o)
		}
	}
	return outcomes, err
}

// testsIn are the tests that faults in a package name.
func testsIn(faults []Fault, pkg string) []string {
	var tests []string
	for _, f := range faults {
		if f.packageOf() == pkg && !f.Harmless {
			tests = append(tests, f.Test)
		}
	}
	slices.Sort(tests)
	return slices.Compact(tests)
}

// trial is one fault being tried.
type trial struct {
	gate  *Gate
	fault Fault
	tests []string
	dir   string // its own scratch folder
}

// run judges the fault; an error is the gate's own trouble.
func (t *trial) run(ctx context.Context) (Verdict, string, error) {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return "", "", err
	}
	overlay, applies, err := t.apply()
	if err != nil || !applies {
		return Stale, "", err
	}
	binary := filepath.Join(t.dir, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+t.fault.packageOf())
	build.Dir = t.gate.Root
	if out, err := build.CombinedOutput(); err != nil {
		return NotCompiling, string(out), ctx.Err()
	}
	if t.fault.Harmless {
		return t.runControl(ctx, binary, overlay)
	}
	return t.runTest(ctx, binary, overlay)
}

// apply writes the changed file and the overlay that puts it in the place of the real one.
func (t *trial) apply() (overlay string, applies bool, err error) {
	path, err := filepath.Abs(filepath.Join(t.gate.Root, t.fault.File))
	if err != nil {
		return "", false, err
	}
	source, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	if strings.Count(string(source), t.fault.Right) != 1 || t.fault.Right == t.fault.Wrong {
		return "", false, nil
	}
	changed := filepath.Join(t.dir, filepath.Base(path))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), t.fault.Right, t.fault.Wrong, 1)), 0o644); err != nil {
		return "", false, err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", false, err
	}
	overlay = filepath.Join(t.dir, "overlay.json")
	return overlay, true, os.WriteFile(overlay, text, 0o644)
}

// runTest runs the named test, which must fail.
func (t *trial) runTest(ctx context.Context, binary, overlay string) (Verdict, string, error) {
	result, err := t.execute(ctx, binary, overlay)
	switch {
	case err != nil:
		return "", "", err
	case !strings.Contains(result.output, "=== RUN   "+t.fault.Test+"\n"):
		return NoSuchTest, result.output, nil
	case result.late:
		return TimedOut, result.output, nil
	case result.passed:
		return Survived, result.output, nil
	}
	return Caught, "", nil
}

// runControl runs all named tests of the package, which must pass.
func (t *trial) runControl(ctx context.Context, binary, overlay string) (Verdict, string, error) {
	result, err := t.execute(ctx, binary, overlay)
	if err != nil {
		return "", "", err
	}
	for _, test := range t.tests {
		if !strings.Contains(result.output, "=== RUN   "+test+"\n") {
			return NoSuchTest, test, nil
		}
	}
	switch {
	case result.late:
		return TimedOut, result.output, nil
	case !result.passed:
		return ControlFailed, result.output, nil
	}
	return Passed, "", nil
}

// ran is a finished test binary.
type ran struct {
	output       string
	passed, late bool
}

func (t *trial) execute(ctx context.Context, binary, overlay string) (ran, error) {
	dir := filepath.Join(t.gate.Root, t.fault.packageOf())
	if t.fault.InCopy {
		var err error
		if dir, err = t.copyPackage(dir); err != nil {
			return ran{}, err
		}
	}
	quoted := make([]string, len(t.tests))
	for i, test := range t.tests {
		quoted[i] = regexp.QuoteMeta(test)
	}
	limited, cancel := context.WithTimeout(ctx, t.gate.Limit)
	defer cancel()
	run := exec.CommandContext(limited, binary, "-test.v", "-test.count=1", "-test.run", "^("+strings.Join(quoted, "|")+")$")
	run.Dir = dir
	run.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay) // for a test that builds
	run.WaitDelay = time.Second                                 // for a grandchild that holds the output open
	out, err := run.CombinedOutput()
	if ctx.Err() != nil {
		return ran{}, ctx.Err()
	}
	return ran{output: string(out), passed: err == nil, late: limited.Err() != nil}, nil
}

// copyPackage copies a package's sources, the changed one in its place.
func (t *trial) copyPackage(from string) (string, error) {
	to := filepath.Join(t.dir, "package")
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	sources, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range sources {
		name := filepath.Base(path)
		if name == filepath.Base(t.fault.File) {
			path = filepath.Join(t.dir, name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return "", err
		}
	}
	return to, nil
}
