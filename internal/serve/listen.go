package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"hapax/internal/config"
	"hapax/internal/console"
	"hapax/internal/wire"
	"hapax/internal/wire/admin"
	"hapax/internal/wire/limit"
)

// listen opens the listeners and serves them.
func (s *server) listen() (a Addresses, err error) {
	a = Addresses{TLS: s.config.TLS.Cert != "", Dev: s.config.DevMode()}
	clients, err := s.listenClients()
	if err != nil {
		return a, err
	}
	a.Clients = clients.Addr().String()
	a.Console = a.consoleLink(s.link)
	if s.config.Admin.Listen != "" {
		l, err := s.listenAdmin()
		if err != nil {
			return a, err
		}
		a.Admin = l.Addr().String()
		guarded, err := s.guardAdmin(admin.Handler(&s.health, s.metrics, s.config.Admin.Pprof))
		if err != nil {
			return a, err
		}
		s.admin = s.newServer(guarded)
		// A profile is taken for longer than a client's request may last.
		s.admin.ReadTimeout, s.admin.WriteTimeout = 0, 0
		limit.Serve(s.admin)
		l = s.operators(adminConnections).Listener(l)
		if s.config.Admin.ClientCA != "" {
			if l, err = s.askForCertificates(l); err != nil {
				return a, err
			}
		}
		s.serve(s.admin, l)
	}
	if err := s.listenSocket(a); err != nil {
		return a, err
	}
	page, err := console.New(s.door)
	if err != nil {
		return a, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/ws", s.ws)
	mux.Handle("/", page)
	s.clients = s.newServer(wire.Exact(mux))
	limit.Serve(s.clients)
	s.serve(s.clients, clients)
	return a, nil
}

func (s *server) listenClients() (net.Listener, error) {
	l, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	l = s.admission.Gate.Listener(l)
	if s.config.TLS.Cert == "" {
		s.listeners = append(s.listeners, l)
		return l, nil
	}
	if s.certificate, err = openCertificate(s.config.TLS, s.log); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrConfig, err), l.Close())
	}
	s.metrics.Registry().MustRegister(s.certificate)
	l = tls.NewListener(l, s.tls())
	s.listeners = append(s.listeners, l)
	return l, nil
}

// tls is how connections are encrypted. WebSocket's upgrade is HTTP/1.1, so nothing else is offered.
func (s *server) tls() *tls.Config {
	return &tls.Config{GetCertificate: s.certificate.current, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
}

// guardAdmin keeps who isn't an operator from the admin address.
func (s *server) guardAdmin(h http.Handler) (http.Handler, error) {
	token, err := adminToken(s.config.Admin)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return admin.Guard(h, token, config.Loopback(s.config.Admin.Listen)), nil
}

// askForCertificates lets nobody in whose certificate isn't signed by one of admin.client_ca.
func (s *server) askForCertificates(l net.Listener) (net.Listener, error) {
	authorities, err := adminAuthorities(s.config.Admin)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c := s.tls()
	c.ClientCAs, c.ClientAuth = authorities, tls.RequireAndVerifyClientCert
	return tls.NewListener(l, c), nil
}

// listenAdmin takes a free port where the default one is in use, so that several servers run on one machine without
// being told; an address that somebody chose is kept to.
func (s *server) listenAdmin() (net.Listener, error) {
	l, err := net.Listen("tcp", s.config.Admin.Listen)
	if standard := config.Default().Admin.Listen; errors.Is(err, syscall.EADDRINUSE) && s.config.Admin.Listen == standard {
		s.log.Warn("the standard admin port is in use; taking a free one", "address", standard)
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: admin: %w", ErrConfig, err)
	}
	s.listeners = append(s.listeners, l)
	return l, nil
}

// listenSocket opens the socket by which `hapax backup` asks for a checkpoint, where the store can make one.
func (s *server) listenSocket(a Addresses) error {
	checkpoint, can := s.checkpoint()
	if !can {
		return nil
	}
	l, err := admin.ListenSocket(s.config.Data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err) // a path too long for a socket, most likely
	}
	s.listeners = append(s.listeners, l)
	page := ""
	if s.link != nil {
		page = a.consoleLink(nil)
	}
	s.socket = s.newServer(admin.SocketHandler(admin.Tasks{Checkpoint: checkpoint, AcceptLoss: s.acceptLoss(), Console: page}))
	s.socket.ReadTimeout, s.socket.WriteTimeout = 0, 0
	limit.Serve(s.socket)
	s.serve(s.socket, s.operators(socketConnections).Listener(l))
	return nil
}

// Operators' connections at once: a few scrapers and probes, and people who look. Where more come, those that idle make room, so that nobody
// who opens many keeps an operator out, or takes the descriptors that the store needs.
const (
	adminConnections  = 16
	socketConnections = 8
)

// operators bounds a listener for operators, in sum only.
func (s *server) operators(connections int) *limit.Gate {
	return limit.NewGate(limit.ConnLimits{Total: connections, PerAddress: connections, PerActor: connections, Idle: s.config.Timeouts.StrangerIdle},
		s.admission.Proxies, s.admission.Tell)
}

// newServer bounds what a client that sends or reads slowly can hold.
func (s *server) newServer(h http.Handler) *http.Server {
	t := s.config.Timeouts
	return &http.Server{
		Handler: wire.Traced(h, s.log, s.admission.Proxies), ReadHeaderTimeout: t.Header, ReadTimeout: t.Body, WriteTimeout: t.Body + t.Send + t.Write, IdleTimeout: t.Idle,
		MaxHeaderBytes: s.config.Limits.Header, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

func (s *server) serve(h *http.Server, l net.Listener) {
	go func() {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.broken <- err
		}
	}()
}

// removeSocket takes the socket's file away; the listener does so by itself where its path was absolute.
func (s *server) removeSocket() error {
	if s.socket == nil {
		return nil
	}
	err := os.Remove(filepath.Join(s.config.Data, admin.SocketName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
