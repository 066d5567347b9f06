package gatewayapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// walk reads a listing to its end, page by page, and returns the ids.
func (h *harness) walk(path, token, rows string) (ids []string, pages int) {
	h.t.Helper()
	for after := ""; ; {
		a := h.get(path+"&after="+after, token)
		if a.status != 200 {
			h.t.Fatalf("%s: %d %s", path, a.status, a.raw)
		}
		for _, e := range a.list(rows) {
			ids = append(ids, e["id"].(string))
		}
		pages++
		next, more := a.body["next"].(string)
		if !more {
			return ids, pages
		}
		after = url.QueryEscape(next)
		if pages > 100 {
			h.t.Fatal("the listing never ends")
		}
	}
}

func TestEventsInPages(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.Scan = 7 })
	h.source("acme", "shop", false)
	h.source("b", "s", false)
	var acme, b, k1 []string
	for i := range 20 {
		key := fmt.Sprint("k", i%3)
		id := h.event("acme", "shop", key, "1", "USD")
		acme = append(acme, id)
		if key == "k1" {
			k1 = append(k1, id)
		}
		if i%5 == 0 {
			b = append(b, h.event("b", "s", "k1", "1", "USD"))
		}
	}
	slices.Reverse(acme)
	slices.Reverse(b)
	slices.Reverse(k1)
	for _, c := range []struct {
		path, token string
		want        []string
		least       int // pages
	}{
		{"/v1/events?limit=200", h.token("acme=r"), acme, 3},
		{"/v1/events?tenant=acme&limit=2", h.token("*=r"), acme, 10},
		{"/v1/events?limit=3", h.token("b=r"), b, 2},
		{"/v1/events?tenant=acme&source=shop&key=k1&limit=2", h.token("acme=r"), k1, 3},
		{"/v1/events?tenant=acme&decision=accept", h.token("acme=r"), []string{acme[17], acme[18], acme[19]}, 3},
		{"/v1/events?tenant=acme&source=shop&key=none", h.token("acme=r"), nil, 1},
	} {
		got, pages := h.walk(c.path, c.token, "events")
		if !slices.Equal(got, c.want) || pages < c.least {
			t.Errorf("%s: %d pages\ngot  %v\nwant %v", c.path, pages, got, c.want)
		}
	}
}

func TestCursorsBelongToTheirListing(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	for range 5 {
		h.event("acme", "shop", "k", "1", "USD")
	}
	all := h.token("*=r")
	next := h.get("/v1/events?tenant=acme&limit=1", all).body["next"].(string)
	h.want(h.get("/v1/events?tenant=acme&limit=1&after="+next, all), 200, "")
	for _, path := range []string{"/v1/events?limit=1", "/v1/events?tenant=acme&decision=accept", "/v1/events?tenant=acme&source=shop", "/v1/deadletters?tenant=acme"} {
		h.want(h.get(path+"&after="+next, all), 400, "bad_request")
	}
	// Flipped, it is none: nobody can walk the numbers.
	for i := range 3 {
		c := []byte(next)
		c[i*5] ^= 1
		if a := h.get("/v1/events?tenant=acme&limit=1&after="+url.QueryEscape(string(c)), all); a.status != 400 {
			t.Errorf("%d %s", a.status, a.raw)
		}
	}
}

