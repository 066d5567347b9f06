package gatewayapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hapax/internal/engine/intake"
)

// Everything that there is of one tenant answers to another's token exactly like what there isn't.
func TestATenantsThingsDoNotExistForOthers(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", true)
	h.source("b", "s", false)
	id := h.event("acme", "shop", "k1", "1.00", "USD")
	h.event("acme", "shop", "k1", "1.00", "USD")
	h.event("b", "s", "k", "2", "EUR")
	h.die(id, "status 403")
	other := h.token("b=rw")
	for _, path := range []string{
		"/v1/ledger/%s", "/v1/registry/%s/shop", "/v1/registry/%s/shop/k1", "/v1/events?tenant=%s", "/v1/events?tenant=%s&source=shop", "/v1/events?tenant=%s&source=shop&key=k1",
		"/v1/deadletters?tenant=%s", "/v1/deadletters?tenant=%s&source=shop", "/v1/decisions?tenant=%s", "/v1/advice/%s/shop",
	} {
		there, not := h.get(fmt.Sprintf(path, "acme"), other), h.get(fmt.Sprintf(path, "nobody"), other)
		h.want(there, 404, "not_found")
		if there.raw != not.raw {
			t.Errorf("%s: %s is told from %s", path, there.raw, not.raw)
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPut, "/v1/registry/%s/shop/k1", `{"scope":"wire"}`}, {http.MethodDelete, "/v1/registry/%s/shop/k1", ""},
		{http.MethodPost, "/v1/registry/%s/shop", "x\ty\tz\twire\t0\t0"}, {http.MethodPost, "/v1/deadletters/replay", `{"tenant":"%s"}`},
	} {
		ask := func(tenant string) answer {
			fill := func(s string) string { return strings.ReplaceAll(s, "%s", tenant) }
			headers := []string{"Idempotency-Key", "1"}
			if strings.Contains(c.body, "\t") {
				headers = append(headers, "Content-Type", "text/tab-separated-values")
			}
			return h.ask(c.method, fill(c.path), other, fill(c.body), headers...)
		}
		there, not := ask("acme"), ask("nobody")
		h.want(there, 404, "not_found")
		if there.raw != not.raw {
			t.Errorf("%s: %s is told from %s", c.path, there.raw, not.raw)
		}
	}
	for _, c := range []struct{ method, path string }{{"GET", "/v1/events/%s"}, {"POST", "/v1/deadletters/%s/replay"}, {"POST", "/v1/deadletters/%s/discard"}} {
		there := h.ask(c.method, fmt.Sprintf(c.path, id), other, "", "Idempotency-Key", "1")
		not := h.ask(c.method, fmt.Sprintf(c.path, "ev_none"), other, "", "Idempotency-Key", "1")
		h.want(there, 404, "not_found")
		if there.raw != not.raw {
			t.Errorf("%s: %s is told from %s", c.path, there.raw, not.raw)
		}
	}
	for _, path := range []string{"/v1/sources", "/v1/events", "/v1/deadletters", "/v1/decisions"} {
		if a := h.get(path, other); a.status != 200 || strings.Contains(a.raw, "acme") || strings.Contains(a.raw, "k1") {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if strings.Contains(h.log.String(), "acme") || strings.Contains(h.log.String(), "k1") {
		t.Errorf("the log names another tenant: %s", h.log.String())
	}
}

func TestWithoutATokenThereIsNothing(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{"/v1/sources", "/v1/events", "/v1/ledger/a", "/v1/report?currency=USD", "/v1/proof"} {
		h.want(h.get(path, ""), 401, "session_invalid")
		h.want(h.get(path, "a.b.c"), 401, "session_invalid")
	}
	for _, path := range []string{"/v1/report?currency=USD", "/v1/proof"} {
		h.want(h.get(path, h.token("acme=rw", "acme*=rw")), 403, "forbidden")
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	all := h.token("*=rw")
	for _, path := range []string{
		"/v1/events?limit=0", "/v1/events?limit=201", "/v1/events?limit=x", "/v1/events?decision=maybe", "/v1/events?tenants=acme", "/v1/events?tenant=acme&tenant=b",
		"/v1/events?source=shop", "/v1/events?tenant=acme&key=k", "/v1/events?after=x", "/v1/events?%zz", "/v1/deadletters?source=shop", "/v1/report", "/v1/report?currency=usd",
		"/v1/report?currency=US", "/v1/decisions?step=1", "/v1/decisions?to=9223372036854775807", "/v1/decisions?from=5&to=4", "/v1/decisions?from=1&to=100000000000&step=1000", "/v1/decisions?source=shop",
	} {
		h.want(h.get(path, all), 400, "bad_request")
	}
	for _, body := range []string{`{"scope":"wire","scope":"wire"}`, `{"scope":"none"}`, `{"Scope":"wire"}`, `{"scope":"wire","x":1}`, `{"scope":"wire"}{}`, `{"scope":"wire","windowS":-1}`, `[]`, `{`} {
		h.want(h.ask(http.MethodPut, "/v1/registry/acme/shop/k", all, body), 400, "bad_request")
	}
	h.want(h.ask(http.MethodPut, "/v1/registry/acme/shop/%20k", all, `{"scope":"wire"}`), 400, "bad_request")
	h.want(h.ask(http.MethodPut, "/v1/registry/acme/shop/k", all, `{"scope":"wire","windowS":1}`+strings.Repeat(" ", 2<<20)), 413, "too_large")
	if a := h.ask(http.MethodPatch, "/v1/events", all, ""); a.status != 405 || a.body["status"] != 405.0 || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v %s", a.status, a.header, a.raw)
	}
}

func TestLedgerAndSources(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", true)
	h.source("acme", "web", false)
	for range 3 {
		h.event("acme", "shop", "k1", "2.5", "USD")
	}
	h.event("acme", "shop", "k2", "1.50", "EUR")
	h.event("acme", "web", "k1", "10", "USD")
	h.event("acme", "web", "k1", "ten", "USD")
	token := h.token("acme=r")
	a := h.get("/v1/ledger/acme", token)
	books, sums := a.list("books"), a.list("currencies")
	if a.status != 200 || len(books) != 3 || len(sums) != 2 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	usd := sums[1]
	counts := usd["counts"].(map[string]any)
	if usd["currency"] != "USD" || usd["acceptedTotal"] != "12.50" || usd["dedupedAmount"] != "5.00" || counts["events"] != 5.0 || counts["badAmount"] != 1.0 || counts["duplicatePending"] != 2.0 {
		t.Errorf("%v", usd)
	}
	repeated := books[1]["repeated"].([]any)
	if books[1]["source"] != "shop" || len(repeated) != 1 || repeated[0].(map[string]any)["hits"] != 2.0 || repeated[0].(map[string]any)["key"] != "k1" {
		t.Errorf("%v", books[1])
	}
	for _, number := range []string{"lru_rank", "seq", "number"} {
		if strings.Contains(a.raw, number) {
			t.Errorf("a tenant sees %s: %s", number, a.raw)
		}
	}
	rows := h.get("/v1/sources", token).list("sources")
	if len(rows) != 2 || rows[0]["source"] != "shop" || rows[0]["windowS"] != 3600.0 || rows[0]["registry"] != "open" || rows[0]["forward"] != true || rows[0]["events"] != 4.0 || rows[0]["waiting"] != 2.0 {
		t.Errorf("%v", rows)
	}
}

// A source whose events don't leave says so, to who may see it.
func TestSourcesThatAreStuck(t *testing.T) {
	h := newHarness(t, func(o *Options) {
		o.Stuck = func() []Stuck {
			return []Stuck{{Tenant: "acme", Source: "gone", Held: true}, {Tenant: "acme", Source: "shop", RestsUntil: 7}, {Tenant: "b", Source: "shop", Held: true}}
		}
	})
	for _, name := range []string{"fine", "gone", "shop"} {
		h.source("acme", name, true)
	}
	h.source("b", "shop", true)
	a := h.get("/v1/sources", h.token("acme=r"))
	rows := a.list("sources")
	if len(rows) != 3 || rows[0]["held"] != nil || rows[0]["restsUntil"] != nil || rows[1]["held"] != true || rows[2]["held"] != nil || rows[2]["restsUntil"] != 7.0 {
		t.Errorf("%s", a.raw)
	}
}

func TestReportIsTheContracts(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	h.source("b", "s", false)
	h.event("acme", "shop", "k1", "2.5", "USD")
	h.event("acme", "shop", "k1", "2.5", "USD")
	h.event("b", "s", "k1", "1", "USD")
	var want, number string
	if err := h.books.View(t.Context(), func(v intake.View) error {
		r, err := intake.Report(v, "USD")
		want, number = string(r.Bytes()), fmt.Sprint(v.Head().Number)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a := h.get("/v1/report?currency=USD", h.token("*=r"))
	if a.status != 200 || a.raw != want || a.header.Get("Hapax-Record") != number || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v\n%s\nwant\n%s", a.status, a.header, a.raw, want)
	}
	p := h.get("/v1/proof", h.token("*=r"))
	if p.status != 200 || p.body["proven"] != false || fmt.Sprint(p.body["head"]) != number {
		t.Errorf("%d %s", p.status, p.raw)
	}
}
