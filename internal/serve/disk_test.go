package serve_test

import (
	"strings"
	"testing"

	"hapax/internal/config"
)

// TestBelowTheMarkOfTheDiskReadsGoOn: a server that finds less free than its mark refuses what it would store, says so everywhere, and goes on
// answering what it holds.
func TestBelowTheMarkOfTheDiskReadsGoOn(t *testing.T) {
	data := t.TempDir() + "/data"
	sources := withGateway(map[string]config.Source{"shop": shop(t)})
	begin := func(diskFree int64) *running {
		return start(t, setup{kind: "pebble", change: func(c *config.Config) {
			sources(c)
			c.Data, c.Limits.DiskFree = data, diskFree
		}})
	}
	r := begin(0)
	r.ready()
	if a := r.post("tea", r.token("ada"), "a", `{"text":"x"}`); a.status/100 != 2 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	r.deliveries(1, 1)
	r.until("hapax_disk_low 0")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	r = begin(1 << 60) // no disk has so much
	if status, body := r.adminStatus("/readyz"); status != 503 || !strings.Contains(body, "the disk is nearly full") {
		t.Errorf("/readyz: %d %s", status, body)
	}
	r.until("hapax_disk_low 1")
	if a := r.post("tea", r.token("ada"), "b", `{"text":"x"}`); a.status != 503 || a.body.str("code") != "unavailable" || a.header.Get("Retry-After") == "" {
		t.Errorf("a send: %d %s", a.status, a.raw)
	}
	if a := r.get("/v1/rooms/tea/messages/by-key/a", r.token("ada")); a.status != 200 {
		t.Errorf("what is stored: %d %s", a.status, a.raw)
	}
	for a := r.deliver("shop", `{"id":"e2","amount":"1.50"}`); ; a = r.deliver("shop", `{"id":"e2","amount":"1.50"}`) {
		if a.body.str("code") == "unproved" {
			continue // the log is still being checked
		}
		if a.status != 503 || a.body.str("code") != "unavailable" || a.header.Get("Retry-After") == "" {
			t.Errorf("a delivery: %d %s", a.status, a.raw)
		}
		break
	}
	if a := r.get("/v1/sources", r.operator()); a.status != 200 || len(a.body.rows("sources")) != 1 {
		t.Errorf("the books: %d %s", a.status, a.raw)
	}
}
