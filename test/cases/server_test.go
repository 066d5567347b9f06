package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hapax/internal/auth"
	"hapax/internal/child"
)

// house is a server process with its data folder and address, which outlive it.
type house struct {
	dir     string // of this scenario
	data    string
	listen  string
	flags   []string
	first   order // what the clock shows now, for the next start
	key     *auth.LocalKey
	gateway bool // one is configured

	process *process
}

// newHouse prepares a server; config holds its configuration by name, and two names of the test's own: purge_every, and seqs, how
// old its rooms are.
func newHouse(dir string, config map[string]any) (*house, error) {
	listen, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	h := &house{dir: dir, data: filepath.Join(dir, "data"), listen: listen}
	h.flags = []string{"--listen", listen, "--admin-listen", "127.0.0.1:0", "--drain-grace", "100ms", "--drain-spread", "1s"}
	for name, value := range config {
		switch name {
		case "seqs":
			n, ok := integer(value)
			if !ok {
				return nil, fmt.Errorf("seqs is %v", value)
			}
			h.first.Seqs = n.Int64()
		default:
			h.flags = append(h.flags, "--"+strings.NewReplacer(".", "-", "_", "-").Replace(name), fmt.Sprint(value))
		}
	}
	return h, nil
}

func (h *house) start(ctx context.Context) error {
	if h.process != nil {
		return errors.New("the server runs")
	}
	first, err := json.Marshal(h.first)
	if err != nil {
		return err
	}
	args := append([]string{"--data", h.data, "--first", string(first)}, h.flags...)
	if h.process, err = startProcess(ctx, asServer, args); err != nil {
		return err
	}
	if h.key, err = auth.OpenLocalKey(h.data); err != nil || !h.gateway {
		return err
	}
	return h.proved(ctx)
}

// proved waits until the log's check at the start has let deliveries in.
func (h *house) proved(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the server is never ready"))
	defer cancel()
	for {
		got, err := (&request{method: http.MethodGet, url: "http://" + h.process.admin + "/readyz"}).do(ctx)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if fmt.Sprint(got["status"]) == "200" {
			return nil
		}
	}
}

// end ends the process: "kill" as kill -9, "stop" by a drain, "power" without what no sync covered, "failed" waits until it ends
// by itself.
func (h *house) end(how string) error {
	p := h.process
	if p == nil {
		return errors.New("no server runs")
	}
	h.process = nil
	switch how {
	case "kill":
		return p.kill()
	case "power":
		_, err := p.ask(order{Do: "power_cut"})
		if err == nil {
			return errors.New("the power stayed")
		}
		return p.wait()
	case "failed":
		return p.wait()
	case "stop":
		return p.stop()
	}
	return fmt.Errorf("a server ends by kill, stop, power or failed, not %q", how)
}

// order gives the server an order. Where it moves the clock, the next start keeps that.
func (h *house) order(o order) (reply, error) {
	moves := o.Do == "clock" || o.Do == "stand"
	if moves {
		h.first.Wall += o.Wall
		h.first.Mono += o.Mono
		if o.Stand != 0 {
			h.first.Stand, h.first.Wall = o.Stand, o.Wall
		}
	}
	if h.process == nil {
		if moves {
			return reply{}, nil
		}
		return reply{}, errors.New("no server runs")
	}
	var r reply
	raw, err := h.process.ask(o)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	return r, err
}

func (h *house) token(actor string, rooms map[string]string) (string, error) {
	grants := []auth.Grant{auth.All}
	if rooms != nil {
		grants = nil
	}
	for room, rights := range rooms {
		g, err := auth.ParseGrant(room + "=" + rights)
		if err != nil {
			return "", err
		}
		grants = append(grants, g)
	}
	return h.key.SignClaims(auth.Claims{Actor: actor, Rooms: grants}, time.Hour, time.Now())
}

// operator is a token for all of the gateway.
func (h *house) operator() (string, error) {
	return h.key.SignClaims(auth.Everything("operator"), time.Hour, time.Now())
}

// process is this test binary, run as another program that answers a line by a line.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	admin  string
	ended  chan struct{}
	err    error
	mu     sync.Mutex
	recent []string
}

func startProcess(ctx context.Context, as string, args []string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), as+"=1")
	return startCommand(cmd)
}

// startCommand starts a program that says "listening" in its log once it answers lines.
func startCommand(cmd *exec.Cmd) (p *process, err error) {
	p = &process{cmd: cmd, ended: make(chan struct{})}
	child.Tie(cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go p.watch(log, ready)
	select {
	case <-ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("the process ended before it was ready: %w\n%s", p.err, p.log())
	}
}

// watch reads the log, whose line "listening" says that the process is ready.
func (p *process) watch(log io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		const most = 30
		p.mu.Lock()
		if p.recent = append(p.recent, lines.Text()); len(p.recent) > most {
			p.recent = p.recent[1:]
		}
		p.mu.Unlock()
		var entry struct{ Msg, Admin string }
		if ready != nil && json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
			p.admin = entry.Admin
			close(ready)
			ready = nil
		}
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.recent, "\n")
}

// ask writes a line and reads the answer.
func (p *process) ask(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	answer, err := p.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("no answer: %w\n%s", err, p.log())
	}
	return answer, nil
}

func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// wait waits until the process ends by itself.
func (p *process) wait() error {
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(errors.New("the process doesn't end"), p.kill())
	}
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := p.wait(); err != nil {
		return err
	}
	if p.err != nil {
		return fmt.Errorf("it ended with %w\n%s", p.err, p.log())
	}
	return nil
}
