package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/wire/ingest"
)

// counting counts commits, and fails those it is told to.
type counting struct {
	intake.Books
	calls  atomic.Int64
	fail   error
	called chan struct{} // gets a value with each call, where not nil
	hold   chan struct{} // a call waits until it is closed or its context ends, where not nil
}

func (c *counting) Enter(ctx context.Context, commands ...gateway.Command) ([]gateway.Outcome, error) {
	c.calls.Add(1)
	if c.called != nil {
		c.called <- struct{}{}
	}
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if c.fail != nil {
		return nil, c.fail
	}
	return c.Books.Enter(ctx, commands...)
}

func (g *gate) batch(body string, headers ...string) (status int, items []reply) {
	g.t.Helper()
	w := g.deliver("acme", "pay", body, headers...)
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &items); err != nil {
			g.t.Fatalf("%v in %s", err, w.Body)
		}
	}
	return w.Code, items
}

func TestABatchIsOneCommitInOrder(t *testing.T) {
	var c *counting
	g := openOn(t, func(b intake.Books) intake.Books { c = &counting{Books: b}; return c }, plain(func(s *ingest.Source) {
		s.OnMismatch, s.RejectStatus = ingest.MismatchReject, 422
	}))
	status, items := g.batch(`[
		{"id":"a","amount":"1"}, {"id":"b","amount":"x"}, {"amount":"1"}, {"id":"a","amount":"1"}, {"id":"c","amount":"1","scope":"?"}, 7, {"id":"a","amount":"2"}, {"id":"d","amount":"1"}]`)
	if status != http.StatusOK || c.calls.Load() != 1 {
		t.Fatalf("%d after %d commits", status, c.calls.Load())
	}
	var got []string
	for _, r := range items {
		got = append(got, fmt.Sprintf("%d %s%s", r.Status, r.Outcome, r.Code))
	}
	if want := "202 accept, 422 bad_amount, 400 bad_key, 200 dedupe, 400 bad_field, 400 bad_key, 422 mismatch, 202 accept"; strings.Join(got, ", ") != want {
		t.Errorf("%s\nnot %s", strings.Join(got, ", "), want)
	}
	if items[3].Repeats != items[0].ID || items[6].Repeats != items[0].ID || items[1].Type == "" || items[2].Retry != ingest.Never {
		t.Errorf("%+v", items)
	}
	if _, body := g.record(); string(body.Bytes) != `{"id":"d","amount":"1"}` || body.ContentType != "application/json" {
		t.Errorf("an item is kept as if it had come alone: %+v", body)
	}
	if g.counted("accept") != 2 || g.counted("bad_key") != 2 {
		t.Error("each item is counted")
	}
}

func TestBatchBounds(t *testing.T) {
	g := open(t, plain())
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"id":"k%d","amount":"1"}`, i)
		}
		return "[" + strings.TrimPrefix(b.String(), ",") + "]"
	}
	if status, items := g.batch(list(0)); status != 200 || len(items) != 0 {
		t.Errorf("no event: %d", status)
	}
	before := g.head()
	if r := g.post(list(1001)); r.status != 413 || r.Code != ingest.TooLarge || g.head() != before {
		t.Errorf("1,001 events: %d %s", r.status, r.text)
	}
	status, items := g.batch(list(1000))
	if status != 200 || len(items) != 1000 || items[999].Outcome != "accept" {
		t.Errorf("1,000 events: %d", status)
	}
}

func TestABatchThatIsNotStoredIsNotStoredAtAll(t *testing.T) {
	var c *counting
	g := openOn(t, func(b intake.Books) intake.Books { c = &counting{Books: b}; return c }, plain())
	before := g.head()
	c.fail = intake.ErrUnavailable
	r := g.post(`[{"id":"a","amount":"1"},{"amount":"1"}]`)
	if r.status != http.StatusServiceUnavailable || r.Code != ingest.Unavailable || r.header.Get("Retry-After") == "" || g.head() != before {
		t.Errorf("%d %s", r.status, r.text)
	}
	if g.counted("unavailable") != 1 {
		t.Error("a batch that failed as a whole counts as one")
	}
}

// The items of a batch share their headers: with a key from there, all but the first would be taken for repeats.
func TestABatchWhoseKeyIsAHeaderIsRefused(t *testing.T) {
	g := open(t, plain(func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X-Key"}} }))
	before := g.head()
	if r := g.post(`[{"amount":"1"},{"amount":"2"}]`, "X-Key: k"); r.status != 400 || r.Code != ingest.BadKey || g.head() != before {
		t.Errorf("%d %s", r.status, r.text)
	}
	if status, items := g.batch(`[{"amount":"1"}]`, "X-Key: k"); status != 200 || items[0].Outcome != "accept" {
		t.Errorf("of one: %d %+v", status, items)
	}
}
