package ws

import (
	"container/list"
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/telemetry"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// Limits bound what connections may cost. All are set; package config has their defaults and reasons.
type Limits struct {
	Connections          int // at once; each costs memory and a file descriptor
	ConnectionsPerSecond int // new ones; each costs a token's verification
	ConnectionsBurst     int
	Subscriptions        int           // rooms of one connection with live rows
	SendRooms            int           // rooms of one connection for sending only
	InFlight             int           // sends of one connection that wait for their answer
	Outbound             int           // bytes that wait for a slow reader
	Hello                time.Duration // until the first hello
	Idle                 time.Duration // without any frame
	Write                time.Duration // for one write
	Spread               time.Duration // over which clients are told to come back
}

// expiredGrace is how long rows go on after a token expired (docs/spec/protocol.md, Client to server).
const expiredGrace = 30 * time.Second

// Options are what a server is made of.
type Options struct {
	Rooms       engine.Rooms
	Auth        auth.Verifier
	Metrics     *telemetry.Metrics
	Log         *slog.Logger
	Clock       engine.Clock // the server's time, as clients are told it
	Protocol    protocol.Limits
	Features    []string // announced; an older server has none
	RetentionMs int64
	Limits      Limits
	Admission   *limit.Admission // shared with the other listeners and transports
	Origins     []string         // whose pages may connect, besides the server's own
	Dev         bool             // loopback pages may connect too, and pages only by a loopback name
}

// Server holds the connections.
type Server struct {
	Options
	accept *rate.Limiter
	// Tell of connections that were ended, of those that never began, and of tokens that were refused.
	cuts, turned, refused *limit.Teller

	mu       sync.Mutex
	conns    map[*conn]struct{}
	fresh    list.List // of *conn: nobody has said hello yet, the oldest in front
	draining bool
	empty    chan struct{} // where somebody waits for it: closed once no connection is left
}

// now is the server's time, in Unix ms. It is the engine's, which dates messages, so that a client's reckoning of it holds.
func (s *Server) now() int64 {
	wall, _ := s.Clock.Now()
	return wall
}

// New returns a server without connections.
func New(o Options) *Server {
	return &Server{
		Options: o, conns: make(map[*conn]struct{}), cuts: limit.NewTeller(o.Log, o.Metrics.Cut), turned: limit.NewTeller(o.Log, o.Metrics.TurnedAway),
		refused: limit.NewTeller(o.Log, nil),
		accept:  rate.NewLimiter(rate.Limit(o.Limits.ConnectionsPerSecond), o.Limits.ConnectionsBurst),
	}
}

// serve takes over an upgraded connection and returns at once. early are bytes that the client sent behind its handshake.
// turnedAway tells the client to come back later, and closes.
func (s *Server) serve(nc net.Conn, client limit.Client, place *limit.Conn, early []byte, turnedAway bool) {
	c := newConn(s, nc, client, place, early)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	c.fresh = s.fresh.PushBack(c)
	draining := s.draining
	s.mu.Unlock()
	s.Metrics.Connected(1)
	switch {
	case draining:
		c.drain(s.spread())
	case turnedAway:
		c.turnAway(s.spread())
	}
	go c.run()
}

func (s *Server) left(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if c.fresh != nil {
		s.fresh.Remove(c.fresh)
	}
	s.Metrics.Connected(-1)
	if len(s.conns) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// gone is closed once no connection is left.
func (s *Server) gone() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty := s.empty
	if len(s.conns) == 0 {
		close(s.empty)
		s.empty = nil
	}
	return empty
}

// killAfter is what connections get to say goodbye once the time for a drain is over.
const killAfter = time.Second

// Drain tells every client when to come back, spread over time, and closes each connection once its sends are answered; all that are
// left when ctx ends are closed then. New connections are turned away. It returns when none is left.
func (s *Server) Drain(ctx context.Context) {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	for _, c := range s.open() {
		c.drain(s.spread())
	}
	select {
	case <-s.gone():
		return
	case <-ctx.Done():
	}
	for _, c := range s.open() {
		c.abort()
	}
	last := time.NewTimer(killAfter)
	defer last.Stop()
	select {
	case <-s.gone():
		return
	case <-last.C:
	}
	for _, c := range s.open() {
		c.fail()
	}
	<-s.gone()
}

// Count is the number of open connections.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	return open
}
