package ingest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store/memory"
	"hapax/internal/telemetry"
	"hapax/internal/wire/ingest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// began is the moment at which each gate's clock stands first.
const began = int64(1_700_000_000)

// gate is an ingest server on a store in memory, with a clock of its own.
type gate struct {
	t       *testing.T
	server  *ingest.Server
	books   *intake.Intake
	metrics *telemetry.Metrics
	mux     *http.ServeMux
	logged  *lines

	mu      sync.Mutex
	now     time.Time
	blocked bool
}

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (g *gate) clock() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// pass moves the clock on.
func (g *gate) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = g.now.Add(d)
}

// open starts a gate with sources. The policy's window is an hour.
func open(t *testing.T, sources ...ingest.Source) *gate {
	t.Helper()
	return openOn(t, nil, sources...)
}

func openOn(t *testing.T, wrap func(intake.Books) intake.Books, sources ...ingest.Source) *gate {
	t.Helper()
	return openWith(t, ingest.Options{}, wrap, sources...)
}

// openWith starts a gate whose options say something of their own.
func openWith(t *testing.T, options ingest.Options, wrap func(intake.Books) intake.Books, sources ...ingest.Source) *gate {
	t.Helper()
	g := &gate{t: t, metrics: telemetry.NewMetrics(), mux: http.NewServeMux(), logged: &lines{}, now: time.Unix(began, 0)}
	st := memory.New()
	t.Cleanup(func() { _ = st.Close() })
	o := intake.DefaultOptions()
	o.Now = g.clock
	var err error
	if g.books, err = intake.New(st, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.books.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	books := intake.Books(g.books)
	if wrap != nil {
		books = wrap(books)
	}
	options.Books, options.Metrics, options.Now = books, g.metrics, g.clock
	options.Log = slog.New(slog.NewTextHandler(g.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	options.Blocked = func() (ingest.Code, string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.blocked {
			return ingest.Unproved, "the log is being checked"
		}
		return "", ""
	}
	options.Wait, options.RetryAfter, options.Requests = 5*time.Second, time.Second, 256
	g.server, err = ingest.New(options)
	if err != nil {
		t.Fatal(err)
	}
	g.enter(&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600, LRUMinHits: 1}})
	g.set(sources...)
	g.mux.Handle(ingest.Route, g.server)
	return g
}

func (g *gate) enter(commands ...gateway.Command) []gateway.Outcome {
	g.t.Helper()
	outcomes, err := g.books.Enter(context.Background(), commands...)
	if err != nil {
		g.t.Fatal(err)
	}
	return outcomes
}

// set makes the sources stand, as a start or a reload does.
func (g *gate) set(sources ...ingest.Source) {
	g.t.Helper()
	var all []*ingest.Compiled
	for _, s := range sources {
		c, err := ingest.Compile(s)
		if err != nil {
			g.t.Fatal(err)
		}
		g.enter(&gateway.SetSource{Tenant: s.Tenant, Source: s.Name, Settings: c.Settings()})
		all = append(all, c)
	}
	g.server.Set(all)
}

// plain is a source that anybody may deliver to: key and amount by JSON pointers, keys registering themselves.
func plain(change ...func(s *ingest.Source)) ingest.Source {
	s := ingest.Source{
		Tenant: "acme", Name: "pay", Verify: ingest.Verify{Scheme: ingest.SchemeNone},
		Key: []ingest.Field{{Pointer: "/id"}}, Amount: ingest.Field{Pointer: "/amount"}, Currency: ingest.Field{Pointer: "/currency"},
		Scope: ingest.Field{Pointer: "/scope"}, State: ingest.Field{Pointer: "/state"},
		Registry: ingest.RegistryOpen, OnMismatch: ingest.MismatchFlag, WindowS: 120,
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// reply is an answer, with its body read.
type reply struct {
	status int
	header http.Header
	text   string
	ingest.Answer
	Code      ingest.Code
	Retry     ingest.Retry
	Retryable bool
	Detail    string
	Type      string
}

// post delivers a body to acme's pay as JSON; lines are further headers, "Name: value".
func (g *gate) post(body string, headers ...string) reply {
	g.t.Helper()
	return g.postTo("acme", "pay", body, headers...)
}

func (g *gate) postTo(tenant, source, body string, headers ...string) reply {
	g.t.Helper()
	w := g.deliver(tenant, source, body, headers...)
	r := reply{status: w.Code, header: w.Header(), text: w.Body.String()}
	if strings.HasPrefix(r.text, "{") {
		if err := json.Unmarshal([]byte(r.text), &r); err != nil {
			g.t.Fatalf("%v in %s", err, r.text)
		}
	}
	return r
}

func (g *gate) deliver(tenant, source, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/ingest/"+tenant+"/"+source, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case value == "-":
			r.Header.Del(name)
		case http.CanonicalHeaderKey(name) == "Content-Type":
			r.Header.Set(name, value)
		default:
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	g.mux.ServeHTTP(w, r)
	return w
}

// head is the number of the log's last record.
func (g *gate) head() (n int64) {
	g.t.Helper()
	if err := g.books.View(context.Background(), func(v intake.View) error { n = v.Head().Number; return nil }); err != nil {
		g.t.Fatal(err)
	}
	return n
}

// record is the log's last record, which is to be an event.
func (g *gate) record() (e gateway.EventRecord, body *gateway.Body) {
	g.t.Helper()
	err := g.books.View(context.Background(), func(v intake.View) error {
		text, err := v.Record(v.Head().Number)
		if err != nil {
			return err
		}
		entry, err := gateway.ReadRecord(text)
		if err != nil {
			return err
		}
		e = *entry.Record.(*gateway.EventRecord)
		body, err = v.Body(v.Head().Number)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return e, body
}

// counted is how many events of acme's pay had an outcome.
func (g *gate) counted(outcome string) float64 {
	g.t.Helper()
	families, err := g.metrics.Registry().Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "hapax_ingest_events_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["tenant"] == "acme" && labels["source"] == "pay" && labels["outcome"] == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func hexHMAC(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}
