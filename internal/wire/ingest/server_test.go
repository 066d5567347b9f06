package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/wire/ingest"
)

// The order of the steps: of two faults the earlier step's is told.
func TestTheFirstFaultIsTold(t *testing.T) {
	signedBy := func(body string) string { return "X-Hub-Signature-256: sha256=" + hexHMAC("hush", body) }
	source := plain(func(s *ingest.Source) {
		s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: []ingest.Secret{{Label: "a", Value: "hush"}}}
		s.MaxBody, s.Rate, s.Burst = 100, 1, 1
	})
	large := strings.Repeat(" ", 101)
	for _, c := range []struct {
		name   string
		tokens bool
		body   string
		header []string
		status int
	}{
		{"the largest of any source before signature", true, strings.Repeat(large, 10), []string{"Content-Type: text/plain"}, 413},
		{"signature before the source's size", true, large, []string{"Content-Type: text/plain"}, 401},
		{"signature before the source's rate", false, "{}", nil, 401},
		{"the source's size before its rate", false, large, []string{signedBy(large)}, 413},
		{"the source's rate before content type", false, "x", []string{"Content-Type: text/plain", signedBy("x")}, 429},
		{"signature before content type", true, "x", []string{"Content-Type: text/plain"}, 401},
		{"content type before body", true, "x", []string{"Content-Type: text/plain", signedBy("x")}, 415},
		{"body before key", true, "x", []string{signedBy("x")}, 400},
		{"key before judgement", true, "{}", []string{signedBy("{}")}, 400},
		{"judgement", true, `{"id":"a"}`, []string{signedBy(`{"id":"a"}`)}, 422},
	} {
		g := openWith(t, ingest.Options{MaxBody: 1000}, nil, source)
		if !c.tokens {
			g.post("{}", signedBy("{}"))
		}
		if r := g.post(c.body, c.header...); r.status != c.status {
			t.Errorf("%s: %d %s", c.name, r.status, r.text)
		}
	}
}

func TestRate(t *testing.T) {
	g := open(t, plain(func(s *ingest.Source) { s.Rate, s.Burst = 2, 3 }), plain(func(s *ingest.Source) { s.Name = "other" }))
	for i := range 3 {
		if r := g.post(fmt.Sprintf(`{"id":"%d","amount":"1"}`, i)); r.status != http.StatusAccepted {
			t.Fatalf("%d %s", r.status, r.text)
		}
	}
	r := g.post(`{"id":"4","amount":"1"}`)
	if r.status != 429 || r.Code != ingest.RateLimited || r.Retry != ingest.SameKey || !r.Retryable || r.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s %v", r.status, r.text, r.header)
	}
	if r := g.postTo("acme", "other", `{"id":"4","amount":"1"}`); r.status != http.StatusAccepted {
		t.Errorf("another source: %d", r.status)
	}
	g.set(plain(func(s *ingest.Source) { s.Rate, s.Burst = 2, 3 }))
	if r := g.post(`{"id":"4","amount":"1"}`); r.status != 429 {
		t.Errorf("a reload gave the rate anew: %d", r.status)
	}
	g.pass(500 * time.Millisecond)
	if r := g.post(`{"id":"4","amount":"1"}`); r.status != http.StatusAccepted {
		t.Errorf("half a second later: %d", r.status)
	}
}

func TestContentTypes(t *testing.T) {
	g := open(t, plain())
	for value, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON;charset=UTF-8": true, "application/vnd.api+json": true,
		"-": false, "text/plain": false, "application/x-www-form-urlencoded": false, "application/json; charset=latin1": false, "application/json;": true, "json": false, "a/b/c": false,
	} {
		r := g.post(fmt.Sprintf(`{"id":%q,"amount":"1"}`, value), "Content-Type: "+value)
		if (r.status == http.StatusAccepted) != ok || !ok && (r.status != 415 || r.Code != ingest.UnsupportedType || r.Retry != ingest.Never) {
			t.Errorf("%s: %d %s", value, r.status, r.text)
		}
	}
	if r := g.post(`{"id":"z","amount":"1"}`, "Content-Encoding: gzip"); r.status != 415 {
		t.Errorf("gzip: %d", r.status)
	}
	if r := g.post(`{"id":"z","amount":"1"}`, "Content-Encoding: identity"); r.status != 202 {
		t.Errorf("identity: %d", r.status)
	}
}

