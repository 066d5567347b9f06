package gatewayapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

func TestRegistry(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	token := h.token("acme=rw")
	key := "/v1/registry/acme/shop/" + url.PathEscape("a/b ü.")
	h.want(h.get(key, token), 404, "not_found")
	if a := h.ask(http.MethodPut, key, token, `{"scope":"wire","windowS":60}`); a.status != 200 || a.body["key"] != "a/b ü." || a.body["windowS"] != 60.0 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a := h.ask(http.MethodPut, key, token, `{"scope":"schema","lruCapacity":5}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a := h.get(key, token); a.body["scope"] != "schema" || a.body["windowS"] != 0.0 || a.body["lruCapacity"] != 5.0 || a.body["events"] != 0.0 {
		t.Errorf("%s", a.raw)
	}
	h.want(h.ask(http.MethodPut, key, h.token("acme=r"), `{"scope":"wire"}`), 403, "forbidden")
	h.want(h.ask(http.MethodPut, "/v1/registry/acme/none/k", token, `{"scope":"wire"}`), 404, "not_found")
	h.want(h.get(key, h.token("acme=w")), 404, "not_found")
	h.event("acme", "shop", "a/b ü.", "1", "USD")
	h.want(h.ask(http.MethodDelete, key, token, ""), 409, "has_event")
	h.ask(http.MethodPut, "/v1/registry/acme/shop/free", token, `{"scope":"wire"}`)
	if a := h.ask(http.MethodDelete, "/v1/registry/acme/shop/free", token, ""); a.status != 204 || a.raw != "" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	h.want(h.ask(http.MethodDelete, "/v1/registry/acme/shop/free", token, ""), 404, "not_found")
}

func TestRegistryInPages(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.Scan = 4 })
	h.source("acme", "shop", false)
	token := h.token("acme=rw")
	var want []string
	for i := range 10 {
		name := fmt.Sprintf("k%02d", i)
		h.ask(http.MethodPut, "/v1/registry/acme/shop/"+name, token, `{"scope":"wire"}`)
		if i%3 == 1 {
			h.ask(http.MethodDelete, "/v1/registry/acme/shop/"+name, token, "")
			continue
		}
		want = append(want, name)
	}
	var got []string
	for after := ""; ; {
		a := h.get("/v1/registry/acme/shop?limit=3&after="+after, token)
		for _, r := range a.list("registrations") {
			got = append(got, r["key"].(string))
		}
		next, more := a.body["next"].(string)
		if !more {
			break
		}
		after = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// G18: each good row once; sent again it equals a single clean run.
func TestG18ManyRowsOfWhichOneIsBroken(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	token := h.token("acme=rw")
	rows := &strings.Builder{}
	rows.WriteString("\ufeff# tenant, source, key …\r\n\n")
	for i := 1; i <= 600; i++ {
		window := "60"
		if i == 150 {
			window = "06"
		}
		fmt.Fprintf(rows, "acme\tshop\tk%d\twire\t%s\t3\r\n", i, window)
	}
	rows.WriteString("b\tshop\tx\twire\t0\t0\nacme\tother\tx\twire\t0\t0\nacme\tshop\tx\twire\t0\nacme\tshop\tx\twire\t0\t0\t1\nacme\tshop\ty\tWire\t0\t0")
	post := func() answer {
		return h.ask(http.MethodPost, "/v1/registry/acme/shop", token, rows.String(), "Content-Type", "text/tab-separated-values")
	}
	a := post()
	if a.status != 200 || a.body["registered"] != 600.0 || a.body["skipped"] != 5.0 || a.body["same"] != 0.0 {
		t.Fatalf("%d %.300s", a.status, a.raw)
	}
	reasons := map[float64]any{}
	for i, r := range a.list("rows") {
		if r["line"] != float64(i+3) {
			t.Fatalf("row %d is of line %v", i, r["line"])
		}
		if r["result"] == "skipped" {
			reasons[r["line"].(float64)] = r["reason"]
		}
	}
	if fmt.Sprint(reasons) != fmt.Sprint(map[float64]any{152: "window_s", 603: "tenant", 604: "source", 605: "columns", 607: "scope"}) {
		t.Errorf("%v", reasons)
	}
	var head int64
	if err := h.books.View(t.Context(), func(v intake.View) error { head = v.Head().Number; return nil }); err != nil {
		t.Fatal(err)
	}
	if a := post(); a.body["same"] != 600.0 || a.body["registered"] != 0.0 {
		t.Errorf("again: %.300s", a.raw)
	}
	if err := h.books.View(t.Context(), func(v intake.View) error {
		if v.Head().Number != head {
			t.Error("the same rows left records")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	h.want(h.ask(http.MethodPost, "/v1/registry/acme/shop", h.token("acme=r"), "x", "Content-Type", "text/tab-separated-values"), 403, "forbidden")
	h.want(h.ask(http.MethodPost, "/v1/registry/acme/none", token, "x", "Content-Type", "text/tab-separated-values"), 404, "not_found")
	for _, utf16 := range []string{"\xff\xfea\x00", "\xfe\xff\x00a"} {
		h.want(h.ask(http.MethodPost, "/v1/registry/acme/shop", token, utf16, "Content-Type", "text/tab-separated-values"), 400, "bad_request")
	}
}

func TestDeadLettersInPages(t *testing.T) {
	h := newHarness(t)
	var want []string
	for _, tenant := range []string{"c", "a", "b"} { // numbers rise against the order of the names
		h.source(tenant, "s", true)
		for i := range 3 {
			h.die(h.event(tenant, "s", fmt.Sprint("k", i), "1", "USD"), "status 403")
		}
	}
	for _, tenant := range []string{"a", "b", "c"} {
		for _, d := range h.get("/v1/deadletters?tenant="+tenant, h.token("*=r")).list("deadLetters") {
			want = append(want, d["id"].(string))
		}
	}
	if len(want) != 9 {
		t.Fatalf("%v", want)
	}
	for limit := range 9 {
		if got, _ := h.walk(fmt.Sprintf("/v1/deadletters?limit=%d", limit+1), h.token("*=r"), "deadLetters"); !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit+1, got, want)
		}
	}
	if got, _ := h.walk("/v1/deadletters?limit=2", h.token("a=r", "c=r"), "deadLetters"); len(got) != 6 || got[5] != want[8] {
		t.Errorf("%v", got)
	}
	first := h.get("/v1/deadletters?tenant=a&source=s&limit=1", h.token("a=r")).list("deadLetters")[0]
	if first["state"] != "dead" || first["reason"] != "status 403" || first["key"] != "k0" || first["sends"] != 1.0 {
		t.Errorf("%v", first)
	}
}

// G20: a replay twice is two sends; one that the transport repeats is one.
func TestG20ReplayedOnceForEachRequest(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", true)
	id := h.event("acme", "shop", "k", "1", "USD")
	token := h.token("acme=rw")
	replay := func(key string) answer {
		return h.ask(http.MethodPost, "/v1/deadletters/"+id+"/replay", token, "", "Idempotency-Key", key)
	}
	h.want(replay("1"), 409, "not_dead")
	h.die(id, "status 403")
	h.want(h.ask(http.MethodPost, "/v1/deadletters/"+id+"/replay", token, ""), 400, "bad_request")
	h.want(h.ask(http.MethodPost, "/v1/deadletters/"+id+"/replay", h.token("acme=r"), "", "Idempotency-Key", "1"), 403, "forbidden")
	h.want(replay(""), 400, "bad_request")
	if a := replay("1"); a.status != 200 || a.body["repeat"] != false || a.header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	for _, key := range []string{"1", `"1"`} { // bare or in quotes it is one key
		if a := replay(key); a.status != 200 || a.body["repeat"] != true || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%d %s", a.status, a.raw)
		}
	}
	h.die(id, "status 403")
	if a := replay("1"); a.body["repeat"] != true { // it came late
		t.Errorf("%s", a.raw)
	}
	if a := replay("2"); a.body["repeat"] != false {
		t.Errorf("%s", a.raw)
	}
	h.die(id, "status 403")
	discard := func() answer { return h.ask(http.MethodPost, "/v1/deadletters/"+id+"/discard", token, "") }
	if a := discard(); a.status != 204 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := discard(); a.status != 204 { // B7: by the transport
		t.Errorf("%d %s", a.status, a.raw)
	}
	h.want(replay("3"), 404, "not_found")
	if e := h.get("/v1/events/"+id, token); e.body["event"].(map[string]any)["forward"] != "settled" {
		t.Errorf("%s", e.raw)
	}
	h.want(h.ask(http.MethodPost, "/v1/deadletters/ev_none/discard", token, ""), 404, "not_found")
}

// B7: a replay or discard that the transport repeats after its event was delivered or discarded is answered as at first, for a day;
// another person's, or another request, is not.
func TestADecisionThatComesAgainIsAnsweredAsAtFirst(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", true)
	h.source("rival", "shop", true)
	token := h.token("acme=rw")
	ask := func(token, id, what, key string) answer {
		return h.ask(http.MethodPost, "/v1/deadletters/"+id+"/"+what, token, "", "Idempotency-Key", key)
	}
	delivered, given := h.event("acme", "shop", "k", "1", "USD"), h.event("acme", "shop", "l", "1", "USD")
	h.die(delivered, "status 403")
	h.die(given, "status 403")
	if a := ask(token, delivered, "replay", "1"); a.status != 200 || a.body["repeat"] != false {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a := ask(token, given, "replay", "1"); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	var number int64
	if err := h.books.View(t.Context(), func(v intake.View) (err error) { number, err = v.Number(delivered); return err }); err != nil {
		t.Fatal(err)
	}
	h.enter(&gateway.Settled{Number: number, OK: true})
	h.die(given, "status 403")
	if a := ask(token, given, "discard", "d"); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	for range 3 {
		for _, id := range []string{delivered, given} {
			if a := ask(token, id, "replay", "1"); a.status != 200 || a.body["repeat"] != true || a.body["id"] != id || a.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%d %s", a.status, a.raw)
			}
		}
		if a := ask(token, given, "discard", "d"); a.status != 204 {
			t.Errorf("%d %s", a.status, a.raw)
		}
		h.want(ask(token, delivered, "replay", "2"), 404, "not_found")
		h.want(ask(token, delivered, "discard", "1"), 404, "not_found")
		h.want(ask(h.token("rival=rw"), given, "discard", "d"), 404, "not_found")
		h.now.Add(7 * 3600 * second)
	}
	h.now.Add(4 * 3600 * second) // a day after it was settled
	h.want(ask(token, delivered, "replay", "1"), 404, "not_found")
	h.want(ask(token, given, "discard", "d"), 404, "not_found")
}

func TestRangeReplay(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", true)
	h.source("acme", "web", true)
	start := h.now.Load()
	for i := range 4 {
		h.die(h.event("acme", "shop", fmt.Sprint("k", i), "1", "USD"), "status 500")
		h.die(h.event("acme", "web", fmt.Sprint("k", i), "1", "USD"), "status 500")
		h.now.Add(10 * second)
	}
	token := h.token("acme=rw")
	replay := func(key, body string) answer {
		return h.ask(http.MethodPost, "/v1/deadletters/replay", token, body, "Idempotency-Key", key)
	}
	if a := replay("1", fmt.Sprintf(`{"tenant":"acme","source":"shop","from":%d,"to":%d}`, start+10*second, start+30*second)); a.status != 200 || a.body["replayed"] != 2.0 || a.body["next"] != nil {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if a := replay("2", `{"tenant":"acme"}`); a.body["replayed"] != 6.0 {
		t.Errorf("%s", a.raw)
	}
	if a := replay("2", `{"tenant":"acme"}`); a.body["replayed"] != 0.0 {
		t.Errorf("%s", a.raw)
	}
	h.want(replay("3", `{"tenant":"acme","source":"none"}`), 404, "not_found")
	h.want(replay("3", `{}`), 400, "bad_request")
	h.want(h.ask(http.MethodPost, "/v1/deadletters/replay", token, `{"tenant":"acme"}`), 400, "bad_request")
}

func TestRangeReplayGoesOn(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", true)
	var commands []gateway.Command
	for i := range rangeReplays + 1 {
		id := h.event("acme", "shop", fmt.Sprint("k", i), "1", "USD")
		if err := h.books.View(t.Context(), func(v intake.View) error {
			n, err := v.Number(id)
			commands = append(commands, &gateway.Attempt{Number: n}, &gateway.Settled{Number: n, Reason: "x"})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	h.enter(commands...)
	token := h.token("acme=rw")
	a := h.ask(http.MethodPost, "/v1/deadletters/replay", token, `{"tenant":"acme"}`, "Idempotency-Key", "1")
	if a.body["replayed"] != float64(rangeReplays) || a.body["next"] == nil {
		t.Fatalf("%s", a.raw)
	}
	b := h.ask(http.MethodPost, "/v1/deadletters/replay", token, fmt.Sprintf(`{"tenant":"acme","after":%q}`, a.body["next"]), "Idempotency-Key", "1")
	if b.body["replayed"] != 1.0 || b.body["next"] != nil {
		t.Errorf("%s", b.raw)
	}
}
