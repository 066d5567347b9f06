package ingest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"hapax/internal/wire/ingest"
)

// C1: HTTP binding 3.1.3.2, of every attribute.
func TestQuotesOfACloudEventsHeaderAreNoPartOfIt(t *testing.T) {
	for _, c := range []struct{ header, text string }{ // text "": 400
		{`q1`, `q1`}, {`"q1"`, `q1`}, {`"q 1"`, `q 1`}, {`"a\"b"`, `a"b`}, {`"a\\b"`, `a\b`}, {`"\q1"`, `q1`}, {`"q%31"`, `q1`}, {`"%22"`, `"`}, {`%22q1%22`, `"q1"`},
		{` "q1" `, `q1`}, {`say "hi" to`, `say "hi" to`}, {`a\b`, `a\b`},
		{`"q1`, ``}, {`"`, ``}, {`"q1"x`, ``}, {`"q1""`, ``}, {`"q1\"`, ``}, {`"q1\`, ``}, {`"a"b"`, ``}, {`"" `, ``}, {`"%ff"`, ``}, {`%C0%A0`, ``},
		// C4: a percent sign that starts no escape is itself; decoding is done once.
		{`50% off`, `50% off`}, {`50%`, `50%`}, {`%4`, `%4`}, {`%zz`, `%zz`}, {`%%41`, `%A`}, {`%2541`, `%41`}, {`100%25`, `100%`}, {`"50% off"`, `50% off`},
		{`%e2%82%AC`, `€`}, {`€`, `€`},
	} {
		for _, attribute := range []string{"id", "source", "type", "subject", "dataschema", "ext"} {
			g := open(t, events(func(s *ingest.Source) {
				s.Key, s.Amount = []ingest.Field{{Attribute: attribute}}, ingest.Field{Constant: "1"}
			}))
			headers := []string{"Content-Type: -", "Ce-Specversion: 1.0"}
			for _, name := range []string{"id", "source", "type", "subject", "dataschema", "ext"} {
				value := "x"
				if name == attribute {
					value = c.header
				}
				headers = append(headers, "Ce-"+name+": "+value)
			}
			r := g.post("", headers...)
			switch {
			case c.text == "" && (r.status != http.StatusBadRequest || r.Retry != ingest.Never):
				t.Errorf("%s: %s: %d %s", attribute, c.header, r.status, r.text)
			case c.text != "":
				if r.status != http.StatusAccepted {
					t.Errorf("%s: %s: %d %s", attribute, c.header, r.status, r.text)
				} else if e, _ := g.record(); e.Key != c.text {
					t.Errorf("%s: %s is %q, not %q", attribute, c.header, e.Key, c.text)
				}
			}
		}
	}
}

// spelling is one way in which an event may come: structured, alone and in a batch, or binary, where headers is set.
type spelling struct {
	body    string
	headers []string
}

func inJSON(body string) spelling { return spelling{body: `{` + required + body + `}`} }

func inHeaders(body string, headers ...string) spelling {
	return spelling{body, append([]string{"Content-Type: -", "Ce-Specversion: 1.0", "Ce-Id: 1", "Ce-Source: /shop", "Ce-Type: paid"}, headers...)}
}

const required = `"specversion":"1.0","id":"1","source":"/shop","type":"paid"`

// C2: the events of the JSON format (1.0.2, 3.1 and 3.2), and of the HTTP binding, each with all that says the same.
var oneEvent = map[string][]spelling{
	"JSON data": {
		inJSON(`,"datacontenttype":"application/json","data":{"appinfoA":"abc","appinfoB":123,"appinfoC":true}`),
		inJSON(`,"data":{"appinfoC":true,"appinfoA":"abc","appinfoB":1.23e2}`), // no datacontenttype is application/json
		inJSON(`,"datacontenttype":"Application/JSON; Charset=UTF-8","data":{"appinfoA":"abc","appinfoB":123,"appinfoC":true}`),
		inJSON(`,"datacontenttype":"application/json;charset=utf8","data_base64":"eyJhcHBpbmZvQSI6ImFiYyIsImFwcGluZm9CIjoxMjMsImFwcGluZm9DIjp0cnVlfQ=="`),
		inJSON(`,"datacontenttype":null,"data_base64":"eyJhcHBpbmZvQSI6ImFiYyIsImFwcGluZm9CIjoxMjMsImFwcGluZm9DIjp0cnVlfQ==","data":null`),
		inHeaders(`{"appinfoA":"abc","appinfoB":123,"appinfoC":true}`, "Content-Type: application/json"),
		inHeaders(` {"appinfoA":"\u0061bc", "appinfoB":123.0, "appinfoC":true}`, "Content-Type: application/json; charset=utf-8"),
		inHeaders(`{"appinfoA":"abc","appinfoB":123,"appinfoC":true}`), // no Content-Type
	},
	"a JSON string": {
		inJSON(`,"datacontenttype":"application/json","data":"I'm just a string"`), inJSON(`,"data":"I'm just a string"`),
		inHeaders(`"I'm just a string"`, "Content-Type: application/json"), inHeaders(`"I'm just a string"`),
	},
	"another JSON type": {
		inJSON(`,"datacontenttype":"text/json","data":[1]`), inJSON(`,"datacontenttype":"TEXT/json","data_base64":"WzFd"`), inHeaders(`[1]`, "Content-Type: text/json"),
		inHeaders(`[1.0]`, "Content-Type: text/json; charset=utf8"),
	},
	"XML": {
		inJSON(`,"datacontenttype":"text/xml","data":"<much wow=\"xml\"/>"`), inJSON(`,"datacontenttype":"text/xml","data_base64":"PG11Y2ggd293PSJ4bWwiLz4="`),
		inHeaders(`<much wow="xml"/>`, "Content-Type: text/xml"), inHeaders(`<much wow="xml"/>`, "Content-Type: text/xml;charset=UTF-8"),
	},
	"text that looks like JSON": {
		inJSON(`,"datacontenttype":"text/plain","data":"5"`), inJSON(`,"datacontenttype":"text/plain","data_base64":"NQ=="`), inHeaders(`5`, "Content-Type: text/plain"),
	},
	"bytes": {
		inJSON(`,"datacontenttype":"application/vnd.apache.thrift.binary","data_base64":"AP8="`), inHeaders("\x00\xff", "Content-Type: application/vnd.apache.thrift.binary"),
	},
	"bytes of no type": {inJSON(`,"data_base64":"AP8="`), inHeaders("\x00\xff")},
	"no data": {
		inJSON(``), inJSON(`,"data":null`), inJSON(`,"data":null,"data_base64":null,"subject":null,"ext":null,"time":null`), inJSON(`,"datacontenttype":"application/json"`),
		inHeaders(``), inHeaders(``, "Content-Type: application/json"), inHeaders(`null`, "Content-Type: application/json"),
	},
	"no bytes of a type": {
		inJSON(`,"datacontenttype":"text/plain","data":""`), inJSON(`,"datacontenttype":"text/plain","data_base64":""`), inHeaders(``, "Content-Type: text/plain"),
	},
	"an integer and a truth value": {
		inJSON(`,"n":5,"b":true`), inJSON(`,"n":"5","b":"true"`), inHeaders(``, "Ce-N: 5", "Ce-B: true"), inHeaders(``, `Ce-N: "5"`, "Ce-B: %74rue"),
	},
	"text beyond ASCII": {
		inJSON(`,"subject":"Euro € 😀"`), inJSON(`,"subject":"Euro \u20ac \ud83d\ude00"`), inHeaders(``, "Ce-Subject: Euro%20%E2%82%AC%20%F0%9F%98%80"),
		inHeaders(``, "Ce-Subject: Euro € 😀"), inHeaders(``, `Ce-Subject: "Euro €\ %f0%9f%98%80"`),
	},
	"a time": {
		inJSON(`,"time":"2018-04-05T17:31:00Z"`), inJSON(`,"time":"2018-04-05T17:31:00+00:00"`), inJSON(`,"time":"2018-04-05t17:31:00.000z"`), inJSON(`,"time":"2018-04-05T17:31:00-00:00"`),
		inJSON(`,"time":"2018-04-05T19:01:00+01:30"`), inHeaders(``, "Ce-Time: 2018-04-05T17:31:00Z"), inHeaders(``, `Ce-Time: "2018-04-05T17%3A31%3A00Z"`),
	},
	"a time with a fraction":        {inJSON(`,"time":"2018-04-05T17:31:00.5Z"`), inJSON(`,"time":"2018-04-06T00:30:00.50000000000000000+06:59"`)},
	"a fraction beyond nanoseconds": {inJSON(`,"time":"2018-04-05T17:31:00.1234567891Z"`), inHeaders(``, "Ce-Time: 2018-04-05T17:31:00.12345678910Z")},
}

func TestOneCloudEventIsOneInEverySpelling(t *testing.T) {
	fingerprints := map[[32]byte]string{}
	for name, all := range oneEvent {
		g := open(t, events(func(s *ingest.Source) { s.Amount, s.Ignore = ingest.Field{Constant: "1"}, nil }))
		for i, s := range all {
			requests := []spelling{s}
			if s.headers == nil {
				requests = []spelling{
					{s.body, []string{"Content-Type: application/cloudevents+json"}}, {"[" + s.body + "]", []string{"Content-Type: application/cloudevents-batch+json; charset=utf-8"}},
				}
			}
			for _, r := range requests {
				if w := g.deliver("acme", "pay", r.body, r.headers...); w.Code != http.StatusOK && w.Code != http.StatusAccepted {
					t.Fatalf("%s: %v: %d %s", name, r, w.Code, w.Body)
				}
				e, _ := g.record()
				if before, there := fingerprints[e.Fingerprint]; i > 0 && (!there || before != name) || there && before != name {
					t.Errorf("%s: %v is another event (as %q)", name, r, before)
				}
				fingerprints[e.Fingerprint] = name
			}
		}
	}
	if len(fingerprints) != len(oneEvent) {
		t.Errorf("%d fingerprints of %d events", len(fingerprints), len(oneEvent))
	}
}

func TestPointersLeadIntoDataHoweverItCame(t *testing.T) {
	g := open(t, events())
	first := g.post(`{`+required+`,"currency":"EUR","data_base64":"eyJhbW91bnQiOjIuNTB9"}`, "Content-Type: application/cloudevents+json") // {"amount":2.50}
	e, _ := g.record()
	if first.status != http.StatusAccepted || e.Amount != "2.50" {
		t.Fatalf("%d %s", first.status, first.text)
	}
	other := g.post(`{"amount":2.51}`, "Ce-Specversion: 1.0", "Ce-Id: 1", "Ce-Source: /shop", "Ce-Type: paid", "Ce-Currency: EUR")
	if !slices.Equal(other.Differs, []string{"/data/amount"}) {
		t.Errorf("where it differs: %s", other.text)
	}
}

// C3, C4: media types that are JSON, and names of UTF-8.
func TestJSONOfEveryMediaType(t *testing.T) {
	for content, status := range map[string]int{
		"application/json": 202, "text/json": 202, "application/x-vnd.shop/json": 415, "Text/JSON; charset=utf8": 202, "model/json;charset=\"UTF8\"": 202, "application/problem+json": 202,
		"application/json; charset=UTF-8": 202, "application/json; charset=latin1": 415, "text/json; charset=utf-16": 415, "application/jsonl": 415, "text/plain": 415, "json": 415,
	} {
		g := open(t, plain())
		if r := g.post(`{"id":"a","amount":"1"}`, "Content-Type: "+content); r.status != status {
			t.Errorf("%s: %d %s", content, r.status, r.text)
		}
		ce := open(t, events())
		r := ce.post(`{"amount":2.50}`, append([]string{"Content-Type: " + content}, binary...)...)
		if r.status != status && status == 202 {
			t.Errorf("%s: an event in binary mode: %d %s", content, r.status, r.text)
		}
	}
}

// C5: RFC 3339 by its grammar, for every field that names a time.
func TestTimesByRFC3339(t *testing.T) {
	for text, want := range map[string]int64{ // 0: refused
		"2023-11-14T22:13:20Z": began, "2023-11-14t22:13:20z": began, "2023-11-14T22:13:20.999999999999Z": began, "2023-11-14T22:13:20-00:00": began, "2023-11-15T22:12:20+23:59": began,
		"2023-11-13T22:14:20-23:59": began, "2016-12-31T23:59:60Z": 1_483_228_800, "2016-12-31T23:59:60.9Z": 1_483_228_800, "2016-12-31T15:59:60-08:00": 1_483_228_800, "2017-01-01T00:59:60+01:00": 1_483_228_800,
		"2020-02-29T00:00:00Z":      1_582_934_400,
		"2023-11-14T22:13:20+24:00": 0, "2023-11-14T9:00:00Z": 0, "2023-11-14T22:13:20,5Z": 0, "2023-11-14T22:13:20+00:60": 0, "2023-11-14T22:13:20": 0, "2023-11-14T22:13:20.Z": 0, "2023-11-14T22:13Z": 0,
		"2023-11-14 22:13:20Z": 0, "2023-11-14T24:00:00Z": 0, "2023-11-14T22:60:00Z": 0, "2023-11-14T22:13:60Z": 0, "2023-11-14T23:59:61Z": 0, "2016-12-31T23:59:60+01:00": 0, "2023-02-29T00:00:00Z": 0,
		"2023-04-31T00:00:00Z": 0, "2023-13-01T00:00:00Z": 0, "2023-00-01T00:00:00Z": 0, "2023-01-00T00:00:00Z": 0, "2023-11-14T22:13:20+0100": 0, "2023-11-14T22:13:20+01": 0, "2023-11-14T22:13:20ZZ": 0,
		"2023-11-14T22:13:20Z ": 0, "+2023-11-14T22:13:20Z": 0, "23-11-14T22:13:20Z": 0, "2023-11-14T22:13:20+1:00": 0, "２023-11-14T22:13:20Z": 0, "2023-11-14T22:13:20−01:00": 0, "": 0,
		"1900-02-29T00:00:00Z": 0, "2023-1-14T22:13:20Z": 0, "2023-11-14T-2:13:20Z": 0, "2023-11-14T22:+3:20Z": 0, "20231114T221320Z": 0, "2023-W46-2T22:13:20Z": 0, "1969-12-31T23:59:59Z": 0,
	} {
		g := open(t, plain(func(s *ingest.Source) {
			s.SeenAt, s.SeenAtForm, s.SeenAtBehindS = ingest.Field{Pointer: "/at"}, ingest.TimeRFC3339, began
		}))
		r := g.post(fmt.Sprintf(`{"id":"a","amount":"1","at":%q}`, text))
		if want > 0 && (r.status != http.StatusAccepted || r.SeenAt != want) || want == 0 && (r.status != 400 || r.Code != ingest.BadField) {
			t.Errorf("seen_at %q: %d %s", text, r.status, r.text)
		}
		ce := open(t, events(func(s *ingest.Source) { s.Amount = ingest.Field{Constant: "1"} }))
		r = ce.post(`{`+required+fmt.Sprintf(`,"time":%q}`, text), "Content-Type: application/cloudevents+json")
		if ok := want > 0 || text == "1969-12-31T23:59:59Z"; ok != (r.status == http.StatusAccepted) {
			t.Errorf("time %q: %d %s", text, r.status, r.text)
		}
	}
}
