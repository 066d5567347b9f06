package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hapax/internal/child"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"hapax": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command line as a shell would. Scripts have two words of their own: `server DIR [FLAG…]` runs a server
// on a data folder and sets URL to its address, always the same within a script; `kill9` kills it, `signal` drains it; `token DIR ACTOR`
// sets TOKEN; `status N COMMAND…` expects an exit status; `deliver TENANT SOURCE BODY` posts an event; `until REGEXP COMMAND…` repeats a
// command until what it prints matches.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server":  startScriptServer,
			"kill9":   killScriptServer,
			"signal":  stopScriptServer,
			"token":   makeToken,
			"status":  expectStatus,
			"deliver": deliver,
			"until":   untilStdout,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("ESC", "\x1b[2Jred\u202e")
			// As "seq 1 10001" and one more than that.
			var many strings.Builder
			for i := range 10_002 {
				fmt.Fprintln(&many, i+1)
			}
			for name, text := range map[string]string{"more": many.String(), "many": strings.TrimSuffix(many.String(), "10002\n")} {
				if err := os.WriteFile(filepath.Join(e.WorkDir, name), []byte(text), 0o600); err != nil {
					return err
				}
			}
			// A line that is no UTF-8, between two that are.
			return os.WriteFile(filepath.Join(e.WorkDir, "mixed"), []byte("before\n\xff\nafter\n"), 0o600)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

const addressKey = "URL"

func startScriptServer(ts *testscript.TestScript, _ bool, args []string) {
	program, err := lookPath(ts.Getenv("PATH"), "hapax")
	ts.Check(err)
	listen := strings.TrimPrefix(ts.Getenv(addressKey), "ws://")
	if listen == "" {
		listen, err = child.FreePort()
		ts.Check(err)
	}
	words := append([]string{"serve", "--dev", "--data", ts.MkAbs(args[0]), "--listen", listen, "--admin-listen", "127.0.0.1:0"}, args[1:]...)
	s, err := child.StartIn(context.Background(), ts.MkAbs("."), program, words)
	ts.Check(err)
	ts.Setenv(addressKey, "ws://"+listen)
	running.Store(ts, s)
	ts.Defer(func() { ts.Check(s.Kill()) })
}

// running are the scripts' servers. Scripts run side by side.
var running sync.Map // *testscript.TestScript → *child.Server

func server(ts *testscript.TestScript) *child.Server {
	s, there := running.Load(ts)
	if !there {
		ts.Fatalf("no server runs")
	}
	return s.(*child.Server)
}

func killScriptServer(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(server(ts).Kill()) }

// stopScriptServer drains the server by SIGTERM and expects it to end well.
func stopScriptServer(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(server(ts).Stop()) }

func lookPath(path, program string) (string, error) {
	for _, dir := range strings.Split(path, string(os.PathListSeparator)) {
		if file, err := exec.LookPath(dir + string(os.PathSeparator) + program); err == nil {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}

func makeToken(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("hapax", "token", "--data", ts.MkAbs(args[0]), "--actor", args[1]))
	ts.Setenv("TOKEN", strings.TrimSpace(ts.ReadFile("stdout")))
}

func deliver(ts *testscript.TestScript, _ bool, args []string) {
	address := "http://" + strings.TrimPrefix(ts.Getenv(addressKey), "ws://") + "/v1/ingest/" + args[0] + "/" + args[1]
	for end := time.Now().Add(20 * time.Second); ; {
		resp, err := http.Post(address, "application/json", strings.NewReader(args[2]))
		ts.Check(err)
		body, err := io.ReadAll(resp.Body)
		ts.Check(errors.Join(err, resp.Body.Close()))
		switch {
		case resp.StatusCode/100 == 2:
			return
		case resp.StatusCode != http.StatusServiceUnavailable || time.Now().After(end): // 503: the log is still being checked
			ts.Fatalf("%s: %s", resp.Status, body)
		}
	}
}

func untilStdout(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	for end := time.Now().Add(20 * time.Second); ; {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); want.MatchString(out) {
			return
		} else if time.Now().After(end) {
			ts.Fatalf("never %s: %s, %v", args[0], out, err)
		}
	}
}

func expectStatus(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
