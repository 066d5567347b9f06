package wire

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
	"hapax/internal/telemetry"
	"hapax/protocol"
)

// Door is what every HTTP request passes: the routes, the bound on requests in work, the drain, the metrics, the token. One door stands
// before rooms and management, so that bound and errors are the same for both.
type Door struct {
	Auth    auth.Verifier
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Wait    time.Duration // for a token's key, a look-up or a page

	mux      *http.ServeMux
	slots    chan struct{}
	draining atomic.Int64 // ms over which clients are told to come back, once the server goes down
}

// NewDoor makes a door that has requests in work at once; each holds a goroutine and a body.
func NewDoor(requests int, a auth.Verifier, m *telemetry.Metrics, log *slog.Logger, wait time.Duration) *Door {
	return &Door{Auth: a, Metrics: m, Log: log, Wait: wait, mux: http.NewServeMux(), slots: make(chan struct{}, requests)}
}

// Drain answers every further request with draining and a time to come back, spread evenly over spreadMs.
func (d *Door) Drain(spreadMs int64) { d.draining.Store(max(1, spreadMs)) }

// Refuse answers with a problem and counts it.
func (d *Door) Refuse(w http.ResponseWriter, e protocol.Event) {
	d.Metrics.Refused(e.Code, "http")
	WriteProblem(w, e)
}

// Handle serves a route, a pattern of http.ServeMux, by which its requests are also counted.
func (d *Door) Handle(route string, h http.HandlerFunc) { d.mux.Handle(route, d.counted(route, h)) }

// Mount serves a route whose handler has bounds and a drain of its own.
func (d *Door) Mount(route string, h http.Handler) { d.mux.Handle(route, h) }

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, route := d.mux.Handler(r); route == "" {
		d.nowhere(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// nowhere answers what no route is for, in the form of all other errors.
func (d *Door) nowhere(w http.ResponseWriter, r *http.Request) {
	probe := &probe{header: make(http.Header)}
	d.mux.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		WriteStatus(w, http.StatusMethodNotAllowed, Error(protocol.BadRequest, "the method "+r.Method+" isn't allowed here", 0))
		return
	}
	d.Refuse(w, Error(protocol.NotFound, "there is nothing at this address", 0))
}

// probe takes what the mux says of a request that it has no route for.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
func (p *probe) WriteHeader(status int)      { p.status = status }

// counted bounds the requests in work and observes their time.
func (d *Door) counted(route string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, seen := time.Now(), &observed{ResponseWriter: w, status: http.StatusOK}
		defer func() { d.Metrics.Request(route, strconv.Itoa(seen.status), time.Since(started)) }()
		if spread := d.draining.Load(); spread > 0 {
			w.Header().Set("Connection", "close")
			d.Refuse(seen, Error(protocol.Draining, "the server is going down", RetryAfterMs/2+rand.Int64N(spread)))
			return
		}
		select {
		case d.slots <- struct{}{}:
			defer func() { <-d.slots }()
		default:
			d.Refuse(seen, Error(protocol.Unavailable, "as many requests are in work as may be", 0))
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

// Session returns the session of a request's one valid bearer token, nil where the request has been answered.
func (d *Door) Session(w http.ResponseWriter, r *http.Request) *auth.Session {
	token, fault := bearer(r.Header.Values("Authorization"))
	if fault != "" {
		d.Refuse(w, Error(protocol.SessionInvalid, fault, 0))
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.Wait)
	defer cancel()
	session, err := d.Auth.Verify(ctx, token)
	if err != nil {
		d.Log.Info("a token was refused", "error", err, "cause", errors.Unwrap(err))
		d.Refuse(w, Error(auth.CodeOf(err), err.Error(), 0))
		return nil
	}
	return session
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
