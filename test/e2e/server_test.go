package e2e_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/sqlite"
	"hapax/internal/auth"
	"hapax/internal/badnet"
	"hapax/internal/config"
	"hapax/internal/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; it is never waited out where all is well.
const patience = 5 * time.Minute

// house is a running server, and the network in front of it.
type house struct {
	t       testing.TB
	config  config.Config
	key     *auth.LocalKey
	addr    string
	signals chan os.Signal
	ended   chan error
	net     *badnet.Proxy
}

func newHouse(t testing.TB) *house {
	t.Helper()
	c := config.Default()
	c.Data, c.Listen, c.Admin.Listen = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", ""
	c.Drain = config.Drain{Spread: time.Second, Wait: 5 * time.Second, Grace: 100 * time.Millisecond}
	h := &house{t: t, config: c}
	h.start()
	t.Cleanup(h.stop)
	var err error
	if h.key, err = auth.OpenLocalKey(c.Data); err != nil {
		t.Fatal(err)
	}
	if h.net, err = badnet.Listen(h.addr, badnet.Faults{}, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.net.Close() })
	return h
}

func (h *house) start() {
	h.t.Helper()
	h.signals, h.ended = make(chan os.Signal, 2), make(chan error, 1)
	started := make(chan serve.Addresses, 1)
	host := serve.Host{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Signals: h.signals,
		Started: func(a serve.Addresses) { started <- a },
	}
	go func() { h.ended <- serve.Run(context.Background(), h.config, host) }()
	select {
	case a := <-started:
		h.addr = a.Clients
		h.config.Listen = a.Clients // the next start is found where this one was
	case err := <-h.ended:
		h.t.Fatalf("the server didn't start: %v", err)
	}
}

func (h *house) stop() {
	h.t.Helper()
	if h.ended == nil {
		return
	}
	h.signals <- syscall.SIGTERM
	if err := <-h.ended; err != nil {
		h.t.Errorf("the server ended with %v", err)
	}
	h.ended = nil
}

// open opens a client of an actor on a store file, through the bad network.
func (h *house) open(actor, file string) *client.Client {
	h.t.Helper()
	// Short delays, as this is about what is lost, not about how long it takes.
	return h.openWith(actor, file, session.Config{
		Base: 50, RowCap: 400, ConnCap: 400, MaxAttempts: 1000, AnswerWithin: 500,
	})
}

func (h *house) openWith(actor, file string, bounds session.Config) *client.Client {
	h.t.Helper()
	st, err := sqlite.Open(h.t.Context(), file, sqlite.Options{Claimant: store.Claimant{Actor: actor}})
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := client.Open(h.t.Context(), client.Options{
		URL: "ws://" + h.net.Addr() + "/v1/ws", Store: st, Name: "e2e",
		Token: func(context.Context) (string, error) {
			return h.key.Sign(actor, []auth.Grant{{Room: "*", Rights: "rw"}}, time.Hour, time.Now())
		},
		Session: bounds,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (h *house) file(name string) string { return filepath.Join(h.t.TempDir(), name) }
