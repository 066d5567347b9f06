package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store/sqlite"
	"hapax/internal/auth"
	"hapax/internal/badnet"
	"hapax/internal/child"
)

// Options of a demo.
type Options struct {
	Program  string        // the hapax program, to run a server with
	Dir      string        // an empty folder for the stores
	Messages int           // of each client
	Seed     uint64        // of the network
	Network  badnet.Faults // what it does
	Downtime time.Duration // between kill -9 and the next start
	Show     func(State)   // called every now and then while it runs; nil: never
}

const (
	roomName = "demo"
	showTime = 200 * time.Millisecond
	// tokenLife covers the slowest run.
	tokenLife = time.Hour
	// sendPause keeps the sending visible: about 50 messages a second and client.
	sendPause = 20 * time.Millisecond
)

var names = []string{"ann", "ben", "eve"}

// State is what the live view shows.
type State struct {
	Server  string // what the server is doing now
	Kills   int
	Network badnet.Counts
	Clients []ClientState
	Elapsed time.Duration
}

// ClientState is one client's part of it.
type ClientState struct {
	Name                          string
	Sent, Confirmed, Queued, Seen int
	Connection                    session.State
}

// theatre is one run.
type theatre struct {
	o       Options
	began   time.Time
	listen  string
	server  atomic.Pointer[child.Server]
	word    atomic.Value // what the server is doing now, for the view
	kills   atomic.Int64
	repeats int64 // recognised by server processes that are gone
	network *badnet.Proxy
	actors  []*actor
}

// Run plays the whole piece and returns the proof. An error means that the demo itself couldn't go on.
func Run(ctx context.Context, o Options) (proof *Proof, err error) {
	t := &theatre{o: o, began: time.Now()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	play, playing := errgroup.WithContext(ctx)
	show := make(chan struct{})
	go t.view(show)
	for _, a := range t.actors {
		play.Go(func() error { return a.send(playing, o.Messages) })
	}
	play.Go(func() error { return t.disaster(playing, ctx) })
	err = play.Wait()
	for _, a := range t.actors {
		if err == nil {
			err = a.settle(ctx, int64(len(names)*o.Messages))
		}
	}
	close(show)
	if err != nil {
		return nil, fmt.Errorf("%w (the server is %s)", err, t.word.Load())
	}
	return t.prove(ctx)
}

// open starts server, network and clients.
func (t *theatre) open(ctx context.Context) (err error) {
	if t.listen, err = child.FreePort(); err != nil {
		return err
	}
	if err := t.start(ctx); err != nil {
		return err
	}
	if t.network, err = badnet.Listen(t.listen, t.o.Network, t.o.Seed); err != nil {
		return err
	}
	key, err := auth.OpenLocalKey(t.data())
	if err != nil {
		return err
	}
	for _, name := range names {
		token, err := key.Sign(name, []auth.Grant{auth.All}, tokenLife, time.Now())
		if err != nil {
			return err
		}
		a, err := newActor(ctx, name, filepath.Join(t.o.Dir, name+".db"), t.network.Addr(), token)
		if err != nil {
			return err
		}
		t.actors = append(t.actors, a)
	}
	return nil
}

func (t *theatre) data() string { return filepath.Join(t.o.Dir, "server") }

// start runs the server on the address that the network carries to.
func (t *theatre) start(ctx context.Context) error {
	t.word.Store("starting")
	s, err := child.Start(ctx, t.o.Program, []string{"serve", "--dev", "--data", t.data(), "--listen", t.listen, "--admin-listen", "127.0.0.1:0"})
	if err != nil {
		return err
	}
	t.server.Store(s)
	t.word.Store("up")
	return nil
}

// disaster kills the server when half of the messages have been confirmed, and starts it again, to live on after the
// play has ended.
func (t *theatre) disaster(ctx, whole context.Context) error {
	half := len(names) * t.o.Messages / 2
	for confirmed := 0; confirmed < half; {
		select {
		case <-time.After(showTime / 4):
		case <-ctx.Done():
			return ctx.Err()
		}
		confirmed = 0
		for _, a := range t.actors {
			confirmed += int(a.confirmed.Load())
		}
	}
	repeats, err := t.repeatsNow(ctx)
	if err != nil {
		return err
	}
	t.repeats += repeats
	if err := t.server.Load().Kill(); err != nil {
		return err
	}
	t.kills.Add(1)
	t.word.Store("killed (kill -9)")
	select {
	case <-time.After(t.o.Downtime):
	case <-ctx.Done():
		return ctx.Err()
	}
	return t.start(whole)
}

// close ends what is still open, in the order that loses nothing.
func (t *theatre) close() error {
	var errs []error
	for _, a := range t.actors {
		errs = append(errs, a.c.Close())
	}
	if t.network != nil {
		errs = append(errs, t.network.Close())
	}
	if s := t.server.Load(); s != nil {
		errs = append(errs, s.Kill())
	}
	return errors.Join(errs...)
}

func (t *theatre) view(end <-chan struct{}) {
	if t.o.Show == nil {
		return
	}
	tick := time.NewTicker(showTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.o.Show(t.state())
		case <-end:
			return
		}
	}
}

func (t *theatre) state() State {
	s := State{Server: t.word.Load().(string), Kills: int(t.kills.Load()), Network: t.network.Counts(), Elapsed: time.Since(t.began)}
	for _, a := range t.actors {
		s.Clients = append(s.Clients, a.state())
	}
	return s
}

// repeatsNow asks the running server how many repeats it has recognised.
func (t *theatre) repeatsNow(ctx context.Context) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.server.Load().Admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	return duplicates(string(text))
}

// options of a client of the demo: the SDK's own but for shorter delays.
func options(url, token string) client.Options {
	return client.Options{
		URL: url, Name: "hapax demo",
		Token:   func(context.Context) (string, error) { return token, nil },
		Session: session.Config{Base: 100, RowCap: 1000, ConnCap: 500, MaxAttempts: 1000, AnswerWithin: 1000},
	}
}

func openStore(ctx context.Context, path string) (*sqlite.Store, error) {
	if _, err := os.Stat(path); err == nil {
		return nil, fmt.Errorf("%s is there already", path)
	}
	return sqlite.Open(ctx, path, sqlite.Options{})
}
