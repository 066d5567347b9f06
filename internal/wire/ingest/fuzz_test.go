package ingest_test

import (
	"net/http"
	"strings"
	"testing"

	"hapax/internal/wire/ingest"
)

// Whatever comes, the server answers by its table; what is refused changes no state, and each event judged is one record (G09).
func FuzzDelivery(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","amount":"1"}`, `[{"id":"a","amount":1},{"id":"b"}]`, `{"id":1e9,"amount":null,"scope":"wire","currency":"eur"}`, structured, `[` + structured + `]`, "\xff", `1,"id":"2"`,
	} {
		for _, content := range []string{"application/json", "application/cloudevents+json", "application/cloudevents-batch+json", "text/plain; x"} {
			f.Add(content, s, "1.0", "%41")
		}
	}
	sources := []ingest.Source{plain(), events(func(s *ingest.Source) { s.Name = "events" }), plain(func(s *ingest.Source) {
		s.Name, s.Key, s.SeenAt, s.SeenAtForm = "other", []ingest.Field{{Header: "Ce-Id"}, {Pointer: "/id"}}, ingest.Field{Pointer: "/at"}, ingest.TimeRFC3339
		s.OnMismatch, s.AmountForm, s.Ignore = ingest.MismatchReject, ingest.AmountMinor, []string{"/at"}
	})}
	f.Fuzz(func(t *testing.T, content, body, version, id string) {
		g := open(t, sources...)
		for _, source := range []string{"pay", "events", "other", "pay", "events"} {
			before := g.head()
			w := g.deliver("acme", source, body, "Content-Type: "+content, "Ce-Specversion: "+version, "Ce-Id: "+id, "Ce-Source: s", "Ce-Type: t")
			wrote := g.head() - before
			switch w.Code {
			case http.StatusAccepted:
				if wrote < 1 || wrote > 2 { // a registration may go before it
					t.Fatalf("%d records for one event", wrote)
				}
			case http.StatusOK, http.StatusUnprocessableEntity:
				if wrote < 1 && strings.HasPrefix(w.Body.String(), "{") {
					t.Fatalf("%s without a record", w.Body)
				}
			case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge:
				if wrote != 0 {
					t.Fatalf("refused with %d, and %d records", w.Code, wrote)
				}
			default:
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
	})
}

// No header makes a verifier panic, or lets anybody in who can't sign.
func FuzzVerify(f *testing.F) {
	f.Add("msg_1", "1700000000", "v1,AAAA", "t=1700000000,v1=00", "Bearer x", "{}")
	f.Add("", "", " v1, v1,= ", ",,=,t=,v1", "bearer", "")
	signed := ingest.Verify{Secrets: []ingest.Secret{{Label: "a", Value: "c2VjcmV0"}, {Label: "b", Value: "b3RoZXI="}}}
	f.Fuzz(func(t *testing.T, id, at, standard, stripe, bearer, body string) {
		for _, scheme := range []string{ingest.SchemeStandard, ingest.SchemeStripe, ingest.SchemeGitHub, ingest.SchemeBearer} {
			signed.Scheme = scheme
			g := open(t, plain(func(s *ingest.Source) { s.Verify = signed }))
			w := g.deliver("acme", "pay", body, "Webhook-Id: "+id, "Webhook-Timestamp: "+at, "Webhook-Signature: "+standard, "Stripe-Signature: "+stripe,
				"X-Hub-Signature-256: "+stripe, "Authorization: "+bearer)
			if w.Code != http.StatusUnauthorized && !(scheme == ingest.SchemeBearer && (strings.Contains(bearer, "c2VjcmV0") || strings.Contains(bearer, "b3RoZXI="))) {
				t.Fatalf("%s: %d %s", scheme, w.Code, w.Body)
			}
		}
	})
}
