package ingest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hapax/internal/wire/ingest"
)

// B11: any good signature passes, wherever it stands among as many as a header holds.
func TestAGoodSignatureIsFoundAtAnyPlace(t *testing.T) {
	const body = `{"id":"a","amount":"1"}`
	secret := []byte("0123456789abcdef01234567")
	mac := func(text string) []byte {
		m := hmac.New(sha256.New, secret)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	for scheme, c := range map[string]struct {
		bad, good, between string
		headers            func(signatures string) []string
		value              string
	}{
		ingest.SchemeStandard: {
			"v1," + base64.StdEncoding.EncodeToString(make([]byte, 32)), "v1," + base64.StdEncoding.EncodeToString(mac(fmt.Sprintf("msg.%d.%s", began, body))), " ",
			func(s string) []string {
				return []string{"Webhook-Id: msg", fmt.Sprint("Webhook-Timestamp: ", began), "Webhook-Signature: " + s}
			}, base64.StdEncoding.EncodeToString(secret),
		},
		ingest.SchemeStripe: {
			"v1=" + strings.Repeat("00", 32), fmt.Sprintf("v1=%x", mac(fmt.Sprintf("%d.%s", began, body))), ",",
			func(s string) []string { return []string{fmt.Sprintf("Stripe-Signature: t=%d,%s", began, s)} }, string(secret),
		},
	} {
		g := open(t, plain(func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: scheme, Secrets: []ingest.Secret{{Label: "a", Value: c.value}}}
		}))
		for _, before := range []int{0, 1, 15, 16, 17, 100, 200} {
			for _, behind := range []int{0, 20} {
				all := strings.Repeat(c.bad+c.between, before) + c.good + strings.Repeat(c.between+c.bad, behind)
				if r := g.post(body, c.headers(all)...); r.status != http.StatusAccepted && r.status != http.StatusOK {
					t.Errorf("%s, behind %d: %d %s", scheme, before, r.status, r.text)
				}
			}
		}
		if r := g.post(body, c.headers(strings.Repeat(c.bad+c.between, 100)+c.bad)...); r.status != http.StatusUnauthorized {
			t.Errorf("%s, none is good: %d", scheme, r.status)
		}
	}
}

// B11: what can never verify is refused, and why; what can be guessed is told.
func TestSecrets(t *testing.T) {
	const long = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3" // of 24 bytes
	for _, c := range []struct{ scheme, value, refused, warned string }{
		{ingest.SchemeStandard, "whsec_" + long, "", ""}, {ingest.SchemeStandard, long, "", ""}, {ingest.SchemeStripe, "whsec_" + long, "", ""}, {ingest.SchemeGitHub, "sixteen bytes ok", "", ""},
		{ingest.SchemeStandard, "v1,whsec_" + long, `begins with "v1,"`, ""}, {ingest.SchemeStripe, "v1,whsec_" + long, `begins with "v1,"`, ""},
		{ingest.SchemeStandard, "whpk_" + long, "asymmetric", ""}, {ingest.SchemeStandard, "whsk_" + long, "asymmetric", ""},
		{ingest.SchemeStandard, "whsec_ab-_", "URL-safe base64", ""}, {ingest.SchemeStandard, "whsec_hush hush", "isn't base64", ""}, {ingest.SchemeStandard, "whsec_", "whsec_ alone", ""},
		{ingest.SchemeStandard, "whsec_YWJj", "", "stands for 3 bytes"}, {ingest.SchemeStandard, "MDEyMzQ1Njc4OWFiY2RlZg==", "", "stands for 16 bytes"},
		{ingest.SchemeGitHub, "abc", "", "shorter than 16 bytes"}, {ingest.SchemeHMAC, "fifteen bytes.", "", "shorter than 16 bytes"}, {ingest.SchemeBearer, "abc", "", "shorter than 16 bytes"}, {ingest.SchemeStripe, "whsec_abc", "", "shorter than 16 bytes"},
		{ingest.SchemeStandard, "whsec_" + strings.Repeat("A", 32), "", "all zeros"}, {ingest.SchemeStandard, strings.Repeat("A", 43) + "=", "", "all zeros"}, {ingest.SchemeGitHub, strings.Repeat("0", 40), "", "all zeros"},
		{ingest.SchemeBearer, strings.Repeat("\x00", 32), "", "all zeros"}, {ingest.SchemeStripe, "whsec_" + strings.Repeat("0", 32), "", "all zeros"},
		{ingest.SchemeStandard, "\ufeffwhsec_" + long, "byte order mark", ""}, {ingest.SchemeGitHub, "\ufeffsixteen bytes ok", "", "byte order mark"}, {ingest.SchemeHMAC, "\xff\xfes\x00e\x00c\x00r\x00e\x00t\x00", "", "byte order mark"},
		{ingest.SchemeBearer, "sixteen bytes\nand more", "several lines", ""}, {ingest.SchemeHMAC, "\xff\xferaw bytes of a key", "", ""},
	} {
		s := plain(func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: c.scheme, Secrets: []ingest.Secret{{Label: "2026", Value: c.value}}}
			if c.scheme == ingest.SchemeHMAC {
				s.Verify.Header, s.Verify.Encoding = "X-Signature", ingest.EncodingHex
			}
		})
		_, err := ingest.Compile(s)
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), `"2026"`) || strings.Contains(err.Error(), long)) {
			t.Errorf("%s %q: %v", c.scheme, c.value, err)
		}
		warned := strings.Join(s.Warnings(), "\n")
		if (warned != "") != (c.warned != "") || !strings.Contains(warned, c.warned) || c.warned != "" && !strings.Contains(warned, `"2026"`) {
			t.Errorf("%s %q: warned of %q", c.scheme, c.value, warned)
		}
	}
}

