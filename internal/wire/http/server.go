package http

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/telemetry"
	"hapax/internal/wire"
	"hapax/protocol"
)

// Options are what a server is made of.
type Options struct {
	Rooms    engine.Rooms
	Auth     auth.Verifier
	Metrics  *telemetry.Metrics
	Log      *slog.Logger
	Protocol protocol.Limits
	SendWait time.Duration // who waits longer for a commit gets in_progress
	ReadWait time.Duration // for a look-up or a page
	Requests int           // in work at once; each holds a goroutine and a body
	OpenAPI  []byte        // served as it is
	// DevSession signs in by a name; nil outside dev, and then there is no such route.
	DevSession DevSession
	Figures    func(context.Context) (Figures, error)
}

// Server answers requests.
type Server struct {
	Options
	mux      *http.ServeMux
	slots    chan struct{}
	draining atomic.Int64 // ms over which clients are told to come back, once the server goes down
}

// The routes, by which requests are also counted. A room's name is one path segment, escaped.
const (
	routeSend    = "POST /v1/rooms/{room}/messages"
	routeRead    = "GET /v1/rooms/{room}/messages"
	routeByKey   = "GET /v1/rooms/{room}/messages/by-key/{clientMessageId}"
	routeRooms   = "GET /v1/rooms"
	routeOpenAPI = "GET /v1/openapi.yaml"
	routeSignIn  = "GET /v1/sign-in"
	routeDev     = "POST /v1/dev/session"
	routeFigures = "GET /v1/server/figures"
)

// handler answers a request of a session.
type handler func(w http.ResponseWriter, r *http.Request, s *auth.Session)

// New returns a server.
func New(o Options) *Server {
	s := &Server{Options: o, mux: http.NewServeMux(), slots: make(chan struct{}, o.Requests)}
	for route, h := range map[string]handler{routeSend: s.send, routeRead: s.read, routeByKey: s.byKey, routeRooms: s.rooms, routeFigures: s.figures} {
		s.mux.Handle(route, s.counted(route, s.signedIn(h)))
	}
	s.mux.Handle(routeOpenAPI, s.counted(routeOpenAPI, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		// A client that has gone reads nothing.
		_, _ = w.Write(s.OpenAPI)
	}))
	s.mux.Handle(routeSignIn, s.counted(routeSignIn, s.signIn))
	if s.DevSession != nil {
		s.mux.Handle(routeDev, s.counted(routeDev, s.devSession))
	}
	return s
}

// Drain answers every further request with draining and a time to come back, spread evenly over spreadMs.
func (s *Server) Drain(spreadMs int64) { s.draining.Store(max(1, spreadMs)) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, route := s.mux.Handler(r); route == "" {
		s.nowhere(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// nowhere answers what no route is for, in the form of all other errors.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	probe := &probe{header: make(http.Header)}
	s.mux.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		e := wire.Error(protocol.BadRequest, "the method "+r.Method+" isn't allowed here", 0)
		body, _ := protocol.AppendProblem(nil, &e)
		wire.WriteStatus(w, http.StatusMethodNotAllowed, e, body)
		return
	}
	s.refuse(w, wire.Error(protocol.NotFound, "there is nothing at this address", 0))
}

// probe takes what the mux says of a request that it has no route for.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
func (p *probe) WriteHeader(status int)      { p.status = status }

func (s *Server) refuse(w http.ResponseWriter, e protocol.Event) {
	s.Metrics.Refused(e.Code, "http")
	wire.WriteProblem(w, e)
}

// counted bounds the requests in work and observes their time.
func (s *Server) counted(route string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, seen := time.Now(), &observed{ResponseWriter: w, status: http.StatusOK}
		defer func() { s.Metrics.Request(route, strconv.Itoa(seen.status), time.Since(started)) }()
		if spread := s.draining.Load(); spread > 0 {
			w.Header().Set("Connection", "close")
			s.refuse(seen, wire.Error(protocol.Draining, "the server is going down", wire.RetryAfterMs/2+rand.Int64N(spread)))
			return
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			s.refuse(seen, wire.Error(protocol.Unavailable, "as many requests are in work as may be", 0))
			return
		}
		h(seen, r)
	})
}

// observed remembers the status for the metrics.
type observed struct {
	http.ResponseWriter
	status int
}

func (o *observed) WriteHeader(status int) {
	o.status = status
	o.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// signedIn lets through requests with one valid bearer token.
func (s *Server) signedIn(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, fault := bearer(r.Header.Values("Authorization"))
		if fault != "" {
			s.refuse(w, wire.Error(protocol.SessionInvalid, fault, 0))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.ReadWait)
		session, err := s.Auth.Verify(ctx, token)
		cancel()
		if err != nil {
			s.Log.Info("a token was refused", "error", err, "cause", errors.Unwrap(err))
			s.refuse(w, wire.Error(auth.CodeOf(err), err.Error(), 0))
			return
		}
		h(w, r, session)
	}
}

func bearer(values []string) (token, fault string) {
	if len(values) == 0 {
		return "", "an Authorization header with a bearer token is needed"
	}
	if len(values) > 1 {
		return "", "several Authorization headers"
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", "the Authorization header is no bearer token"
	}
	return token, ""
}

// roomOf returns the room that the path names; "" means that the request has been answered.
func (s *Server) roomOf(w http.ResponseWriter, r *http.Request) string {
	name := r.PathValue("room")
	if !protocol.ValidRoom(name) {
		s.refuse(w, wire.Error(protocol.BadRequest, "a room is named by 1 to 128 bytes of UTF-8 without control characters, escaped as one path segment", 0))
		return ""
	}
	return name
}

func (s *Server) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone reads nothing; it asks again with the same key.
	_, _ = w.Write(body)
}