func TestReasons(t *testing.T) {
	h := newHarness(t)
	h.enter(&gateway.SetSource{Tenant: "acme", Source: "shop", Settings: gateway.Settings{WindowS: 100, Forward: true, Parts: 1}},
		&gateway.Register{Name: gateway.Name{Tenant: "acme", Source: "shop", Key: "k"}, Scope: settle.ScopeWire, LRUCapacity: 1, By: "test"})
	strict := func(id, currency string, print byte) *gateway.Event {
		return &gateway.Event{Name: gateway.Name{Tenant: "acme", Source: "shop", Key: "k"}, ID: id, Amount: "1", AmountOK: true, Value: settle.Amount{Whole: 1}, Currency: currency,
			Fingerprint: gateway.Hash{print}, Strict: true, Body: &gateway.Body{ContentType: "text/plain", Bytes: []byte("four")}}
	}
	h.event("acme", "shop", "other", "1", "USD")
	h.event("acme", "shop", "k", "1,5", "USD")
	h.enter(strict("ev_1", "USD", 1))
	h.now.Add(50 * second)
	h.enter(strict("ev_2", "USD", 1))
	h.enter(strict("ev_3", "USD", 2))
	h.enter(strict("ev_4", "EUR", 1))
	h.now.Add(101 * second)
	h.enter(strict("ev_5", "USD", 1))
	token := h.token("acme=r")
	want := map[string][2]string{
		"ev_1": {"accept", "the first of its key"},
		"ev_2": {"duplicate_pending", "50 s after its predecessor, within the window of 100 s; the event that it repeats is pending"},
		"ev_3": {"mismatch", "0 s after its predecessor, within the window of 100 s, but its content differs"},
		"ev_4": {"mismatch", "which is in another currency"},
		"ev_5": {"accept", "101 s after its predecessor, beyond the window of 100 s"},
	}
	rows := h.get("/v1/events?tenant=acme", token).list("events")
	for _, e := range rows {
		w, named := want[e["id"].(string)]
		if !named {
			w = map[bool][2]string{true: {"unknown_key", "isn't registered"}, false: {"bad_amount", "is no amount"}}[e["key"] == "other"]
		}
		if e["decision"] != w[0] || !strings.Contains(e["reason"].(string), w[1]) {
			t.Errorf("%v, want %v", e, w)
		}
	}
	if len(rows) != 7 {
		t.Errorf("%d events", len(rows))
	}
	one := h.get("/v1/events/ev_5", token)
	chain := one.list("chain")
	event := one.body["event"].(map[string]any)
	delivery, _ := one.body["delivery"].(map[string]any)
	body, _ := one.body["body"].(map[string]any)
	if one.status != 200 || len(chain) != 5 || chain[0]["id"] != "ev_4" || chain[4]["decision"] != "bad_amount" || event["gapS"] != 101.0 || event["forward"] != "waiting" ||
		delivery["state"] != "held" || body["bytes"] != 4.0 || one.body["more"] != false {
		t.Errorf("%d %s", one.status, one.raw)
	}
	if e := h.get("/v1/events/ev_2", token).body["event"].(map[string]any); e["repeats"] != "ev_1" || e["gapS"] != 50.0 {
		t.Errorf("%v", e)
	}
}

