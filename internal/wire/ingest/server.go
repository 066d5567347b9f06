package ingest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/telemetry"
)

// Route is where deliveries come in, as a pattern of http.ServeMux. Its two names are what ServeHTTP asks the request for.
const Route = "POST /v1/ingest/{tenant}/{source}"

// Options are what a server is made of.
type Options struct {
	Books   intake.Books
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	// Blocked says that nothing may be judged now: the last proof failed, or the start isn't finished. nil: never.
	Blocked func() bool
	Now     func() time.Time // default: time.Now

	Wait       time.Duration // who waits longer for a commit is told unavailable; the commit goes on
	RetryAfter time.Duration // told with unavailable and unproved; spread between once and twice this
	Requests   int           // in work at once; each holds a goroutine and a body
	// What those are held to who name no source: the defaults of the sources, so that nobody can tell the two apart.
	Rate    float64 // requests a second together; 0: without bound
	Burst   int
	MaxBody int64 // 0: DefaultMaxBody
}

// Server answers deliveries. Make one with New; it knows no source until Set.
type Server struct {
	Options
	sources  atomic.Pointer[map[sourceName]*Compiled]
	nobody   *Compiled // stands for sources that aren't there
	slots    chan struct{}
	draining atomic.Int64 // ms over which senders are told to come back, once the server goes down
	tell     rate.Sometimes
}

type sourceName struct{ tenant, source string }

// New returns a server.
func New(o Options) (*Server, error) {
	for _, l := range []struct {
		name  string
		value int64
	}{{"Wait", int64(o.Wait)}, {"RetryAfter", int64(o.RetryAfter)}, {"Requests", int64(o.Requests)}} {
		if l.value <= 0 {
			return nil, fmt.Errorf("ingest: Options.%s is %d: a limit must be positive", l.name, l.value)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = telemetry.NewMetrics()
	}
	nobody, err := Compile(Source{
		Tenant: "-", Name: "-", Verify: Verify{Scheme: SchemeGitHub, Secrets: []Secret{{"-", rand.Text()}}}, Format: FormatRaw,
		Key: []Field{{Header: "-"}}, Amount: Field{Constant: "0"}, Registry: RegistryRequired, Rate: o.Rate, Burst: o.Burst, MaxBody: o.MaxBody,
	})
	if err != nil {
		return nil, fmt.Errorf("ingest: Options: %w", err)
	}
	s := &Server{Options: o, nobody: nobody, slots: make(chan struct{}, o.Requests), tell: rate.Sometimes{First: 10, Interval: time.Second}}
	s.Set(nil)
	return s, nil
}

// Set puts other sources in the place of those before, at once and whole. A delivery goes on with those it began with.
func (s *Server) Set(sources []*Compiled) {
	next := make(map[sourceName]*Compiled, len(sources))
	for _, c := range sources {
		next[sourceName{c.Source.Tenant, c.Source.Name}] = c
	}
	s.sources.Store(&next)
}

// Drain answers every further request with draining and a time to come back, spread evenly over spreadMs.
func (s *Server) Drain(spreadMs int64) { s.draining.Store(max(1, spreadMs)) }

// ServeHTTP implements http.Handler, for Route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	d := delivery{s: s, w: w, r: r, now: s.Now()}
	d.source, d.known = (*s.sources.Load())[sourceName{r.PathValue("tenant"), r.PathValue("source")}]
	if !d.known {
		d.source = s.nobody
	}
	if p := s.enterable(); p != nil {
		d.refuse(p)
	} else {
		select {
		case s.slots <- struct{}{}:
			d.serve()
			<-s.slots
		default:
			d.refuse(s.later(Unavailable, "as many deliveries are in work as may be"))
		}
	}
	s.Metrics.Request(Route, strconv.Itoa(d.status), time.Since(began))
}

// enterable says what keeps the server from taking any delivery now.
func (s *Server) enterable() *Problem {
	if spread := s.draining.Load(); spread > 0 {
		p := problem(Draining, "the server is going down; nothing was stored")
		p.RetryAfterMs = s.RetryAfter.Milliseconds()/2 + mathrand.Int64N(spread)
		return p
	}
	if s.Blocked != nil && s.Blocked() {
		return s.later(Unproved, "the log's last proof isn't good; nothing was stored")
	}
	return nil
}

