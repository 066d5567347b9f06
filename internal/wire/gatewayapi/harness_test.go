package gatewayapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hapax/internal/auth"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store/memory"
	"hapax/internal/telemetry"
	"hapax/internal/wire"
	"hapax/internal/wire/limit"
)

// harness is a management API over a store in memory, with a clock of its own.
type harness struct {
	t       *testing.T
	books   *intake.Intake
	http    *httptest.Server
	key     *auth.LocalKey
	now     atomic.Int64 // Unix ms
	metrics *telemetry.Metrics
	log     *strings.Builder
	ids     int
}

const second = 1000

func newHarness(t *testing.T, change ...func(*Options)) *harness {
	t.Helper()
	key, err := auth.OpenLocalKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.New(t.Context(), key.Options())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, key: key, metrics: telemetry.NewMetrics(), log: &strings.Builder{}}
	h.now.Store(1_700_000_000_000)
	options := intake.DefaultOptions()
	options.Now = func() time.Time { return time.UnixMilli(h.now.Load()) }
	if h.books, err = intake.New(memory.New(), options); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	door := wire.NewDoor(limit.New(limit.Limits{}, nil, nil), tokens, h.metrics, log, 10*time.Second)
	o := Options{Books: h.books, Log: log, Scan: 1000, Now: h.now.Load}
	for _, f := range change {
		f(&o)
	}
	Open(door, o)
	h.http = httptest.NewServer(door)
	t.Cleanup(func() {
		h.http.Close()
		if err := h.books.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	h.enter(&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600, LRUMinHits: 1}})
	return h
}

func (h *harness) enter(commands ...gateway.Command) []gateway.Outcome {
	h.t.Helper()
	outcomes, err := h.books.Enter(h.t.Context(), commands...)
	if err != nil {
		h.t.Fatal(err)
	}
	return outcomes
}

// source makes an open source that forwards or not.
func (h *harness) source(tenant, name string, forward bool) {
	h.enter(&gateway.SetSource{Tenant: tenant, Source: name, Settings: gateway.Settings{Scope: settle.ScopeWire, LRUCapacity: 10, Open: true, Forward: forward, Parts: 1}})
}

// event enters one delivery and returns its id.
func (h *harness) event(tenant, source, key, amount, currency string) string {
	h.t.Helper()
	h.ids++
	id := fmt.Sprintf("ev_%s_%04d", tenant, h.ids)
	value, ok := settle.ParseAmount([]byte(amount))
	h.enter(&gateway.Event{
		Name: gateway.Name{Tenant: tenant, Source: source, Key: key}, ID: id, Amount: amount, AmountOK: ok, Value: value, Currency: currency,
		Body: &gateway.Body{ContentType: "application/json", Bytes: []byte("{}")},
	})
	return id
}

// die makes a forwarded event a dead letter.
func (h *harness) die(id, reason string) {
	h.t.Helper()
	var number int64
	if err := h.books.View(h.t.Context(), func(v intake.View) (err error) {
		number, err = v.Number(id)
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	for _, o := range h.enter(&gateway.Attempt{Number: number, IntervalMs: 1000}, &gateway.Settled{Number: number, Reason: reason}) {
		if o.Kind != gateway.Done {
			h.t.Fatalf("%s can't die: %+v", id, o)
		}
	}
}

// token signs for some tenants: "acme=rw".
func (h *harness) token(grants ...string) string {
	h.t.Helper()
	c := auth.Claims{Actor: "ann"}
	for _, g := range grants {
		grant, err := auth.ParseTenantGrant(g)
		if err != nil {
			h.t.Fatal(err)
		}
		c.Tenants = append(c.Tenants, grant)
	}
	token, err := h.key.SignClaims(c, time.Hour, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

func (h *harness) session(grants ...string) *auth.Session {
	h.t.Helper()
	tokens, err := auth.New(h.t.Context(), h.key.Options())
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := tokens.Verify(h.t.Context(), h.token(grants...))
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

type answer struct {
	status int
	header http.Header
	raw    string
	body   map[string]any
}

func (h *harness) ask(method, path, token, body string, headers ...string) answer {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.http.URL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	_ = json.Unmarshal(raw, &a.body) // what is no JSON has no members, and the caller sees raw
	return a
}

func (h *harness) get(path, token string) answer {
	h.t.Helper()
	return h.ask(http.MethodGet, path, token, "")
}

// list returns a member of an answer that is a list of objects.
func (a answer) list(name string) (out []map[string]any) {
	rows, _ := a.body[name].([]any)
	for _, r := range rows {
		out = append(out, r.(map[string]any))
	}
	return out
}

func (h *harness) want(a answer, status int, code string) {
	h.t.Helper()
	if a.status != status || code != "" && a.body["code"] != code {
		h.t.Errorf("got %d %s, want %d %s", a.status, a.raw, status, code)
	}
	if status >= 400 && (a.header.Get("Content-Type") != "application/problem+json" || a.body["type"] != "urn:hapax:problem:"+code || a.body["status"] != float64(status)) {
		h.t.Errorf("no problem document: %v %s", a.header, a.raw)
	}
}
