package ingest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hapax/internal/wire/ingest"
)

// vector is one delivery of testdata/signatures, made by generate.mjs there.
type vector struct {
	Name   string
	Verify struct {
		Scheme, Header, Encoding, Prefix string
		Secrets                          []ingest.Secret
		ToleranceS                       int64
	}
	Now     int64
	Headers [][2]string
	Body    string // base64
	Status  int
	Label   string
}

// G06, G12, G13: what the providers' rules sign is let in, and nothing else.
func TestSignatureVectors(t *testing.T) {
	for _, scheme := range []string{ingest.SchemeStandard, ingest.SchemeStripe, ingest.SchemeGitHub, ingest.SchemeHMAC, ingest.SchemeBearer} {
		t.Run(scheme, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "signatures", scheme+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var all []vector
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
			statuses := map[int]int{}
			for _, v := range all {
				statuses[v.Status]++
				t.Run(v.Name, func(t *testing.T) { v.run(t) })
			}
			if statuses[202] < 2 || statuses[401] < 5 || statuses[400] < 1 {
				t.Errorf("vectors by status: %v", statuses)
			}
		})
	}
}

func (v *vector) run(t *testing.T) {
	w := v.Verify
	g := open(t, plain(func(s *ingest.Source) {
		*s = ingest.Source{
			Tenant: "acme", Name: "pay", Format: ingest.FormatRaw, Key: []ingest.Field{{Header: "X-Key"}}, Amount: ingest.Field{Constant: "1"}, Registry: ingest.RegistryOpen,
			Verify: ingest.Verify{Scheme: w.Scheme, Header: w.Header, Encoding: w.Encoding, Prefix: w.Prefix, Secrets: w.Secrets, ToleranceS: w.ToleranceS},
		}
	}))
	g.pass(time.Duration(v.Now-began) * time.Second)
	body, err := base64.StdEncoding.DecodeString(v.Body)
	if err != nil {
		t.Fatal(err)
	}
	before := g.head()
	headers := []string{"X-Key: k"}
	for _, h := range v.Headers {
		headers = append(headers, h[0]+": "+h[1])
	}
	r := g.post(string(body), headers...)
	if r.status != v.Status {
		t.Fatalf("%d, not %d: %s", r.status, v.Status, r.text)
	}
	if (g.head() != before) != (v.Status == http.StatusAccepted) {
		t.Errorf("the log went from %d to %d", before, g.head())
	}
	if named := strings.Contains(g.logged.String(), "secret="+v.Label); v.Label != "" && !named {
		t.Errorf("the log doesn't name the secret %s:\n%s", v.Label, g.logged)
	}
	for _, s := range w.Secrets {
		if strings.Contains(g.logged.String()+r.text, s.Value) {
			t.Errorf("a secret is shown")
		}
	}
}

// That a source isn't there looks like a signature that isn't good.
func TestNobodyLearnsWhichSourcesThereAre(t *testing.T) {
	g := open(t, plain(func(s *ingest.Source) {
		s.Verify = ingest.Verify{Scheme: ingest.SchemeStandard, Secrets: []ingest.Secret{{Label: "a", Value: "whsec_c2VjcmV0"}}}
	}))
	want := g.deliver("acme", "pay", `{"id":"a"}`)
	for _, at := range [][2]string{{"acme", "other"}, {"other", "pay"}, {"-", "-"}, {"acme", strings.Repeat("x", 500)}} {
		got := g.deliver(at[0], at[1], `{"id":"a"}`)
		if got.Code != http.StatusUnauthorized || got.Body.String() != want.Body.String() || fmt.Sprint(got.Header()) != fmt.Sprint(want.Header()) {
			t.Errorf("%s: %d %v %s\nbut a source that is there: %d %v %s", at, got.Code, got.Header(), got.Body, want.Code, want.Header(), want.Body)
		}
	}
	if g.counted("unauthorized") != 1 {
		t.Error("what names no source is counted for one")
	}
	families, err := g.metrics.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == "other" || strings.HasPrefix(l.GetValue(), "xxx") {
					t.Errorf("%s has the label %s=%s, which a stranger chose", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
}