func TestDecisionsOverTime(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	h.source("b", "s", false)
	from := h.now.Load()
	for range 6 {
		h.event("acme", "shop", "k", "1", "USD")
		h.event("b", "s", "k", "1", "USD")
		h.now.Add(10 * second)
	}
	h.event("acme", "shop", "k", "one", "USD")
	path := fmt.Sprintf("/v1/decisions?tenant=acme&from=%d&to=%d&step=30000", from, h.now.Load()+1)
	a := h.get(path, h.token("acme=r"))
	b := a.list("buckets")
	if a.status != 200 || len(b) != 3 || a.body["complete"] != true || b[0]["accept"] != 1.0 || b[0]["duplicateDone"] != 2.0 || b[1]["duplicateDone"] != 3.0 || b[2]["badAmount"] != 1.0 || b[1]["at"] != float64(from+30000) {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if d := h.get(fmt.Sprintf("/v1/decisions?from=%d&to=%d&step=60000", from, from+60000), h.token("*=r")).list("buckets"); len(d) != 1 || d[0]["accept"] != 2.0 || d[0]["duplicateDone"] != 10.0 {
		t.Errorf("%v", d)
	}
	if d := h.get("/v1/decisions", h.token("*=r")); d.status != 200 || len(d.list("buckets")) < 90 || len(d.list("buckets")) > 101 || d.body["complete"] != true {
		t.Errorf("%d %s", d.status, d.raw)
	}
}

func (a answer) counted() (n float64) {
	for _, b := range a.list("buckets") {
		n += b["accept"].(float64) + b["duplicateDone"].(float64)
	}
	return n
}

// What one request can't read is counted by those that follow.
func TestDecisionsOfMoreThanOneRequestReads(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.Scan = 1 }) // so that scanFactor records are read
	h.source("acme", "shop", false)
	from := h.now.Load()
	const events = 2 * scanFactor
	for range events {
		h.event("acme", "shop", "k", "1", "USD")
		h.now.Add(10 * second)
	}
	path := fmt.Sprintf("/v1/decisions?from=%d&to=%d&step=10000", from, h.now.Load())
	first := h.get(path, h.token("*=r"))
	if first.body["complete"] != false || first.counted() == 0 || first.counted() >= events {
		t.Errorf("%v counted, %s", first.counted(), first.raw)
	}
	var last answer
	for range 3 {
		last = h.get(path, h.token("*=r"))
	}
	if last.body["complete"] != true || last.counted() != events {
		t.Errorf("%v counted, %s", last.counted(), last.raw)
	}
	h.event("acme", "shop", "k", "1", "USD")
	h.now.Add(10 * second)
	next := h.get(fmt.Sprintf("/v1/decisions?from=%d&to=%d&step=10000", from, h.now.Load()), h.token("acme=r"))
	if next.body["complete"] != true || next.counted() != events+1 {
		t.Errorf("%v counted, %s", next.counted(), next.raw)
	}

	// A time before the tally's beginning is read from the log, the latest of it.
	h.now.Add(3 * tallySpan)
	again := newServer(Options{Books: h.books, Scan: 1, Now: h.now.Load})
	d := &Decisions{From: from, To: from + events*10*second, Step: 10 * second}
	d.Buckets = make([]Bucket, events)
	if err := h.books.View(t.Context(), func(v intake.View) error {
		return again.countDecisions(withSession(t.Context(), h.session("*=r")), v, &decisionsIn{}, d)
	}); err != nil {
		t.Fatal(err)
	}
	counted := int64(0)
	for _, b := range d.Buckets {
		counted += b.Accept + b.DuplicateDone
	}
	if d.Complete || counted != scanFactor || d.Since != from+(events-scanFactor)*10*second {
		t.Errorf("%d counted, since %d, complete %t", counted, d.Since-from, d.Complete)
	}
}

func TestTheTallyIsBounded(t *testing.T) {
	tl := &tally{cells: map[cell]*counts{}, names: map[string]string{}}
	for i := range tallyCells + 1 {
		tl.count(&gateway.Brief{At: int64(i) * grain, Tenant: []byte("a"), Source: []byte("s"), Decision: gateway.Accept})
	}
	tl.prune()
	if len(tl.cells) > tallyCells || len(tl.cells) < tallyCells/3 || tl.since == 0 {
		t.Errorf("%d cells, since %d", len(tl.cells), tl.since)
	}
	for c := range tl.cells {
		if c.at < tl.since {
			t.Fatalf("a cell of %d is before %d", c.at, tl.since)
		}
	}
}

func TestAdvice(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	h.source("b", "s", false)
	for _, gap := range []int64{0, 100, 1000, 4000} { // window 3600
		h.now.Add(gap * second)
		h.event("acme", "shop", "k", "1.5", "USD")
		h.event("b", "s", "k", "9", "USD")
	}
	a := h.get("/v1/advice/acme/shop", h.token("acme=r"))
	byWindow := map[float64]map[string]any{}
	for _, w := range a.list("windows") {
		byWindow[w["windowS"].(float64)] = w
	}
	if a.status != 200 || a.body["windowS"] != 3600.0 || a.body["events"] != 3.0 || a.body["longestGapS"] != 4000.0 || a.body["complete"] != true {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if w := byWindow[300]; w["repeats"] != 1.0 || w["letThrough"] != 1.0 || w["amounts"].(map[string]any)["USD"] != "1.50" {
		t.Errorf("%v", w)
	}
	if w := byWindow[21600]; w["repeats"] != 3.0 || w["held"] != 1.0 || w["letThrough"] != 0.0 {
		t.Errorf("%v", w)
	}
}
