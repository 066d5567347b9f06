package cases

import (
	"context"
	"errors"
	"flag"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// otherSDK is the command of a host: a program that runs clients of another SDK and obeys the lines that a client process of the
// Go SDK obeys, each with the client's name. With it the scenarios with a real server and clients run with those clients.
var otherSDK = flag.String("sdk", "", "`command` that hosts clients of another SDK")

// forOtherSDK reports whether a scenario says something of another SDK: one with a server (those of scripts it reads by itself)
// and clients, that needs no file of SQLite.
func (s *Scenario) forOtherSDK() bool {
	words := wordsOf(s.Steps)
	return s.World == "server" && slices.Contains(words, "sdk.open") &&
		!slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "store.") && w != "store.copy" })
}

func wordsOf(steps []Step) (words []string) {
	for _, s := range steps {
		words = append(append(words, s.Do), wordsOf(s.Steps)...)
	}
	return words
}

// host is a process with clients of another SDK, and their stores, which outlive the clients.
type host struct {
	mu sync.Mutex // a line is answered before the next
	p  *process
}

func startHost(ctx context.Context) (*host, error) {
	args := strings.Fields(*otherSDK)
	if len(args) == 0 {
		return nil, errors.New("no command of a host")
	}
	p, err := startCommand(exec.CommandContext(ctx, args[0], args[1:]...))
	return &host{p: p}, err
}

func (h *host) ask(c call) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return askLine(h.p, c)
}

func (h *host) copyStore(from, to string) error {
	_, err := h.ask(call{Do: "copy", Path: from, To: to})
	return err
}

func (h *host) end() error { return errors.Join(h.p.in.Close(), h.p.wait()) }

// hosted is one of a host's clients.
type hosted struct {
	h           *host
	name, store string
}

func (r *run) hosted(s *Step) (agent, error) {
	if r.host == nil {
		h, err := startHost(r.ctx)
		if err != nil {
			return nil, err
		}
		r.host = h
	}
	path, _ := r.stores.place(s.Store)
	return &hosted{r.host, s.Name, path}, nil
}

func (a *hosted) call(_ context.Context, c call) (any, error) {
	c.Client = a.name
	if c.Path == "" {
		c.Path = a.store
	}
	return a.h.ask(c)
}

// kill leaves the store as it is at this moment, and the client without it.
func (a *hosted) kill() error {
	_, err := a.call(context.Background(), call{Do: "kill"})
	return err
}

func (a *hosted) end() error { return nil } // with its host