func TestSize(t *testing.T) {
	g := open(t, plain(func(s *ingest.Source) { s.MaxBody = 64 }))
	exact := fmt.Sprintf(`{"id":"a","amount":"1","x":"%s"}`, strings.Repeat("x", 64-30))
	if len(exact) != 64 {
		t.Fatal(len(exact))
	}
	if r := g.post(exact); r.status != http.StatusAccepted {
		t.Errorf("as large as may be: %d %s", r.status, r.text)
	}
	if r := g.post(exact + " "); r.status != 413 || r.Code != ingest.TooLarge || r.Retry != ingest.Never {
		t.Errorf("a byte more: %d %s", r.status, r.text)
	}
	// Without Content-Length, and cut off.
	for status, body := range map[int]io.Reader{413: io.MultiReader(strings.NewReader(exact), strings.NewReader(exact)), 400: io.MultiReader(strings.NewReader(exact), broken{})} {
		r := httptest.NewRequest(http.MethodPost, "/v1/ingest/acme/pay", body)
		r.ContentLength = -1
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		g.mux.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%d, not %d: %s", w.Code, status, w.Body)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("reset by peer") }

func TestWhatKeepsEverybodyOut(t *testing.T) {
	g := open(t, plain())
	before := g.head()
	check := func(name string, r reply, code ingest.Code) {
		t.Helper()
		seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
		if r.status != 503 || r.Code != code || r.Retry != ingest.SameKey || !r.Retryable || err != nil || seconds < 1 || seconds > 5 {
			t.Errorf("%s: %d %s %v", name, r.status, r.text, r.header)
		}
	}
	g.blocked = true
	check("a failed proof", g.post(`{"id":"a","amount":"1"}`), ingest.Unproved)
	g.blocked = false
	g.server.Drain(2000)
	check("going down", g.post(`{"id":"a","amount":"1"}`), ingest.Draining)
	if g.head() != before {
		t.Error("something was stored")
	}
}

func TestTheBooksCantAnswer(t *testing.T) {
	for err, code := range map[error]ingest.Code{
		intake.ErrUnavailable: ingest.Unavailable, intake.ErrBusy: ingest.Unavailable, intake.ErrDraining: ingest.Draining, context.DeadlineExceeded: ingest.Unavailable,
	} {
		g := openOn(t, func(b intake.Books) intake.Books { return &counting{Books: b, fail: err} }, plain())
		if r := g.post(`{"id":"a","amount":"1"}`); r.status != 503 || r.Code != code || !strings.Contains(r.Detail, "may or may not") || r.header.Get("Retry-After") == "" {
			t.Errorf("%v: %d %s", err, r.status, r.text)
		}
	}
	g := open(t)
	c, err := ingest.Compile(plain())
	if err != nil {
		t.Fatal(err)
	}
	g.server.Set([]*ingest.Compiled{c}) // before its settings are in the books
	if r := g.post(`{"id":"a","amount":"1"}`); r.status != 503 || r.Code != ingest.Unavailable {
		t.Errorf("a source that isn't in the books: %d %s", r.status, r.text)
	}
}

func TestNobodyWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openOn(t, func(b intake.Books) intake.Books { return &counting{Books: b, hold: make(chan struct{})} }, plain())
		for range 4 { // the later ones share what the first waits by
			start := time.Now()
			r := g.post(`{"id":"a","amount":"1"}`)
			if took := time.Since(start); r.status != 503 || r.Code != ingest.Unavailable || took < 5*time.Second || took > 25*time.Second/4 {
				t.Errorf("%d %s after %v", r.status, r.text, took)
			}
		}
	})
}

