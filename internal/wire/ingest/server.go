package ingest

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"hapax/internal/engine/intake"
	"hapax/internal/telemetry"
	"hapax/internal/wire/limit"
)

// Route is where deliveries come in, as a pattern of http.ServeMux. Its two names are what ServeHTTP asks the request for.
const Route = "POST /v1/ingest/{tenant}/{source}"

// Options are what a server is made of.
type Options struct {
	Books   intake.Books
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	// Blocked says that nothing may be judged now, and why, in words for the sender: Unproved or Unavailable, or "" where all may. nil: never.
	Blocked func() (Code, string)
	Now     func() time.Time // default: time.Now

	Wait       time.Duration // who waits longer for a commit, by up to a quarter, is told unavailable; the commit goes on
	RetryAfter time.Duration // told with unavailable and unproved; spread between once and twice this
	Requests   int           // signed ones in work at once; each holds a goroutine and a body
	ReadTime   time.Duration // for a whole request to arrive; 0: as long as it comes in fast enough
	// What an address is held to from which nothing signed came in the last hour: requests a second, and how many at once. Rate 0:
	// without bound.
	Rate  float64
	Burst int
	// MaxBody is the most bytes of a body as long as no source takes larger ones: whoever can't sign is held to the largest that any
	// source takes, so that a limit of its own tells of no source that it is there. 0: DefaultMaxBody.
	MaxBody int64
	Clients *limit.Proxies // tells who asks; nil: the other end of the connection
	Bodies  *limit.Budget  // of memory for bodies; nil: one of DefaultBodies
}

// DefaultBodies is how many bytes of bodies are in memory at most where Options name no budget: eight of the largest.
const DefaultBodies = 8 * LargestBody

// Server answers deliveries. Make one with New; it knows no source until Set.
type Server struct {
	Options
	standing  atomic.Pointer[standing]
	nobody    served // stands for sources that aren't there
	strangers limit.AddressBuckets
	signers   signers
	slots     chan struct{}
	patience  patience
	draining  atomic.Int64 // ms over which senders are told to come back, once the server goes down
	tell      rate.Sometimes
}

// standing are the sources that are there.
type standing struct {
	sources map[sourceName]served
	largest int64 // bytes of a body that any of them takes
}

type sourceName struct{ tenant, source string }

// served is a source and what it has used of its rate.
type served struct {
	*Compiled
	limiter *rate.Limiter // nil: without bound
}

func serve(c *Compiled) served {
	if c.Source.Rate == 0 {
		return served{c, nil}
	}
	return served{c, rate.NewLimiter(rate.Limit(c.Source.Rate), c.Source.Burst)}
}

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
	if o.Clients == nil {
		o.Clients = limit.NewProxies(nil, limit.XForwardedFor, nil)
	}
	if o.Bodies == nil {
		o.Bodies = limit.NewBudget(DefaultBodies)
	}
	s := &Server{
		Options: o, nobody: served{nobody, nil}, strangers: limit.NewAddressBuckets(o.Rate, o.Burst), slots: make(chan struct{}, o.Requests),
		patience: patience{wait: o.Wait}, tell: rate.Sometimes{First: 10, Interval: time.Second},
	}
	s.Set(nil)
	return s, nil
}

// Set puts other sources in the place of those before, at once and whole. A delivery goes on with those it began with. Where a source's rate
// is the one it was, what it has used of it stays used.
func (s *Server) Set(sources []*Compiled) {
	next := &standing{sources: make(map[sourceName]served, len(sources)), largest: s.nobody.maxBody}
	before := s.standing.Load()
	for _, c := range sources {
		name, now := sourceName{c.Source.Tenant, c.Source.Name}, serve(c)
		if before != nil {
			if old, ok := before.sources[name]; ok && old.Source.Rate == c.Source.Rate && old.Source.Burst == c.Source.Burst {
				now.limiter = old.limiter
			}
		}
		next.sources[name], next.largest = now, max(next.largest, c.maxBody)
	}
	s.standing.Store(next)
}

// Drain answers every further request with draining and a time to come back, spread evenly over spreadMs.
func (s *Server) Drain(spreadMs int64) { s.draining.Store(max(1, spreadMs)) }

// ServeHTTP implements http.Handler, for Route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	all := s.standing.Load()
	d := delivery{s: s, w: w, r: r, now: s.Now(), largest: all.largest}
	d.source, d.known = all.sources[sourceName{r.PathValue("tenant"), r.PathValue("source")}]
	if !d.known {
		d.source = s.nobody
	}
	defer func() { s.Metrics.Request(Route, strconv.Itoa(d.status), time.Since(began)) }()
	if p := s.enterable(); p != nil {
		d.refusal(p)()
		return
	}
	d.serve()
}

// enterable says what keeps the server from taking any delivery now.
func (s *Server) enterable() *Problem {
	if spread := s.draining.Load(); spread > 0 {
		p := problem(Draining, "the server is going down; nothing was stored")
		p.RetryAfterMs = s.RetryAfter.Milliseconds()/2 + mathrand.Int64N(spread)
		return p
	}
	if s.Blocked == nil {
		return nil
	}
	if code, why := s.Blocked(); code != "" {
		return s.later(code, why+"; nothing was stored")
	}
	return nil
}

// later is a problem with a time to come back, spread so that those who were turned away together don't come back together.
func (s *Server) later(code Code, detail string) *Problem {
	base := max(1, s.RetryAfter.Milliseconds())
	return &Problem{Code: code, Detail: detail, RetryAfterMs: base + mathrand.Int64N(base)}
}
