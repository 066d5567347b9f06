package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"hapax/internal/auth"
	"hapax/internal/config"
	"hapax/internal/engine"
	"hapax/internal/fanout"
	"hapax/internal/store"
	"hapax/internal/telemetry"
	"hapax/internal/wire"
	"hapax/internal/wire/admin"
	"hapax/internal/wire/limit"
	"hapax/internal/wire/ws"
)

// Errors by which a server ends.
var (
	ErrStoreFailed = errors.New("the store failed; start again to see what the disk kept")
	ErrKilled      = errors.New("a second signal: ended at once")
	ErrUnproved    = errors.New("the last proof of the gateway's log failed; look with \"hapax audit\"")
	// ErrConfig wraps what only the start shows to be wrong with the configuration: an address in use, a key that can't be read.
	ErrConfig = errors.New("the server can't start as configured")
)

// Host is what a server gets from the process around it.
type Host struct {
	Log     *slog.Logger
	Signals <-chan os.Signal // the first drains, the second ends at once
	Started func(Addresses)  // called once clients can connect
	// Reloads asks for the configuration to be loaded again by Reload, which also checks it. Nil: the server keeps what it was given.
	Reloads <-chan os.Signal
	Reload  func() (config.Config, error)
	// Store opens the store; nil: by the configuration. Tests give one that fails.
	Store func(config.Config, *slog.Logger) (store.Store, error)
	// Clock is what messages are dated by, retention counts by, and clients are told; nil: the machine's. Tokens and
	// timeouts go by the machine's always.
	Clock engine.Clock
}

// Addresses are where a server listens.
type Addresses struct {
	Clients string // host:port
	Admin   string // host:port, or "" where there is none
	TLS     bool
	Dev     bool
	Console string // URL of the page, in dev with the secret that opens it
}

// Server is one running server.
type server struct {
	config  config.Config
	host    Host
	log     *slog.Logger
	metrics *telemetry.Metrics
	health  admin.Health
	files   descriptors

	admission *limit.Admission

	store       store.Store
	bus         fanout.Bus
	engine      *engine.Engine
	auth        auth.Verifier
	link        *auth.Link   // of the console; nil outside dev
	certificate *certificate // nil without TLS
	ws          *ws.Server
	door        *wire.Door
	gateway     *gatewayHouse
	reloads     reloadFigures
	diskLow     atomic.Bool
	clients     *http.Server
	admin       *http.Server
	socket      *http.Server

	listeners []net.Listener
	broken    chan error // a listener that ended by itself
}

// Run starts a server and returns once it has ended: nil after a drain, ErrStoreFailed, ErrKilled, ErrUnproved, or why it could not start (see
// package store for the errors of a data folder). The configuration must be valid. Ending ctx drains like a signal.
func Run(ctx context.Context, c config.Config, host Host) error {
	s := &server{config: c, host: host, log: host.Log, metrics: telemetry.NewMetrics(), broken: make(chan error, 4)}
	s.health.Down("start", "starting")
	if err := s.open(ctx); err != nil {
		return errors.Join(err, s.closeParts(ctx))
	}
	addresses, err := s.listen()
	if err != nil {
		return errors.Join(err, s.closeListeners(), s.closeParts(ctx))
	}
	s.gateway.start() // and says that the log is being checked, before the server counts as ready
	s.health.Up("start")
	s.log.Info("listening", "address", addresses.Clients, "admin", addresses.Admin, "dev", addresses.Dev, "epoch", s.engine.Identity().Epoch)
	if host.Started != nil {
		host.Started(addresses)
	}
	return s.wait(ctx)
}

// wait serves until something ends it, and stops in order.
func (s *server) wait(ctx context.Context) error {
	reloading := newParts()
	defer reloading.cancel()
	if s.gateway != nil || s.certificate != nil {
		reloading.group.Go(func() { s.reloadAsAsked(reloading.ctx) })
	}
	var cause error
	select {
	case <-ctx.Done():
		s.log.Info("draining", "why", "the caller ends it")
	case sig := <-s.host.Signals:
		s.log.Info("draining", "why", sig.String())
	case cause = <-s.broken:
		s.log.Error("a listener ended", "error", cause)
	case <-s.engine.Failed():
		return s.failed()
	case <-s.gateway.failed():
		return s.failed()
	}
	reloading.cancel()
	reloading.group.Wait()
	done := make(chan error, 1)
	notice, over := context.WithTimeout(context.Background(), s.config.Drain.Notice)
	defer over()
	go func() { done <- s.stop(notice) }()
	select {
	case err := <-done:
		if s.gateway.unproved() {
			err = errors.Join(ErrUnproved, err)
		}
		return errors.Join(cause, err)
	case <-s.host.Signals:
		s.log.Warn("ended at once", "why", "a second signal")
		return ErrKilled
	case <-s.engine.Failed():
		return s.failed()
	case <-s.gateway.failed():
		return s.failed()
	}
}

// failed lets everybody hear unavailable for a moment, then ends without waiting for the store: it can't go on, and
// only a new opening tells what it kept.
func (s *server) failed() error {
	s.health.Down("store", "a commit failed; the process ends")
	s.log.Error("the store failed; the process ends", "grace", s.config.Drain.Grace.String())
	timer := time.NewTimer(s.config.Drain.Grace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.host.Signals:
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Drain.Grace)
	defer cancel()
	err := s.closeListeners()
	s.ws.Drain(ctx)
	return errors.Join(ErrStoreFailed, err, s.closeParts(ctx))
}

// Greeting tells people where to connect and how to get a token.
func Greeting(w io.Writer, a Addresses, data string) error {
	scheme, ws := "http", "ws"
	if a.TLS {
		scheme, ws = "https", "wss"
	}
	text := fmt.Sprintf("Hapax listens on %s://%s (WebSocket: %s://%s/v1/ws)\n", scheme, a.Clients, ws, a.Clients)
	text += fmt.Sprintf("  console: %s\n", a.Console)
	if a.Admin != "" {
		text += fmt.Sprintf("  state:   http://%s/readyz, /metrics\n", a.Admin)
	}
	if a.Dev {
		text += fmt.Sprintf("  a token: hapax token --data %s --actor NAME\n", data)
	}
	if _, err := io.WriteString(w, text+"  stop:    Ctrl-C (twice: at once)\n"); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	return nil
}
