package ingest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hapax/internal/gateway"
	"hapax/internal/wire/ingest"
)

// The table of docs/spec/gateway.md, Ingest: what each outcome looks like.
func TestOutcomes(t *testing.T) {
	g := open(t, plain())

	first := g.post(`{"id":"a","amount":"2.50","currency":"eur","note":1}`)
	if first.status != http.StatusAccepted || first.Outcome != "accept" || !strings.HasPrefix(first.ID, "ev_") || len(first.ID) < 26 || first.SeenAt != began || first.Repeat != nil {
		t.Fatalf("accept: %d %s", first.status, first.text)
	}
	if first.header.Get("Idempotency-Replayed") != "" || first.header.Get("Content-Type") != "application/json" || first.header.Get("Cache-Control") != "no-store" {
		t.Errorf("accept: %v", first.header)
	}

	g.pass(60 * time.Second)
	again := g.post(`{"note":1, "currency":"EUR", "amount":"2.50", "id":"a"}`)
	if again.status != http.StatusOK || again.Outcome != "dedupe" || again.header.Get("Idempotency-Replayed") != "true" || again.ID == first.ID {
		t.Fatalf("dedupe: %d %s %v", again.status, again.text, again.header)
	}
	if r := again.Repeat; r == nil || r.Repeats != first.ID || r.GapS != 60 || r.WindowS != 120 || r.RepeatsBefore != 0 || r.Reason != "duplicate_done" || !r.ContentDiffers || !slices.Equal(r.Differs, []string{"/currency"}) {
		t.Errorf("dedupe: %s", again.text)
	}

	g.pass(120 * time.Second) // the bound lies within
	third := g.post(`{"id":"a","amount":"9.99","currency":"eur","note":[1],"more":true}`)
	if r := third.Repeat; r == nil || r.GapS != 120 || r.RepeatsBefore != 1 || r.Repeats != first.ID || !slices.Equal(r.Differs, []string{"/amount", "/more", "/note"}) {
		t.Errorf("a third: %s", third.text)
	}

	g.pass(121 * time.Second)
	if r := g.post(`{"id":"a","amount":"2.50","currency":"eur","note":1}`); r.status != http.StatusAccepted {
		t.Errorf("past the window: %d %s", r.status, r.text)
	}
	for outcome, want := range map[string]float64{"accept": 2, "duplicate_done": 2, "mismatch": 0} {
		if got := g.counted(outcome); got != want {
			t.Errorf("%v events were counted as %s, not %v", got, outcome, want)
		}
	}
}

func TestRejections(t *testing.T) {
	for _, status := range []int{0, 422, 200} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			want := status
			if want == 0 {
				want = 422
			}
			g := open(t, plain(func(s *ingest.Source) {
				s.Registry, s.RejectStatus, s.OnMismatch = ingest.RegistryRequired, status, ingest.MismatchReject
			}))
			check := func(name string, r reply, code ingest.Code, retry ingest.Retry) {
				t.Helper()
				if r.status != want || r.Code != code || r.Retry != retry || r.Retryable || r.Status != want || r.header.Get("Content-Type") != "application/problem+json" ||
					r.Type != "urn:hapax:problem:"+string(code) || r.ID == "" || r.header.Get("Retry-After") != "" {
					t.Errorf("%s: %d %s", name, r.status, r.text)
				}
				if e, _ := g.record(); e.ID != r.ID || !e.Decision.Rejected() {
					t.Errorf("%s isn't kept in the log", name)
				}
			}
			check("not registered", g.post(`{"id":"a","amount":"1"}`), ingest.UnknownKey, ingest.SameKey)
			g.enter(&gateway.Register{Name: gateway.Name{Tenant: "acme", Source: "pay", Key: "a"}, Scope: 1, By: "test"})
			check("no amount", g.post(`{"id":"a","amount":"1,5"}`), ingest.BadAmount, ingest.SameKey)
			if r := g.post(`{"id":"a","amount":"1"}`); r.status != http.StatusAccepted {
				t.Fatalf("accept: %d %s", r.status, r.text)
			}
			other := g.post(`{"id":"a","amount":"2"}`)
			check("other content", other, ingest.Mismatch, ingest.NewKey)
			if other.Repeat == nil || !slices.Equal(other.Differs, []string{"/amount"}) {
				t.Errorf("a mismatch says what differs: %s", other.text)
			}
			if r := g.post(`{"id":"a","amount":"1"}`); r.Outcome != "dedupe" || r.RepeatsBefore != 0 {
				t.Errorf("after a mismatch: %d %s", r.status, r.text)
			}
		})
	}
}

// G29: the same key in two currencies within the window is a mismatch, whatever the source asks for.
func TestTwoCurrenciesAreAMismatch(t *testing.T) {
	g := open(t, plain())
	g.post(`{"id":"a","amount":"1.00","currency":"USD"}`)
	r := g.post(`{"id":"a","amount":"500","currency":"JPY"}`)
	if r.status != 422 || r.Code != ingest.Mismatch || !strings.Contains(r.Detail, "currency") {
		t.Errorf("%d %s", r.status, r.text)
	}
}

// G08: fifty deliveries of one key at once.
func TestFiftyAtOnce(t *testing.T) {
	g := open(t, plain())
	var all sync.WaitGroup
	statuses := make([]int, 50)
	for i := range statuses {
		all.Go(func() { statuses[i] = g.deliver("acme", "pay", `{"id":"a","amount":"1"}`).Code })
	}
	all.Wait()
	slices.Sort(statuses)
	if statuses[48] != 200 || statuses[49] != 202 || statuses[0] != 200 {
		t.Errorf("%v", statuses)
	}
	if a, d := g.counted("accept"), g.counted("duplicate_done"); a != 1 || d != 49 {
		t.Errorf("%v accepted, %v deduped", a, d)
	}
}
