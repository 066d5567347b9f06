package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// idle measures what this process, the server, grows by with many connections that say nothing: each said hello and
// subscribed to a room. The clients live in a second process, so that only the server's half is counted.
func idle(ctx context.Context, s *Target, connections int, clients *exec.Cmd) (bytesEach float64, err error) {
	token, err := s.Token("idle")
	if err != nil {
		return 0, err
	}
	before, err := residentBytes()
	if err != nil {
		return 0, err
	}
	in, err := clients.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := clients.StdoutPipe()
	if err != nil {
		return 0, err
	}
	clients.Stderr = os.Stderr
	if err := clients.Start(); err != nil {
		return 0, fmt.Errorf("the clients' process: %w", err)
	}
	// However this ends, the clients end by the close of their standard input.
	defer func() { err = errors.Join(err, in.Close(), clients.Wait()) }()
	if _, err := fmt.Fprintf(in, "%s\n%s\n%d\n", s.URL, token, connections); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != idleReady {
		return 0, fmt.Errorf("the clients' process said %q: %w", line, err)
	}
	after, err := residentBytes()
	if err != nil {
		return 0, err
	}
	return float64(after-before) / float64(connections), nil
}

const idleReady = "ready\n"

// IdleClients is the second process of the idle measurement: it reads an address, a token and a number, opens as many connections,
// says ready, and keeps them until its input ends.
func IdleClients(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	var words [3]string
	for i := range words {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading what to connect to: %w", err)
		}
		words[i] = strings.TrimSpace(line)
	}
	n, err := strconv.Atoi(words[2])
	if err != nil {
		return fmt.Errorf("how many connections: %w", err)
	}
	clients := make([]*client, n)
	opening, ctx := errgroup.WithContext(ctx)
	opening.SetLimit(32)
	for i := range clients {
		opening.Go(func() (err error) {
			if clients[i], err = dial(ctx, words[0], words[1], 1024); err != nil {
				return err
			}
			return clients[i].subscribe(fmt.Sprintf("idle-%d", i%1000))
		})
	}
	if err := opening.Wait(); err != nil {
		return err
	}
	if _, err := io.WriteString(out, idleReady); err != nil {
		return err
	}
	// The end of the input is the sign to go.
	_, err = io.Copy(io.Discard, lines)
	for _, c := range clients {
		err = errors.Join(err, c.conn.Close())
	}
	return err
}

// residentBytes is the memory that the system holds for this process, after garbage has been given back.
func residentBytes() (int64, error) {
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("resident memory can be read on Linux only: %w", err)
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm reads %q", statm)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
