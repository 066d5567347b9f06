package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hapax/internal/child"
)

// readmeBlock is a block of code in README.md.
type readmeBlock struct {
	line        int
	kind, words string
}

func readmeBlocks(t *testing.T) (blocks []readmeBlock) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var b *readmeBlock
	for i, line := range strings.Split(string(text), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && b == nil:
			b = &readmeBlock{line: i + 1, kind: fence}
		case isFence:
			blocks, b = append(blocks, *b), nil
		case b != nil:
			b.words += line + "\n"
		}
	}
	return blocks
}

// reader is somebody who follows the README in a folder: what the repository has at its top that the blocks name, and what they make.
type reader struct {
	t      *testing.T
	dir    string
	port   string
	server *child.Server
	env    map[string]string
}

// TestReadmeRunsAsPrinted runs each block of the README in its order, and all of them a second time in the same folder. Only the port is another; the
// program stands built where a block builds it; the test suite isn't run by itself. A line is expected to end well, or as its comment says.
func TestReadmeRunsAsPrinted(t *testing.T) {
	listen, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, dir: t.TempDir(), port: listen[strings.LastIndex(listen, ":")+1:], env: map[string]string{"HAPAX_LISTEN": listen, "HAPAX_ADMIN_LISTEN": "127.0.0.1:0"}}
	t.Cleanup(r.stop)
	for _, name := range []string{"docs", "probe"} {
		from, err := filepath.Abs("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable() // it is hapax by that name: TestMain
	if err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(program) // a link would be followed to another name
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "hapax"), copied, 0o700); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for round := range 2 {
		for _, b := range readmeBlocks(t) {
			switch b.kind {
			case "sh":
				for _, line := range strings.Split(strings.ReplaceAll(strings.TrimSpace(b.words), "\\\n", " "), "\n") {
					ran++
					r.run(fmt.Sprintf("round %d, README.md:%d", round+1, b.line), line)
				}
			case "yaml":
				written(t, r.dir, "hapax.yaml", b.words)
			}
		}
	}
	if ran < 40 {
		t.Errorf("only %d commands found", ran)
	}
}

var (
	exports  = regexp.MustCompile(`^export (.*)$`)
	serves   = regexp.MustCompile(`^(?:go run ./cmd/hapax|\./hapax) serve([^#]*)`)
	statuses = regexp.MustCompile(`#.*exit status (\d+)`)
)

// run runs a line in the shell, a server in the background in the place of the one before.
func (r *reader) run(where, line string) {
	r.t.Helper()
	line = strings.ReplaceAll(line, "127.0.0.1:7480", "127.0.0.1:"+r.port)
	switch {
	case strings.HasPrefix(line, "make test"), strings.HasPrefix(line, "go build -o hapax ./cmd/hapax"):
		return
	case exports.MatchString(line):
		for _, pair := range strings.Fields(exports.FindStringSubmatch(line)[1]) {
			name, value, _ := strings.Cut(pair, "=")
			r.env[name] = value
		}
		return
	case serves.MatchString(line):
		r.stop()
		s, err := child.StartIn(context.Background(), r.dir, filepath.Join(r.dir, "hapax"),
			append([]string{"serve"}, strings.Fields(serves.FindStringSubmatch(line)[1])...), r.pairs()...)
		if err != nil {
			r.t.Fatalf("%s: %s: %v", where, line, err)
		}
		r.server = s
		return
	}
	want := "0"
	if m := statuses.FindStringSubmatch(line); m != nil {
		want = m[1]
	}
	cmd := exec.CommandContext(r.t.Context(), "bash", "-c", line)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.pairs()...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	got := "0"
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		r.t.Fatal(err)
	}
	if got != want {
		r.t.Errorf("%s: %s\nexit status %s, want %s: %s", where, line, got, want, said.String())
	}
}

func (r *reader) pairs() (all []string) {
	for name, value := range r.env {
		all = append(all, name+"="+value)
	}
	return all
}

func (r *reader) stop() {
	if r.server == nil {
		return
	}
	if err := r.server.Stop(); err != nil {
		r.t.Error(err)
	}
	r.server = nil
}

// TestReadmeKeepsSecretsOffTheCommandLine: no block hands a token or a secret to a program as an argument.
func TestReadmeKeepsSecretsOffTheCommandLine(t *testing.T) {
	for _, b := range readmeBlocks(t) {
		for line := range strings.Lines(b.words) {
			if b.kind == "sh" && regexp.MustCompile(`--token [^@]|-H "Authorization|/etc/`).MatchString(line) {
				t.Errorf("README.md:%d: %s", b.line, line)
			}
		}
	}
}
