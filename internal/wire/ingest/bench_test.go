package ingest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/wire/ingest"
)

// instant accepts all at once, so that the handler is measured alone.
type instant struct{ intake.Books }

func (instant) Enter(_ context.Context, commands ...gateway.Command) ([]gateway.Outcome, error) {
	out := make([]gateway.Outcome, len(commands))
	for i, c := range commands {
		out[i] = gateway.Outcome{Kind: gateway.Done, Decision: gateway.Accept, ID: c.(*gateway.Event).ID}
	}
	return out, nil
}

type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(status int) {
	if status != http.StatusAccepted {
		panic(status)
	}
}

// What a signed delivery of 300 bytes costs beside HTTP and the commit.
func BenchmarkDelivery(b *testing.B) {
	s, err := ingest.New(ingest.Options{Books: instant{}, Wait: time.Second, RetryAfter: time.Second, Requests: 8})
	if err != nil {
		b.Fatal(err)
	}
	c, err := ingest.Compile(plain(func(s *ingest.Source) {
		s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: []ingest.Secret{{Label: "a", Value: "hush"}}}
	}))
	if err != nil {
		b.Fatal(err)
	}
	s.Set([]*ingest.Compiled{c})
	body := []byte(`{"id":"evt_0123456789","type":"payment.succeeded","created":1700000000,"amount":"12.50","currency":"EUR","livemode":true,"note":"` + strings.Repeat("x", 180) + `"}`)
	r, err := http.NewRequest(http.MethodPost, "/v1/ingest/acme/pay", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.SetPathValue("tenant", "acme")
	r.SetPathValue("source", "pay")
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Hub-Signature-256", "sha256="+hexHMAC("hush", string(body)))
	reader := bytes.NewReader(body)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		r.Body = io.NopCloser(reader)
		s.ServeHTTP(&discarded{http.Header{}}, r)
	}
}