// later is a problem with a time to come back, spread so that those who were turned away together don't come back together.
func (s *Server) later(code Code, detail string) *Problem {
	base := max(1, s.RetryAfter.Milliseconds())
	return &Problem{Code: code, Detail: detail, RetryAfterMs: base + mathrand.Int64N(base)}
}

// delivery is one request on its way.
type delivery struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	now    time.Time
	source *Compiled // nobody's where the request names none
	known  bool
	status int // of the answer
}

// serve takes the steps of docs/spec/gateway.md, Ingest, in their order.
func (d *delivery) serve() {
	if p := d.rate(); p != nil {
		d.refuse(p)
		return
	}
	body, p := d.read()
	if p == nil {
		p = d.verify(body)
	}
	var m media
	if p == nil {
		m, p = mediaOf(d.r.Header)
	}
	if p == nil {
		p = d.source.admit(m, d.r.Header)
	}
	if p != nil {
		d.refuse(p)
		return
	}
	items, batch, p := d.source.items(m, d.r.Header, body)
	if p != nil {
		d.refuse(p)
		return
	}
	d.judge(items, batch)
}

func (d *delivery) rate() *Problem {
	l := d.source.limiter
	if l == nil || l.AllowN(d.now, 1) {
		return nil
	}
	r := l.ReserveN(d.now, 1)
	wait := r.DelayFrom(d.now)
	r.CancelAt(d.now)
	return &Problem{Code: RateLimited, Detail: "the source delivers faster than it may; nothing was stored", RetryAfterMs: max(1, wait.Milliseconds())}
}

// read reads the body. Memory grows with what arrives, not with what is announced.
func (d *delivery) read() ([]byte, *Problem) {
	limit := d.source.maxBody
	large := problem(TooLarge, "a delivery of this source has at most %d bytes", limit)
	if d.r.ContentLength > limit {
		return nil, large
	}
	const trusted = 64 << 10
	body := make([]byte, 0, min(max(d.r.ContentLength, 511)+1, trusted))
	from := http.MaxBytesReader(d.w, d.r.Body, limit)
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		var over *http.MaxBytesError
		switch {
		case err == nil:
		case err == io.EOF:
			return body, nil
		case errors.As(err, &over):
			return nil, large
		default:
			return nil, problem(BadBody, "the body did not arrive whole")
		}
	}
}

// verify checks the signature. That there is no such source, and that the signature isn't good, look the same and take the same work.
func (d *delivery) verify(body []byte) *Problem {
	label, ok := d.source.verifier.verify(d.r.Header, body, d.now.Unix())
	if !ok || !d.known {
		return problem(Unauthorized, "there is no such source, or the delivery isn't signed as it asks for")
	}
	d.source.used[label].note(d.s.Log, d.now, &d.source.Source, label)
	for _, name := range d.source.verifier.headers() {
		if len(d.r.Header[name]) > 1 {
			return problem(BadBody, "the header %s stands more than once", name)
		}
	}
	return nil
}

// judge hands the events to the intake, all in one commit, and answers.
func (d *delivery) judge(items []item, batch bool) {
	results := make([]result, len(items))
	commands := make([]gateway.Command, 0, len(items))
	for i := range items {
		r := &results[i]
		r.item = &items[i]
		if r.event, r.problem = d.source.event(&items[i], "ev_"+rand.Text()); r.problem == nil {
			commands = append(commands, r.event)
		}
	}
	ctx, cancel := context.WithTimeout(d.r.Context(), d.s.Wait)
	defer cancel()
	outcomes, err := d.s.Books.Enter(ctx, commands...)
	if err != nil {
		d.refuse(d.unstored(err))
		return
	}
	for i := range results {
		if r := &results[i]; r.problem == nil {
			r.outcome, outcomes = outcomes[0], outcomes[1:]
		}
	}
	d.compare(ctx, results)
	d.answer(results, batch)
}

// unstored is what is said where nobody knows whether the events are in the log.
func (d *delivery) unstored(err error) *Problem {
	code := Unavailable
	if errors.Is(err, intake.ErrDraining) {
		code = Draining
	}
	d.s.tell.Do(func() { d.s.Log.Warn("a delivery got no answer from the books", "error", err) })
	return d.s.later(code, "it may or may not have been stored; send it again with the same key")
}