func TestRequestsInWorkAreBounded(t *testing.T) {
	c := &counting{hold: make(chan struct{}), called: make(chan struct{})}
	g := openOn(t, func(b intake.Books) intake.Books { c.Books = b; return c }, plain())
	const most = 256
	done := make(chan int, most)
	for i := range most {
		go func() { done <- g.deliver("acme", "pay", fmt.Sprintf(`{"id":"%d","amount":"1"}`, i)).Code }()
	}
	for range most {
		<-c.called
	}
	if r := g.post(`{"id":"z","amount":"1"}`); r.status != 503 || r.Code != ingest.Unavailable {
		t.Errorf("one more: %d %s", r.status, r.text)
	}
	close(c.hold)
	for range most {
		if code := <-done; code != http.StatusAccepted {
			t.Errorf("%d", code)
		}
	}
}

// Tenants see nothing of each other: the same key is another one, and no answer or log line of one names the other.
func TestTenantsAreApart(t *testing.T) {
	g := open(t, plain(), plain(func(s *ingest.Source) { s.Tenant = "rival" }), plain(func(s *ingest.Source) { s.Name = "second" }))
	for _, at := range [][2]string{{"acme", "pay"}, {"rival", "pay"}, {"acme", "second"}} {
		g.logged.text.Reset()
		r := g.postTo(at[0], at[1], `{"id":"a","amount":"1"}`)
		bad := g.postTo(at[0], at[1], `{"id":"","amount":"1"}`)
		if r.status != http.StatusAccepted || r.Repeat != nil {
			t.Errorf("%s: %d %s", at, r.status, r.text)
		}
		other := map[string]string{"acme": "rival", "rival": "acme"}[at[0]]
		if strings.Contains(r.text+bad.text+g.logged.String(), other) {
			t.Errorf("%s is told of %s: %s %s %s", at[0], other, r.text, bad.text, g.logged)
		}
		for _, hidden := range []string{`"number"`, `"hash"`, "fingerprint"} {
			if strings.Contains(r.text, hidden) {
				t.Errorf("an answer shows %s: %s", hidden, r.text)
			}
		}
	}
}

// A reload takes effect whole, and what is under way ends as it began.
func TestSetReplacesTheSources(t *testing.T) {
	g := open(t, plain())
	g.set(plain(func(s *ingest.Source) { s.Name = "other" }))
	if r := g.post(`{"id":"a","amount":"1"}`); r.status != 401 {
		t.Errorf("a source that was taken away: %d", r.status)
	}
	if r := g.postTo("acme", "other", `{"id":"a","amount":"1"}`); r.status != 202 {
		t.Errorf("one that came: %d", r.status)
	}
}

func TestBodiesThatWereErased(t *testing.T) {
	g := open(t, plain())
	g.post(`{"id":"a","amount":"1"}`)
	g.pass(time.Minute)
	if n, err := g.books.EraseBodies(t.Context(), "acme", "pay", g.clock().UnixMilli()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if r := g.post(`{"id":"a","amount":"2"}`); r.Repeat == nil || !r.ContentDiffers || r.Differs != nil {
		t.Errorf("what differs isn't known any more, but that it does: %s", r.text)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []ingest.Options{
		{RetryAfter: 1, Requests: 1}, {Wait: 1, Requests: 1}, {Wait: 1, RetryAfter: 1}, {Wait: 1, RetryAfter: 1, Requests: 1, Rate: 5}, {Wait: 1, RetryAfter: 1, Requests: 1, MaxBody: -1},
	} {
		if _, err := ingest.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// The table of codes is total, and its advice isn't at odds with itself.
func TestRules(t *testing.T) {
	seen := map[ingest.Code]bool{}
	for _, r := range ingest.Rules() {
		if seen[r.Code] || r.Title == "" || r.Status < 400 || r.Type() != "urn:hapax:problem:"+string(r.Code) || r.Code.Rule() != r {
			t.Errorf("%+v", r)
		}
		seen[r.Code] = true
		if r.Retryable && r.Retry != ingest.SameKey {
			t.Errorf("%s is retryable, but not with the same key", r.Code)
		}
		if (r.Status == 429 || r.Status == 503) != r.Retryable {
			t.Errorf("%s: %d and retryable %v", r.Code, r.Status, r.Retryable)
		}
	}
}
