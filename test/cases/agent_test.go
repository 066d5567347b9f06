package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"hapax/client/store/memory"
	"hapax/client/transport"
)

// agent is one client of the SDK, in this process or in one of its own.
type agent interface {
	call(ctx context.Context, c call) (any, error)
	// kill ends it as kill -9 does.
	kill() error
	end() error
}

// call is what an agent is asked. It crosses a process's border as a line of JSON; the pointers serve this process only.
type call struct {
	Do      string
	Room    string `json:",omitempty"`
	ID      string `json:",omitempty"`
	Text    string `json:",omitempty"`
	Data    json.RawMessage
	URL     string `json:",omitempty"`
	Token   string `json:",omitempty"`
	Actor   string `json:",omitempty"` // for whom a file is opened
	Path    string `json:",omitempty"` // of the store's file
	Session json.RawMessage
	Rand    *float64 `json:",omitempty"`
	Lease   uint64   `json:",omitempty"`
	Offline bool     `json:",omitempty"`
	Poll    int64    `json:",omitempty"` // ms
	N       int64    `json:",omitempty"`
	Wall    int64    `json:",omitempty"`
	Mono    int64    `json:",omitempty"`
	Method  string   `json:",omitempty"`
	After   bool     `json:",omitempty"`
	Client  string   `json:",omitempty"` // of a host, by name
	To      string   `json:",omitempty"` // of a host's copy of a store

	medium *memory.Medium
	dialer transport.Dialer
}

// answerLine is an agent process's answer.
type answerLine struct {
	Value any
	Error string // the kind of error
	Text  string
}

// sdkError is an error of the SDK by its kind, as another SDK would call it.
type sdkError struct{ kind, text string }

func (e *sdkError) Error() string { return e.kind + ": " + e.text }

// clientMain makes the test binary one client of the SDK, that obeys lines.
func clientMain() int {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	out := json.NewEncoder(os.Stdout)
	fmt.Fprintln(os.Stderr, `{"msg":"listening"}`)
	a := &sdk{}
	for lines.Scan() {
		var c call
		var l answerLine
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			l.Error, l.Text = "other", err.Error()
		} else if l.Value, err = a.call(context.Background(), c); err != nil {
			l.Error, l.Text = kindOf(err), err.Error()
		}
		if out.Encode(l) != nil {
			break
		}
	}
	if a.end() != nil {
		return 1
	}
	return 0
}

// remote is a client in a process of its own.
type remote struct{ p *process }

func startRemote(ctx context.Context) (*remote, error) {
	p, err := startProcess(ctx, asClient, nil)
	if err != nil {
		return nil, err
	}
	return &remote{p}, nil
}

func (r *remote) call(_ context.Context, c call) (any, error) {
	return askLine(r.p, c)
}

// askLine puts a call to a process that obeys lines.
func askLine(p *process, c call) (any, error) {
	raw, err := p.ask(c)
	if err != nil {
		return nil, err
	}
	var l answerLine
	if err := decode(raw, &l); err != nil {
		return nil, err
	}
	if l.Error != "" {
		return l.Value, &sdkError{l.Error, l.Text}
	}
	return l.Value, nil
}

func (r *remote) kill() error { return r.p.kill() }

func (r *remote) end() error {
	return errors.Join(r.p.in.Close(), r.p.wait())
}