// C7: a key, amount or time that isn't under the scheme's signature is told.
func TestWhatIsNotSignedIsTold(t *testing.T) {
	secrets := []ingest.Secret{{Label: "a", Value: "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}}
	hmacOf := ingest.Verify{Scheme: ingest.SchemeHMAC, Header: "X-Sig", Encoding: ingest.EncodingHex, Secrets: secrets}
	for _, c := range []struct {
		name   string
		verify ingest.Verify
		change func(s *ingest.Source)
		told   []string // beginnings
	}{
		{"GitHub's delivery", ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: secrets}, func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X-GitHub-Delivery"}} }, []string{"key[0]: header X-GitHub-Delivery"}},
		{"Shopify's", hmacOf, func(s *ingest.Source) {
			s.Key = []ingest.Field{{Header: "X-Shopify-Topic"}, {Header: "X-Shopify-Event-Id"}}
		}, []string{"key[0]: header X-Shopify-Topic", "key[1]: header X-Shopify-Event-Id"}},
		{"one part in the body", hmacOf, func(s *ingest.Source) { s.Key = []ingest.Field{{Pointer: "/id"}, {Header: "X"}} }, []string{"key[1]: header X"}},
		{"amount and time", hmacOf, func(s *ingest.Source) {
			s.Amount, s.SeenAt, s.SeenAtForm = ingest.Field{Header: "X-Amount"}, ingest.Field{Header: "X-Time"}, ingest.TimeUnix
		}, []string{"amount: header X-Amount", "seen_at: header X-Time"}},
		{"an attribute", hmacOf, func(s *ingest.Source) {
			s.Key, s.Scope, s.State, s.Currency = []ingest.Field{{Attribute: "id"}}, ingest.Field{}, ingest.Field{}, ingest.Field{}
			s.Amount = ingest.Field{Pointer: "/data/amount"}
		}, []string{"key[0]: attribute id"}},
		{"members of an event that are headers in binary mode", hmacOf, func(s *ingest.Source) {
			s.Format, s.Key, s.Amount = ingest.FormatCloudEvents, []ingest.Field{{Pointer: "/id"}, {Pointer: "/data/id"}}, ingest.Field{Pointer: "/data/amount"}
			s.Scope, s.State, s.Currency = ingest.Field{}, ingest.Field{}, ingest.Field{Pointer: "/currency"}
		}, []string{"key[0]: member /id", "currency: member /currency"}},
		{"Standard Webhooks", ingest.Verify{Scheme: ingest.SchemeStandard, Secrets: secrets}, func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "webhook-id"}} }, nil},
		{"another header of it", ingest.Verify{Scheme: ingest.SchemeStandard, Secrets: secrets}, func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X-Id"}} }, []string{"key[0]: header X-Id"}},
		{"Stripe", ingest.Verify{Scheme: ingest.SchemeStripe, Secrets: secrets}, func(s *ingest.Source) {}, nil},
		{"a secret sent along", ingest.Verify{Scheme: ingest.SchemeBearer, Secrets: secrets}, func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X-Id"}} }, nil},
		{"nothing", ingest.Verify{Scheme: ingest.SchemeNone}, func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X-Id"}} }, nil},
	} {
		s := plain(func(s *ingest.Source) { s.Verify = c.verify; c.change(s) })
		if _, err := ingest.Compile(s); err != nil {
			t.Fatal(c.name, err)
		}
		got := s.Warnings()
		ok := len(got) == len(c.told)
		for i := range c.told {
			ok = ok && strings.HasPrefix(got[i], c.told[i])
		}
		if !ok {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
