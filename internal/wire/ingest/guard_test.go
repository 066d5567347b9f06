package ingest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"hapax/internal/gateway"
	"hapax/internal/wire/ingest"
)

// github is a source whose key stands in a header that isn't signed.
func github(change ...func(s *ingest.Source)) ingest.Source {
	return plain(append([]func(s *ingest.Source){func(s *ingest.Source) {
		s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: []ingest.Secret{{Label: "a", Value: "hush"}}}
		s.Key = []ingest.Field{{Header: "X-GitHub-Delivery"}}
	}}, change...)...)
}

// C7: an overheard delivery that is sent again under another key is told and counted, or rejected, as the source is guarded.
func TestASignedBodyUnderAnotherKeyIsTold(t *testing.T) {
	const body, other = `{"id":1,"amount":"1"}`, `{"id":2,"amount":"1"}`
	for guard, want := range map[string]int{ingest.GuardOff: http.StatusAccepted, ingest.GuardFlag: http.StatusAccepted, ingest.GuardReject: http.StatusUnprocessableEntity} {
		g := open(t, github(func(s *ingest.Source) { s.Guard, s.GuardS = guard, map[bool]int64{true: 60}[guard != ingest.GuardOff] }))
		deliver := func(key, body string) reply { return g.post(body, sign(body), "X-GitHub-Delivery: "+key) }
		first := deliver("k1", body)
		if first.status != http.StatusAccepted || strings.Contains(first.text, "sameBody") {
			t.Fatalf("%s: %d %s", guard, first.status, first.text)
		}
		again := deliver("k2", body)
		told := `"sameBody":"` + first.ID + `"`
		if again.status != want || strings.Contains(again.text, told) != (guard != ingest.GuardOff) {
			t.Errorf("%s: %d %s", guard, again.status, again.text)
		}
		if guard == ingest.GuardReject && (again.Code != ingest.Mismatch || again.Retry != ingest.NewKey) {
			t.Errorf("%s", again.text)
		}
		if logged := strings.Contains(g.logged.String(), "the same body came under another key"); logged != (guard != ingest.GuardOff) {
			t.Errorf("%s: logged %v", guard, logged)
		}
		if n := g.sameBodies(); n != map[bool]float64{true: 1}[guard != ingest.GuardOff] {
			t.Errorf("%s: %v counted", guard, n)
		}
		for _, r := range []reply{deliver("k1", body), deliver("k3", other)} { // a repeat under its own key, and another body
			if r.status > 202 || strings.Contains(r.text, "sameBody") {
				t.Errorf("%s: %d %s", guard, r.status, r.text)
			}
		}
		g.pass(10 * time.Minute) // beyond the guard's window
		if r := deliver("k4", body); r.status != http.StatusAccepted || strings.Contains(r.text, "sameBody") {
			t.Errorf("%s, later: %d %s", guard, r.status, r.text)
		}
	}
}

func (g *gate) sameBodies() (n float64) {
	g.t.Helper()
	families, err := g.metrics.Registry().Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "hapax_ingest_same_body_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// C7: flag is the default of new sources whose key isn't under the signature; a source that has events stays as it is.
func TestHowASourceIsGuardedThatDoesNotSay(t *testing.T) {
	standing := func(events int64, guard gateway.Guard) *gateway.Source {
		return &gateway.Source{Settings: gateway.Settings{Guard: guard, GuardS: 5}, Events: events}
	}
	for _, c := range []struct {
		name   string
		source ingest.Source
		beside *gateway.Source
		want   gateway.Guard
		window int64
	}{
		{"new", github(), nil, gateway.GuardFlag, 120}, {"without events", github(), standing(0, gateway.GuardOff), gateway.GuardFlag, 120}, {"with events", github(), standing(1, gateway.GuardOff), gateway.GuardOff, 0},
		{"with events and a guard", github(), standing(1, gateway.GuardFlag), gateway.GuardFlag, 120}, {"no window", github(func(s *ingest.Source) { s.WindowS = 0 }), nil, gateway.GuardFlag, ingest.DefaultGuardS},
		{"off", github(func(s *ingest.Source) { s.Guard = ingest.GuardOff }), nil, gateway.GuardOff, 0}, {"reject", github(func(s *ingest.Source) { s.Guard = ingest.GuardReject }), standing(1, gateway.GuardOff), gateway.GuardReject, 120},
		{"its own window", github(func(s *ingest.Source) { s.GuardS = 7 }), nil, gateway.GuardFlag, 7},
		{"a key in a CloudEvent's attributes", github(func(s *ingest.Source) { s.Format, s.Key = ingest.FormatCloudEvents, []ingest.Field{{Pointer: "/id"}} }), nil, gateway.GuardFlag, 120},
		{"a key in the body", github(func(s *ingest.Source) { s.Key = []ingest.Field{{Pointer: "/id"}} }), nil, gateway.GuardOff, 0},
		{"nothing signed", plain(func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X"}} }), nil, gateway.GuardOff, 0},
	} {
		compiled, err := ingest.Compile(c.source)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if s := compiled.SettingsBeside(c.beside); s.Guard != c.want || s.GuardS != c.window || s.Parts != 1 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	for _, change := range []func(s *ingest.Source){
		func(s *ingest.Source) { s.Guard = "body" }, func(s *ingest.Source) { s.Guard, s.GuardS = ingest.GuardOff, 5 }, func(s *ingest.Source) { s.GuardS = -1 },
	} {
		if _, err := ingest.Compile(github(change)); err == nil || !strings.Contains(err.Error(), "guard") {
			t.Errorf("%v", err)
		}
	}
}
