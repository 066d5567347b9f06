package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hapax/internal/auth"
	"hapax/internal/telemetry"
	"hapax/internal/wire/limit"
)

// believer takes a token for the name of its actor; "" and "bad" are none.
type believer struct{}

func (believer) Verify(_ context.Context, token string) (*auth.Session, error) {
	if token == "bad" {
		return nil, &auth.Error{Reason: auth.WrongKey, Cause: errors.New("bad")}
	}
	return &auth.Session{Actor: token, Expires: time.Now().Add(time.Hour)}, nil
}

func doorOf(l limit.Limits) *Door {
	proxies := limit.NewProxies([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, limit.XForwardedFor, nil)
	m := telemetry.NewMetrics()
	log := slog.New(slog.DiscardHandler)
	return NewDoor(limit.New(l, proxies, limit.NewTeller(log, m.Limited)), believer{}, m, log, time.Second)
}

func ask(actor, from string, body io.Reader) *http.Request {
	r := httptest.NewRequest("POST", "/x", body)
	r.RemoteAddr = "10.0.0.1:1"
	r.Header.Set("X-Forwarded-For", from)
	if actor != "" {
		r.Header.Set("Authorization", "Bearer "+actor)
	}
	return r
}

// begin has a request answered in the background, once it is in the handler.
func begin(d *Door, r *http.Request, inside chan struct{}) (w *httptest.ResponseRecorder, done chan struct{}) {
	w, done = httptest.NewRecorder(), make(chan struct{})
	go func() { d.ServeHTTP(w, r); close(done) }()
	<-inside
	return w, done
}

func status(d *Door, r *http.Request) int {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code
}

// Until its token is good a request counts for the address that its proxy names, and after that it doesn't.
func TestRequestsOfAnAddressUntilTheyAreAuthorised(t *testing.T) {
	d := doorOf(limit.Limits{Connections: limit.ConnLimits{PerAddress: 2}})
	inside, leave := make(chan struct{}), make(chan struct{})
	d.Handle("POST /x", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && d.Session(w, r) == nil {
			return
		}
		inside <- struct{}{}
		<-leave
	})
	var all []chan struct{}
	for range 2 {
		_, done := begin(d, ask("", "192.0.2.7", nil), inside)
		all = append(all, done)
	}
	if got := status(d, ask("", "192.0.2.7", nil)); got != http.StatusTooManyRequests {
		t.Error("a third stranger of an address:", got)
	}
	if got := status(d, ask("bad", "192.0.2.8", nil)); got != http.StatusUnauthorized {
		t.Error("another address paid for it:", got)
	}
	for range 3 {
		_, done := begin(d, ask("ann", "192.0.2.8", nil), inside)
		all = append(all, done)
	}
	close(leave)
	for _, done := range all {
		<-done
	}
	if n, holders := d.Limits.Strangers.Taken(); n != 0 || holders != 0 {
		t.Error(n, "places of", holders, "strangers are left")
	}
}

// stuck is a client that reads nothing until it is let.
type stuck struct {
	*httptest.ResponseRecorder
	writing, read chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	s.writing <- struct{}{}
	<-s.read
	return s.ResponseRecorder.Write(b)
}

// A request has its slot while it is worked on, and none while its answer waits for a reader: those who don't read keep nobody out.
func TestAnAnswerThatNobodyReadsHoldsNoSlot(t *testing.T) {
	d := doorOf(limit.Limits{Requests: 2, ActorWork: 1, OutboundBytes: 1 << 20})
	const size = 64 << 10
	d.Handle("POST /x", func(w http.ResponseWriter, r *http.Request) {
		if s := d.Session(w, r); s != nil {
			d.Work(w, s.Actor, func(w http.ResponseWriter) { _, _ = io.WriteString(w, strings.Repeat("x", size)) })
		}
	})
	slow := stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	done := make(chan struct{})
	go func() { d.ServeHTTP(slow, ask("ann", "192.0.2.7", nil)); close(done) }()
	<-slow.writing
	if slots, _ := d.Limits.Work.Taken(); slots != 0 {
		t.Error("a slot is held by who doesn't read")
	}
	if used := d.Limits.Outbound.Used(); used < size-keptFree {
		t.Errorf("%d bytes are charged for an answer of %d that waits", used, size)
	}
	if got := status(d, ask("ann", "192.0.2.7", nil)); got != http.StatusOK {
		t.Error("ann's other request:", got)
	}
	close(slow.read)
	<-done
	if used := d.Limits.Outbound.Used(); used != 0 {
		t.Error(used, "bytes are still charged")
	}
}

