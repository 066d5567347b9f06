package serve_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/internal/serve"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
)

const githubSecret = "a secret of the upstream"

// file makes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shop is a source of bodies like {"id":"e1","amount":"1.50"}, signed like GitHub's.
func shop(t *testing.T, change ...func(*config.Source)) config.Source {
	s := config.Source{
		Verify: config.Verify{Scheme: "github", Secrets: []config.Secret{{Label: "a", File: file(t, githubSecret+"\n")}}},
		Key:    config.Parts{{Pointer: "/id"}}, Amount: config.Amount{From: config.From{Pointer: "/amount"}}, Currency: config.From{Const: "USD"},
		Registry: "open", LRUCapacity: 10,
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func tenants(sources map[string]config.Source) map[string]config.Tenant {
	return map[string]config.Tenant{"acme": {Sources: sources}}
}

func withGateway(sources map[string]config.Source) func(*config.Config) {
	return func(c *config.Config) { c.Gateway.Tenants = tenants(sources) }
}

// deliver posts a signed body.
func (r *running) deliver(source, body string) answer {
	r.t.Helper()
	mac := hmac.New(sha256.New, []byte(githubSecret))
	mac.Write([]byte(body))
	return r.request("POST", "/v1/ingest/acme/"+source, "", strings.NewReader(body), http.Header{
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}, "Content-Type": {"application/json"},
	})
}

// ready waits until /readyz says so: a gateway's log is checked first.
func (r *running) ready() {
	r.t.Helper()
	for end := time.Now().Add(patience); ; {
		status, body := r.adminStatus("/readyz")
		if status == 200 {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("never ready: %s", body)
		}
	}
}

// asked reloads and waits until it was taken or refused.
func (r *running) asked(result string, n int) {
	r.t.Helper()
	r.reloads <- syscall.SIGHUP
	r.until(fmt.Sprintf(`hapax_config_reloads_total{result=%q} %d`, result, n))
}

func TestADeliverysWay(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		got := make(chan *http.Request, 10)
		to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			got <- r
		}))
		defer to.Close()
		s := shop(t, func(s *config.Source) {
			s.Forward = &config.Forward{URL: to.URL, SecretFiles: []string{file(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, Allow: []string{"127.0.0.0/8"}}
		})
		r := start(t, setup{kind: kind, change: withGateway(map[string]config.Source{"shop": s})})
		r.ready()
		first := r.deliver("shop", `{"id":"e1","amount":"1.50"}`)
		if first.status != 202 || first.body.str("id") == "" {
			t.Fatalf("%d %s", first.status, first.raw)
		}
		if a := r.deliver("shop", `{"id":"e1","amount":"1.50"}`); a.status != 200 || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%d %s", a.status, a.raw)
		}
		if a := r.request("POST", "/v1/ingest/acme/shop", "", strings.NewReader(`{"id":"e1","amount":"1.50"}`), nil); a.status != 401 {
			t.Errorf("unsigned: %d %s", a.status, a.raw)
		}
		sent := <-got
		if sent.Header.Get("Idempotency-Key") != first.body.str("id") || sent.Header.Get("Webhook-Signature") == "" {
			t.Errorf("%v", sent.Header)
		}
		token := r.operator()
		book := r.get("/v1/ledger/acme", token).body.rows("books")[0]
		if book.str("acceptedTotal") != "1.50" || book.str("dedupedAmount") != "1.50" || book.str("currency") != "USD" {
			t.Errorf("%v", book)
		}
		if a := r.get("/v1/ledger/acme", r.token("ada")); a.status != 404 {
			t.Errorf("a token of rooms: %d %s", a.status, a.raw)
		}
		for end := time.Now().Add(patience); r.get("/v1/sources", token).body.rows("sources")[0].num("waiting") > 0; {
			if time.Now().After(end) {
				t.Fatal("the outbox is never empty")
			}
		}
	})
}

