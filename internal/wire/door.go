package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hapax/internal/auth"
	"hapax/internal/telemetry"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// Door is what every HTTP request passes: the routes, the bound on requests in work, the drain, the metrics, the token. One door stands
// before rooms and management, so that bound and errors are the same for both.
//
// A request takes what it costs step by step: a place among the strangers of its address, until its token is good; memory for its body, by
// what arrives; a slot while it is worked on; memory for its answer while that is written.
type Door struct {
	Auth    auth.Verifier
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Wait    time.Duration // for a token's key, a look-up or a page
	Limits  *limit.Admission

	mux      *http.ServeMux
	refused  *limit.Teller // of tokens
	draining atomic.Int64  // ms over which clients are told to come back, once the server goes down
}

// NewDoor makes a door whose requests are bounded by l.
func NewDoor(l *limit.Admission, a auth.Verifier, m *telemetry.Metrics, log *slog.Logger, wait time.Duration) *Door {
	return &Door{Auth: a, Metrics: m, Log: log, Wait: wait, Limits: l, mux: http.NewServeMux(), refused: limit.NewTeller(log, nil)}
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

// Exact keeps paths away from h that the standard library would clean by a redirect, which leads to another resource: with dot segments or
// empty ones. A name with dots or slashes is escaped.
func Exact(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.EscapedPath(); r.Method != http.MethodConnect && p != "*" && path.Clean("/"+p) != strings.TrimSuffix(p, "/") && p != "/" {
			WriteProblem(w, Error(protocol.BadRequest, "the path has an empty segment, or one of dots alone", 0))
			return
		}
		h.ServeHTTP(w, r)
	})
}

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

// counted bounds the requests of strangers, and observes the time of all.
func (d *Door) counted(route string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started, seen := time.Now(), &observed{ResponseWriter: w, status: http.StatusOK}
		defer func() { d.Metrics.Request(route, strconv.Itoa(seen.status), time.Since(started)) }()
		if spread := d.draining.Load(); spread > 0 {
			w.Header().Set("Connection", "close")
			d.Refuse(seen, Error(protocol.Draining, "the server is going down", RetryAfterMs/2+rand.Int64N(spread)))
			return
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			d.Refuse(seen, Error(protocol.BadRequest, "the query isn't well-formed", 0)) // half of it would be passed over
			return
		}
		client := d.Limits.Proxies.Of(r)
		if d.Limits.Strangers.Take(limit.ByClient(client)) != "" {
			d.Limits.Tell.Tell("address_requests", "a request was refused", client)
			d.Refuse(seen, Error(protocol.RateLimited, "this address has as many requests under way as it may without a valid token", 0))
			return
		}
		seen.known = sync.OnceFunc(func() { d.Limits.Strangers.Give(limit.ByClient(client)) })
		defer seen.known()
		h(seen, r)
	})
}

// observed remembers the status for the metrics.
type observed struct {
	http.ResponseWriter
	status int
	known  func() // to be called once it is known who asks
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
		d.refused.Tell("token", "a token was refused", d.Limits.Proxies.Of(r), "route", r.Pattern, "request", RequestID(r.Context()), "error", err, "cause", errors.Unwrap(err))
		d.Refuse(w, Error(auth.CodeOf(err), err.Error(), 0))
		return nil
	}
	if !limit.ConnOf(r).SignedIn(session.Actor, d.Limits.Proxies.Proxied(r)) {
		d.Limits.Tell.Tell(limit.ReasonActor, "a request was refused", d.Limits.Proxies.Of(r))
		w.Header().Set("Connection", "close")
		d.Refuse(w, Error(protocol.RateLimited, "this actor has as many connections as it may", 0))
		return nil
	}
	if seen, ok := w.(*observed); ok {
		seen.known()
	}
	return session
}

// Body reads the body of an authorised request, of at most most bytes, charged to its actor. ok false: the request has been answered. release
// gives its memory back and must be called.
func (d *Door) Body(w http.ResponseWriter, r *http.Request, most int64, actor string) (body []byte, release func(), ok bool) {
	body, release, err := d.Limits.Body(w, r, most, limit.ByActor(actor))
	if err == nil {
		return body, release, true
	}
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		d.Refuse(w, Error(protocol.TooLarge, fmt.Sprintf("the body has more than %d bytes", most), 0))
	case errors.Is(err, limit.ErrBodyMemory):
		d.Refuse(w, Error(protocol.Unavailable, err.Error(), 0))
	default: // cut off on its way: the same request, sent again, may be taken
		d.Refuse(w, Error(protocol.Unavailable, err.Error()+"; nothing was stored, send it again", 0))
	}
	return nil, release, false
}

// Work lets f do the work of an authorised request whose body has been read. It has one of the slots for as long as f runs; the answer that f
// writes is kept, charged to the actor, and written once the slot is given back: a client that reads slowly holds no slot.
func (d *Door) Work(w http.ResponseWriter, actor string, f func(w http.ResponseWriter)) {
	holder := limit.ByActor(actor)
	switch d.Limits.Work.Take(holder) {
	case limit.OverShare:
		d.Refuse(w, Error(protocol.RateLimited, "this actor has as many requests in work as it may", 0))
		return
	case limit.OverSum:
		d.Refuse(w, Error(protocol.Unavailable, "as many requests are in work as may be", 0))
		return
	}
	kept := &kept{ResponseWriter: w, status: http.StatusOK}
	func() {
		defer d.Limits.Work.Give(holder)
		f(kept)
	}()
	account := d.Limits.Outbound.Open(holder)
	defer account.Close()
	cost := max(0, int64(cap(kept.body))-keptFree)
	if !account.Take(cost) {
		kept.body = nil // before the refusal waits for a reader too
		w.Header().Del("Content-Length")
		d.Refuse(w, Error(protocol.Unavailable, "as many bytes wait for this actor's readers, or for all, as may; read them first", 0))
		return
	}
	defer account.Give(cost)
	w.WriteHeader(kept.status)
	// A client that has gone reads nothing.
	_, _ = w.Write(kept.body)
}

// keptFree is what an answer has without a charge.
const keptFree = 4 << 10

// kept is an answer that is written later.
type kept struct {
	http.ResponseWriter
	status int
	begun  bool
	body   []byte
}

func (k *kept) WriteHeader(status int) {
	if !k.begun {
		k.status, k.begun = status, true
	}
}

func (k *kept) Write(b []byte) (int, error) {
	k.begun = true
	k.body = append(k.body, b...)
	return len(b), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (k *kept) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// Page lets f make a page for an authorised request: at the actor's rate, and few at once.
func (d *Door) Page(w http.ResponseWriter, r *http.Request, actor string, f func(w http.ResponseWriter)) {
	if wait, ok := d.Limits.PageRates.Take(actor, 1, time.Now()); !ok {
		d.Refuse(w, Error(protocol.RateLimited, "this actor asks for pages faster than it may", max(1, wait.Milliseconds())))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.Wait)
	defer cancel()
	done, err := d.Limits.Pages.Take(ctx, actor)
	if err != nil {
		d.Refuse(w, Error(protocol.Unavailable, "as many pages are being made as may be", 0))
		return
	}
	defer done()
	f(w)
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
