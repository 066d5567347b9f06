// Package child runs a room server as a process of its own, so that it can be killed like one: `hapax demo` and the
// tests of whole processes use it. It learns the server's addresses from the server's own log.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// readyWait bounds how long a server may take until it listens; replaying a large log takes seconds.
const readyWait = 2 * time.Minute

// lastLines is how many lines of a server's log are kept, to say why it ended.
const lastLines = 20

// Server is a running server process.
type Server struct {
	Listen string // host:port of the clients' address
	Admin  string // host:port of the admin address

	cmd    *exec.Cmd
	ended  chan struct{}
	err    error // of Wait; valid once ended is closed
	mu     sync.Mutex
	recent []string
}

// Start runs program with args, which must make it a server that logs JSON to standard error, and returns once it listens.
// env goes on top of this process's environment. Ending ctx kills it.
func Start(ctx context.Context, program string, args []string, env ...string) (*Server, error) {
	return StartIn(ctx, "", program, args, env...)
}

// StartIn is Start in a folder of its own: a configuration's relative paths begin there. "" is this process's.
func StartIn(ctx context.Context, dir, program string, args []string, env ...string) (*Server, error) {
	s := &Server{cmd: exec.CommandContext(ctx, program, args...), ended: make(chan struct{})}
	Tie(s.cmd)
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), env...)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go s.watch(log, ready)
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case <-ready:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("the server ended before it was ready: %w\n%s", errors.Join(s.err, ctx.Err()), s.Log())
	case <-timer.C:
		return nil, errors.Join(fmt.Errorf("the server isn't ready after %s\n%s", readyWait, s.Log()), s.Kill())
	}
}

// watch reads the log to its end, then reaps the process.
func (s *Server) watch(log io.Reader, ready chan<- struct{}) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if s.note(strings.TrimSuffix(line, "\n")) && ready != nil {
			close(ready)
			ready = nil
		}
		if err != nil {
			break
		}
	}
	s.err = s.cmd.Wait()
	close(s.ended)
}

// note keeps a line and reports whether it says that the server listens.
func (s *Server) note(line string) bool {
	if line == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent = append(s.recent, line); len(s.recent) > lastLines {
		s.recent = s.recent[1:]
	}
	var entry struct{ Msg, Address, Admin string }
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "listening" {
		return false
	}
	s.Listen, s.Admin = entry.Address, entry.Admin
	return true
}

// Log returns the last lines that the server wrote.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.recent, "\n")
}

// Kill is kill -9: no drain, no last write. It returns once the process is gone.
func (s *Server) Kill() error {
	err := s.cmd.Process.Kill()
	<-s.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Stop asks the server to drain and returns how it ended: nil after a clean drain.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.ended
	return s.err
}

// Ended is closed when the process is gone, for whatever reason.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Ports between these are given to nobody who asks for just any, as Linux does from 32768 and the standard from 49152.
const firstPort, lastPort = 10_000, 32_000

// FreePort returns a loopback address on which nobody listens at this moment, and which no connection of another process
// takes by chance while a server that had it is started again.
func FreePort() (string, error) {
	var failures error
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		failures = err
	}
	return "", failures
}