func TestWorkIsBoundedForAnActorAndInSum(t *testing.T) {
	d := doorOf(limit.Limits{Requests: 3, ActorWork: 2})
	inside, leave := make(chan struct{}), make(chan struct{})
	d.Handle("POST /x", func(w http.ResponseWriter, r *http.Request) {
		if s := d.Session(w, r); s != nil {
			d.Work(w, s.Actor, func(http.ResponseWriter) { inside <- struct{}{}; <-leave })
		}
	})
	var all []chan struct{}
	for _, actor := range []string{"ann", "ann"} {
		_, done := begin(d, ask(actor, "192.0.2.7", nil), inside)
		all = append(all, done)
	}
	if got := status(d, ask("ann", "192.0.2.7", nil)); got != http.StatusTooManyRequests {
		t.Error("ann's third:", got)
	}
	_, done := begin(d, ask("ben", "192.0.2.7", nil), inside)
	if got := status(d, ask("eve", "192.0.2.7", nil)); got != http.StatusServiceUnavailable {
		t.Error("one more than all:", got)
	}
	close(leave)
	for _, d := range append(all, done) {
		<-d
	}
}

// An answer that no longer fits the budget is refused, and what was made of it is let go before the refusal waits.
func TestAnswersOverTheBudgetAreRefused(t *testing.T) {
	d := doorOf(limit.Limits{OutboundBytes: 64 << 10})
	d.Handle("POST /x", func(w http.ResponseWriter, r *http.Request) {
		if s := d.Session(w, r); s != nil {
			d.Work(w, s.Actor, func(w http.ResponseWriter) {
				w.Header().Set("Content-Length", "40000")
				_, _ = io.WriteString(w, strings.Repeat("x", 40_000))
			})
		}
	})
	w := httptest.NewRecorder()
	d.ServeHTTP(w, ask("ann", "192.0.2.7", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || w.Header().Get("Content-Length") != "" || w.Body.Len() > 1000 {
		t.Error(w.Code, w.Header(), w.Body.Len())
	}
}

// Bodies are bounded by what has arrived: an actor has a quarter, and who is over it is told to come back.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	d := doorOf(limit.Limits{BodyBytes: 64 << 10})
	inside, leave := make(chan struct{}), make(chan struct{})
	d.Handle("POST /x", func(w http.ResponseWriter, r *http.Request) {
		s := d.Session(w, r)
		body, release, ok := d.Body(w, r, 12<<10, s.Actor)
		defer release()
		if ok && len(body) > 10<<10 {
			inside <- struct{}{}
			<-leave
		}
	})
	large := func() io.Reader { return strings.NewReader(strings.Repeat("x", 11<<10)) }
	_, done := begin(d, ask("ann", "192.0.2.7", large()), inside)
	if got := status(d, ask("ann", "192.0.2.7", large())); got != http.StatusServiceUnavailable {
		t.Error("ann's second body:", got)
	}
	if got := status(d, ask("ann", "192.0.2.7", strings.NewReader(strings.Repeat("x", 13<<10)))); got != http.StatusRequestEntityTooLarge {
		t.Error("a body over its own limit:", got)
	}
	if got := status(d, ask("ben", "192.0.2.7", strings.NewReader("x"))); got != http.StatusOK {
		t.Error("ben paid for it:", got)
	}
	close(leave)
	<-done
	if used := d.Limits.Bodies.Used(); used != 0 {
		t.Error(used, "bytes are still charged")
	}
}

func TestPagesOverHTTPHaveARate(t *testing.T) {
	d := doorOf(limit.Limits{PageRate: 0.001, PageBurst: 1, Pages: 1})
	d.Handle("POST /x", func(w http.ResponseWriter, r *http.Request) {
		s := d.Session(w, r)
		d.Page(w, r, s.Actor, func(w http.ResponseWriter) {})
	})
	if first, second, other := status(d, ask("ann", "", nil)), status(d, ask("ann", "", nil)), status(d, ask("ben", "", nil)); first != 200 || second != 429 || other != 200 {
		t.Error(first, second, other)
	}
}