func TestWithoutAGatewayThereIsNoneUntilAReloadBringsOne(t *testing.T) {
	var next atomic.Pointer[config.Config]
	r := start(t, setup{kind: "pebble", reload: func() (config.Config, error) { return *next.Load(), nil }})
	token := r.operator()
	for _, path := range []string{"/v1/sources", "/v1/events", "/v1/report?currency=USD"} {
		if a := r.get(path, token); a.status != 404 || a.body.str("code") != "not_found" {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.status != 404 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	c := r.config
	c.Gateway.Tenants = tenants(map[string]config.Source{"shop": shop(t)})
	next.Store(&c)
	r.asked("taken", 1)
	r.ready()
	if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.status != 202 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	// What the log holds stays to be read when the configuration names nothing more.
	empty := c
	empty.Gateway.Tenants = nil
	next.Store(&empty)
	r.asked("taken", 2)
	if a := r.deliver("shop", `{"id":"e2","amount":"1"}`); a.status != 401 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := r.get("/v1/ledger/acme", token); a.status != 200 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestAReloadIsTakenWholeOrNotAtAll(t *testing.T) {
	var next atomic.Pointer[config.Config]
	var fault atomic.Pointer[error]
	r := start(t, setup{kind: "pebble", change: withGateway(map[string]config.Source{"shop": shop(t)}), reload: func() (config.Config, error) {
		if err := fault.Load(); err != nil {
			return config.Config{}, *err
		}
		return *next.Load(), nil
	}})
	r.ready()
	if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.status != 202 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	refused := 0
	refuse := func(name string, change func(c *config.Config)) {
		c := r.config
		c.Gateway.Tenants = tenants(map[string]config.Source{"shop": shop(t), "second": shop(t)})
		change(&c)
		next.Store(&c)
		refused++
		r.asked("refused", refused)
		if status, body := r.adminStatus("/readyz"); status != 200 || !strings.Contains(body, "the last reload was refused") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if metrics := r.admin("/metrics"); !strings.Contains(metrics, "hapax_config_reload_refused 1\n") {
			t.Errorf("%s: no metric tells", name)
		}
		if a := r.deliver("second", `{"id":"e1","amount":"1"}`); a.status != 401 {
			t.Errorf("%s: half of it stands: %d", name, a.status)
		}
		if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.status != 200 || a.body.num("windowS") != 72*3600 {
			t.Errorf("%s: the old one doesn't: %d %s", name, a.status, a.raw)
		}
	}
	set := func(f func(*config.Source)) func(*config.Config) {
		return func(c *config.Config) { c.Gateway.Tenants["acme"].Sources["shop"] = shop(t, f) }
	}
	refuse("another policy", func(c *config.Config) { c.Gateway.Policy.BlockWindow = time.Hour })
	refuse("a secret that isn't there", set(func(s *config.Source) { s.Verify.Secrets[0].File = "absent"; s.Window = time.Hour }))
	refuse("an empty secret", set(func(s *config.Source) { s.Verify.Secrets[0].File = file(t, "\n") }))
	refuse("an unknown scheme", set(func(s *config.Source) { s.Verify.Scheme = "magic" }))
	refuse("keys of two parts", set(func(s *config.Source) { s.Key = append(s.Key, config.From{Pointer: "/n"}) }))
	refuse("a destination without a host", set(func(s *config.Source) { s.Forward = &config.Forward{URL: "http://"} }))
	refuse("a registry that isn't there", set(func(s *config.Source) { s.RegistryFile = "absent" }))
	refuse("a registry in UTF-16", set(func(s *config.Source) { s.RegistryFile = file(t, "\xff\xfea\x00\n\x00") }))
	err := errors.New("the file is no YAML")
	fault.Store(&err)
	refuse("a file that can't be read", func(*config.Config) {})
	fault.Store(nil)

	c := r.config
	c.Gateway.Tenants = tenants(map[string]config.Source{"shop": shop(t, func(s *config.Source) { s.Window = time.Hour }), "second": shop(t)})
	next.Store(&c)
	r.asked("taken", 1)
	if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.body.num("windowS") != 3600 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := r.deliver("second", `{"id":"e1","amount":"1"}`); a.status != 202 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if _, body := r.adminStatus("/readyz"); strings.Contains(body, "refused") {
		t.Errorf("the note stays: %s", body)
	}
}

func TestARegistryFileStandsBeforeTheFirstDelivery(t *testing.T) {
	rows := file(t, "acme\tshop\te1\twire\t60\t5\nacme\tshop\te2\twire\t06\t5\nother\tshop\te3\twire\t60\t5\n")
	s := shop(t, func(s *config.Source) { s.Registry, s.RegistryFile = "required", rows })
	var c config.Config
	r := start(t, setup{kind: "pebble", change: withGateway(map[string]config.Source{"shop": s}), reload: func() (config.Config, error) { return c, nil }})
	c = r.config
	r.ready()
	if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.status != 202 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := r.deliver("shop", `{"id":"e1","amount":"1"}`); a.status != 200 || a.body.num("windowS") != 60 {
		t.Errorf("%d %s", a.status, a.raw)
	}
	for _, key := range []string{"e2", "e3"} {
		if a := r.deliver("shop", `{"id":"`+key+`","amount":"1"}`); a.status != 422 || a.body.str("code") != "unknown_key" {
			t.Errorf("%s: %d %s", key, a.status, a.raw)
		}
	}
	if err := os.WriteFile(rows, []byte("acme\tshop\te2\twire\t60\t5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.asked("taken", 1)
	if a := r.deliver("shop", `{"id":"e2","amount":"1"}`); a.status != 202 {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

func TestAnotherPolicyStopsTheStart(t *testing.T) {
	s := map[string]config.Source{"shop": shop(t)}
	r := start(t, setup{kind: "pebble", change: withGateway(s)})
	r.ready()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*config.GatewayPolicy){
		func(p *config.GatewayPolicy) { p.BlockWindow = time.Hour }, func(p *config.GatewayPolicy) { p.ScopeStrict = true }, func(p *config.GatewayPolicy) { p.LRUMinHits = 9 },
	} {
		c := r.config
		c.Listen, c.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0"
		change(&c.Gateway.Policy)
		err := serve.Run(t.Context(), c, serve.Host{Log: slog.New(slog.DiscardHandler), Started: func(serve.Addresses) { t.Error("it started") }})
		if !errors.Is(err, serve.ErrConfig) || !strings.Contains(err.Error(), "block_window 259200s, scope_strict false, lru_min_hits 2") {
			t.Errorf("%v", err)
		}
	}
}

// tampered shows a store in whose log an amount was changed.
type tampered struct {
	store.Store
	store.Books
}

type tamperedView struct{ store.BooksView }

func (b tampered) ViewBooks(ctx context.Context, f func(store.BooksView) error) error {
	return b.Books.ViewBooks(ctx, func(v store.BooksView) error { return f(tamperedView{v}) })
}

func (v tamperedView) Records(after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for text, err := range v.BooksView.Records(after) {
			if !yield(bytes.ReplaceAll(text, []byte("1.50"), []byte("9.50")), err) {
				return
			}
		}
	}
}

func (v tamperedView) Record(number int64) ([]byte, error) {
	text, err := v.BooksView.Record(number)
	return bytes.ReplaceAll(text, []byte("1.50"), []byte("9.50")), err
}

func TestAFailedProofBlocksAndEndsWithItsStatus(t *testing.T) {
	r := start(t, setup{kind: "pebble", change: withGateway(map[string]config.Source{"shop": shop(t)})})
	r.ready()
	r.deliver("shop", `{"id":"e1","amount":"1.50"}`)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, setup{
		change: func(c *config.Config) { *c = r.config; c.Listen, c.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0" },
		wrap:   func(st store.Store) store.Store { return tampered{st, st.(store.Books)} },
	})
	again.until("hapax_gateway_proof_ok 0")
	for end := time.Now().Add(patience); ; {
		status, body := again.adminStatus("/readyz")
		if status == 503 && strings.Contains(body, "the proof of the log failed") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d %s", status, body)
		}
	}
	if status, _ := again.adminStatus("/livez"); status != 200 {
		t.Errorf("not alive: %d", status)
	}
	if a := again.deliver("shop", `{"id":"e2","amount":"1"}`); a.status != 503 || a.body.str("code") != "unproved" || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := again.post("tea", again.token("ada"), "a", `{"text":"x"}`); a.status != 201 {
		t.Errorf("the rooms: %d %s", a.status, a.raw)
	}
	if err := again.stop(); !errors.Is(err, serve.ErrUnproved) {
		t.Errorf("ended with %v", err)
	}
}

// TestBodiesAreErased: not by a start, whose clock nobody can trust yet (TestErasingWaitsForTheHourOfTrust tells when); what is erased leaves its event.
func TestBodiesAreErased(t *testing.T) {
	keep := shop(t, func(s *config.Source) { s.BodyRetention = time.Millisecond })
	r := start(t, setup{kind: "pebble", change: withGateway(map[string]config.Source{"shop": keep})})
	r.ready()
	id := r.deliver("shop", `{"id":"e1","amount":"1.50"}`).body.str("id")
	stopAndStart := func(between func()) *running {
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		between()
		again := start(t, setup{change: func(c *config.Config) {
			*c = r.config
			c.Listen, c.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0"
		}})
		again.ready()
		return again
	}
	r = stopAndStart(func() {})
	if a := r.get("/v1/events/"+id, r.operator()); a.body["body"] == nil {
		t.Fatalf("erased by a start: %s", a.raw)
	}
	r = stopAndStart(func() {
		s, err := pebble.Open(r.config.Data, pebble.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.EraseBodies(t.Context(), "acme", "shop", time.Now().UnixMilli()+1); err != nil || n != 1 {
			t.Error(n, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if a := r.get("/v1/events/"+id, r.operator()); a.status != 200 || a.body["event"] == nil || a.body["body"] != nil {
		t.Errorf("%d %s", a.status, a.raw)
	}
}

// A destination that takes requests and never answers holds up neither the drain nor its status.
func TestADrainDoesNotWaitForADestination(t *testing.T) {
	hangs := make(chan struct{})
	asked := make(chan struct{}, 100)
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hangs
	}))
	defer to.Close()
	defer close(hangs)
	s := shop(t, func(s *config.Source) {
		s.Forward = &config.Forward{URL: to.URL, SecretFiles: []string{file(t, docsSecret)}, Allow: []string{"127.0.0.0/8"}, Timeout: time.Minute}
	})
	anchor := filepath.Join(t.TempDir(), "anchor")
	r := start(t, setup{kind: "pebble", change: func(c *config.Config) {
		withGateway(map[string]config.Source{"shop": s})(c)
		c.Gateway.Anchor = anchor
		c.Drain.Wait = 100 * time.Millisecond // it is over before the forwarder's grace is
	}})
	r.ready()
	r.deliver("shop", `{"id":"e1","amount":"1.50"}`)
	<-asked
	if err := r.stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if text, err := os.ReadFile(anchor); err != nil || !strings.Contains(string(text), " ") {
		t.Errorf("the last head isn't anchored: %q, %v", text, err)
	}
}

func TestWhatNoGatewayStartsWith(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   []string
	}{
		"G14: an unknown verifier": {withGateway(map[string]config.Source{"shop": shop(t, func(s *config.Source) { s.Verify.Scheme = "magic" })}), []string{"acme.sources.shop", "magic"}},
		"G14: an empty secret":     {withGateway(map[string]config.Source{"shop": shop(t, func(s *config.Source) { s.Verify.Secrets[0].File = file(t, "") })}), []string{"secret \"a\"", "empty"}},
		"G14: whsec_ alone": {withGateway(map[string]config.Source{"shop": shop(t, func(s *config.Source) {
			s.Verify = config.Verify{Scheme: "standard-webhooks", Secrets: []config.Secret{{Label: "a", File: file(t, "whsec_")}}}
		})}), []string{"secret"}},
		"an anchor without a folder": {func(c *config.Config) { c.Gateway.Anchor = filepath.Join(dir, "none", "anchor") }, []string{"gateway.anchor"}},
		"all at once": {withGateway(map[string]config.Source{"a": shop(t, func(s *config.Source) { s.Key = nil }), "b": shop(t, func(s *config.Source) {
			s.Forward = &config.Forward{URL: "ftp://x", SecretFiles: []string{"absent"}}
		})}), []string{"sources.a", "sources.b", "absent", "http://"}},
	} {
		cfg := config.Default()
		cfg.Data, cfg.Store = filepath.Join(dir, "data"), "memory"
		c.change(&cfg)
		err := serve.CheckGateway(&cfg)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v doesn't say %s", name, err, want)
			}
		}
		cfg.Listen, cfg.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0"
		if err := serve.Run(t.Context(), cfg, serve.Host{Log: slog.New(slog.DiscardHandler), Started: func(serve.Addresses) { t.Error("it started") }}); !errors.Is(err, serve.ErrConfig) {
			t.Errorf("%s: started into %v", name, err)
		}
	}
}

// C7: a new source whose key isn't under the signature is guarded without a word of it in the configuration, and stays so beside its events.
func TestANewSourceOfAnUnsignedKeyIsFlagged(t *testing.T) {
	byHeader := shop(t, func(s *config.Source) { s.Key = config.Parts{{Header: "X-Key"}} })
	var next atomic.Pointer[config.Config]
	r := start(t, setup{kind: "pebble", change: withGateway(map[string]config.Source{"shop": byHeader}), reload: func() (config.Config, error) { return *next.Load(), nil }})
	r.ready()
	const body = `{"amount":"1"}`
	deliver := func(key string) answer {
		mac := hmac.New(sha256.New, []byte(githubSecret))
		mac.Write([]byte(body))
		return r.request("POST", "/v1/ingest/acme/shop", "", strings.NewReader(body), http.Header{
			"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}, "Content-Type": {"application/json"}, "X-Key": {key},
		})
	}
	first := deliver("k1")
	if first.status != 202 {
		t.Fatalf("%d %s", first.status, first.raw)
	}
	told := `"sameBody":"` + first.body["id"].(string) + `"`
	if a := deliver("k2"); a.status != 202 || !strings.Contains(a.raw, told) {
		t.Errorf("%d %s", a.status, a.raw)
	}
	c := r.config
	next.Store(&c)
	r.asked("taken", 1)
	if a := deliver("k3"); a.status != 202 || !strings.Contains(a.raw, `"sameBody"`) {
		t.Errorf("after a reload: %d %s", a.status, a.raw)
	}
}
