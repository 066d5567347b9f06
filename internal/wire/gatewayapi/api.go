package gatewayapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"hapax/internal/auth"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/wire"
	"hapax/protocol"
)

// Options are what the management is made of.
type Options struct {
	Books intake.Books
	Log   *slog.Logger
	Scan  int          // records that one request reads at most
	Now   func() int64 // Unix ms
	// Serving says whether there is a gateway; without one all addresses answer like none. nil: there is.
	Serving func() bool
	// Stuck tells which sources' events don't leave at the moment. nil: nobody knows of any.
	Stuck func() []Stuck
}

// Stuck is a source with something to send that doesn't leave.
type Stuck struct {
	Tenant, Source string
	Held           bool  // the configuration names no destination
	RestsUntil     int64 // Unix ms: its destination is down and is given rest; 0: it isn't
}

func init() {
	// The framework has them as settings of the process; nothing else in it uses the framework.
	huma.NewError = problemOf
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
}

type server struct {
	Options
	cursors *cursors
	scans   chan struct{} // readings of many records at once
	tally   tally
}

// maxScans bounds the readings of many records at once: management leaves processors to ingest.
const maxScans = 2

// Open puts the routes into a door.
func Open(door *wire.Door, o Options) {
	if o.Serving == nil {
		o.Serving = func() bool { return true }
	}
	register(&adapter{door: door, serving: o.Serving}, o)
}

func register(a huma.Adapter, o Options) huma.API {
	s := newServer(o)
	strict := huma.Format{Marshal: marshal, Unmarshal: unmarshal}
	api := huma.NewAPI(huma.Config{
		OpenAPI: &huma.OpenAPI{OpenAPI: "3.1.0", Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName)}}, Formats: map[string]huma.Format{"application/json": strict, "json": strict},
		DefaultFormat: "application/json", RejectUnknownQueryParameters: true,
	}, a)
	s.sources(api)
	s.registry(api)
	s.bulk(api)
	s.ledger(api)
	s.events(api)
	s.decisions(api)
	s.advice(api)
	s.report(api)
	s.deadLetters(api)
	s.replays(api)
	return api
}

func newServer(o Options) *server {
	return &server{Options: o, cursors: newCursors(), scans: make(chan struct{}, maxScans)}
}

type (
	command = gateway.Command
	outcome = gateway.Outcome
)

// marshal writes JSON. A client that has gone reads nothing, which is no fault.
func marshal(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// unmarshal reads JSON as strictly as all of Hapax: no member twice, one document. That names are exact is what the framework
// checks against the schema.
func unmarshal(body []byte, v any) error {
	if _, err := protocol.Canonical(nil, body); err != nil {
		return err
	}
	if json.Unmarshal(body, v) != nil {
		return errors.New("the body isn't what the schema asks for") // the decoder's own words quote it
	}
	return nil
}

// adapter lets the framework's operations in by the door.
type adapter struct {
	door    *wire.Door
	serving func() bool
}

type sessionKey struct{}

// Handle implements huma.Adapter.
func (a *adapter) Handle(op *huma.Operation, h func(huma.Context)) {
	a.door.Handle(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) {
		if !a.serving() {
			a.door.Refuse(w, wire.Error(protocol.NotFound, "there is nothing at this address", 0))
			return
		}
		session := a.door.Session(w, r)
		if session == nil {
			return
		}
		if fault := queryFault(r.URL.RawQuery); fault != "" {
			a.door.Refuse(w, wire.Error(protocol.BadRequest, fault, 0))
			return
		}
		if values := r.Header.Values(protocol.HeaderKey); len(values) > 0 {
			key, fault := protocol.ParseIdempotencyKey(values) // bare or in quotes it is one key
			if fault != nil {
				a.door.Refuse(w, fault.Event())
				return
			}
			r.Header.Set(protocol.HeaderKey, key)
		}
		ctx := withSession(r.Context(), session)
		if op.RequestBody != nil {
			release, ok := a.body(ctx, w, r, op)
			defer release()
			if !ok {
				return
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		a.door.Work(w, session.Actor, func(w http.ResponseWriter) { h(humago.NewContext(op, r.WithContext(ctx), w)) })
	})
}

// body reads a request's body, for who may write where it goes: others make the server hold nothing. ok false: the request has been answered.
func (a *adapter) body(ctx context.Context, w http.ResponseWriter, r *http.Request, op *huma.Operation) (release func(), ok bool) {
	release = func() {}
	if err := mayWriteAt(ctx, r); err != nil {
		p := new(GatewayProblem)
		errors.As(err, &p) // it is one
		a.door.Refuse(w, wire.Error(protocol.Code(p.Code), p.Detail, 0))
		return release, false
	}
	body, release, ok := a.door.Body(w, r, op.MaxBodyBytes, sessionOf(ctx).Actor)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return release, ok
}

// ServeHTTP implements huma.Adapter.
func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.door.ServeHTTP(w, r) }

// queryFault says what is wrong with a query. A parameter given twice is a fault: which would count?
func queryFault(raw string) string {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return "the query isn't well-formed"
	}
	for name, v := range values {
		if len(v) > 1 {
			return name + " stands more than once"
		}
	}
	return ""
}

func withSession(ctx context.Context, s *auth.Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

func sessionOf(ctx context.Context) *auth.Session { return ctx.Value(sessionKey{}).(*auth.Session) }

// statuses are what every operation may answer besides its own.
var statuses = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// handle registers an operation whose errors that are no problems mean that the store didn't answer.
func handle[I, O any](s *server, api huma.API, op huma.Operation, f func(context.Context, *I) (*O, error)) {
	op.Errors = append(op.Errors, statuses...)
	op.Responses = map[string]*huma.Response{} // shared with the framework's copy
	op.BodyReadTimeout = -1                    // the server has one for all requests
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err == nil {
			return out, nil
		}
		if p := new(GatewayProblem); errors.As(err, &p) {
			return nil, p
		}
		s.Log.Warn("the gateway's books didn't answer", "operation", op.OperationID, "request", wire.RequestID(ctx), "error", err)
		return nil, problem(codeUnavailable, "the store can't answer now")
	})
	delete(op.Responses, "422") // the framework's own words: what is wrong with a request is a 400 here
	delete(op.Responses, "500")
}

// scan is view for what reads many records: few of them run at once, others wait.
func scan[T any](ctx context.Context, s *server, f func(intake.View) (T, error)) (out T, err error) {
	select {
	case s.scans <- struct{}{}:
		defer func() { <-s.scans }()
		return view(ctx, s, f)
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

// view reads from the books and returns what f makes of them.
func view[T any](ctx context.Context, s *server, f func(intake.View) (T, error)) (out T, err error) {
	err = s.Books.View(ctx, func(v intake.View) error {
		out, err = f(v)
		return err
	})
	return out, err
}
