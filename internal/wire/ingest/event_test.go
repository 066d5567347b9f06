package ingest_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/wire/ingest"
)

func TestKeys(t *testing.T) {
	two := func(s *ingest.Source) { s.Key = []ingest.Field{{Pointer: "/a"}, {Pointer: "/b"}} }
	header := func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "webhook-id"}} }
	long := strings.Repeat("k", 257)
	for _, c := range []struct {
		name   string
		change func(s *ingest.Source)
		body   string
		header []string
		key    string // "": refused
	}{
		{"text", nil, `{"id":"ü b"}`, nil, "ü b"},
		{"a number by its literal", nil, `{"id":1.50}`, nil, "1.50"},
		{"an escape", nil, `{"id":"\u0041"}`, nil, "A"},
		{"256 bytes", nil, `{"id":"` + long[1:] + `"}`, nil, long[1:]},
		{"257 bytes", nil, `{"id":"` + long + `"}`, nil, ""},
		{"missing", nil, `{"ID":"a"}`, nil, ""},
		{"null", nil, `{"id":null}`, nil, ""},
		{"true", nil, `{"id":true}`, nil, ""},
		{"an object", nil, `{"id":{}}`, nil, ""},
		{"an array", nil, `{"id":["a"]}`, nil, ""},
		{"empty", nil, `{"id":""}`, nil, ""},
		{"outer space", nil, `{"id":" a"}`, nil, ""},
		{"a control character", nil, `{"id":"a\u0000"}`, nil, ""},
		{"no object", nil, `"id"`, nil, ""},
		// G10
		{"two parts", two, `{"a":"ab","b":"c"}`, nil, `["ab","c"]`},
		{"cut at another place", two, `{"a":"a","b":"bc"}`, nil, `["a","bc"]`},
		{"with quotes and brackets", two, `{"a":"\"],[\"<&>","b":"é"}`, nil, `["\"],[\"<&>","é"]`},
		{"a number and text", two, `{"a":12,"b":"12"}`, nil, `["12","12"]`},
		{"a part missing", two, `{"a":"a"}`, nil, ""},
		{"an empty part", two, `{"a":"a","b":""}`, nil, ""},
		{"parts of 256 bytes together", two, `{"a":"` + long[:124] + `","b":"` + long[:125] + `"}`, nil, `["` + long[:124] + `","` + long[:125] + `"]`},
		{"parts of 257 bytes together", two, `{"a":"` + long[:125] + `","b":"` + long[:125] + `"}`, nil, ""},
		// G12
		{"a header", header, `{}`, []string{"Webhook-Id: msg_1"}, "msg_1"},
		{"only a header that resembles", header, `{}`, []string{"X-Orig-Webhook-Id: msg_1"}, ""},
		{"the header twice", header, `{}`, []string{"Webhook-Id: msg_1", "webhook-id: msg_1"}, ""},
		{"an empty header", header, `{}`, []string{"Webhook-Id: "}, ""},
		{"a header that isn't UTF-8", header, `{}`, []string{"Webhook-Id: \xff"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, plain(func(s *ingest.Source) {
				s.Amount = ingest.Field{Constant: "1"}
				if c.change != nil {
					c.change(s)
				}
			}))
			before := g.head()
			r := g.post(c.body, c.header...)
			if c.key == "" {
				if r.status != http.StatusBadRequest || r.Code != ingest.BadKey || r.Retry != ingest.Never || g.head() != before {
					t.Errorf("%d %s, log %d → %d", r.status, r.text, before, g.head())
				}
				return
			}
			if e, _ := g.record(); r.status != http.StatusAccepted || e.Key != c.key {
				t.Errorf("%d %s: key %q", r.status, r.text, e.Key)
			}
		})
	}
}

// G09, G26: a body that all readers don't read alike is refused and changes nothing.
func TestBodiesAreReadStrictly(t *testing.T) {
	g := open(t, plain())
	if r := g.post(`{"id":"a","amount":"1"}`); r.status != http.StatusAccepted {
		t.Fatal(r.text)
	}
	before := g.head()
	for _, body := range []string{
		``, ` `, `{`, `{"id":"b","amount":"1","amount":"2"}`, `{"id":"b","amount":"1","am\u006funt":"1"}`, `{"id":"b","amount":"1"}{}`, `{"id":"b","amount":"1"} x`,
		"{\"id\":\"b\xff\",\"amount\":\"1\"}", `{"id":"b","amount":"1","x":"\ud800"}`, `{'id':'b'}`, "\ufeff{}", `{"id":"b","amount":01}`, `{"id":"b","amount":NaN}`,
		strings.Repeat("[", 10_000),
	} {
		if r := g.post(body); r.status != http.StatusBadRequest || r.Code != ingest.BadBody || r.Retry != ingest.Never || r.Retryable {
			t.Errorf("%.40q: %d %s", body, r.status, r.text)
		}
	}
	if g.head() != before {
		t.Error("what was refused is in the log")
	}
	if r := g.post(`{"id":"a","amount":"1"}`); r.Outcome != "dedupe" || r.RepeatsBefore != 0 {
		t.Errorf("after bad bodies: %d %s", r.status, r.text)
	}
}

// G15, G26: amounts.
func TestAmounts(t *testing.T) {
	minor := func(s *ingest.Source) {
		s.AmountForm, s.Exponents = ingest.AmountMinor, map[string]int{"ISK": 2, "ABC": 0}
	}
	for _, c := range []struct {
		body   string // behind the id
		change func(s *ingest.Source)
		kept   string
		ok     bool
	}{
		{`"amount":"2.50"`, nil, "2.50", true},
		{`"amount":2.50`, nil, "2.50", true},
		{`"amount":0`, nil, "0", true},
		{`"amount":123456789012345678.12345678`, nil, "123456789012345678.12345678", true},
		{`"amount":".-1"`, nil, ".-1", false},
		{`"amount":"1.-5"`, nil, "1.-5", false},
		{`"amount":"1e9999"`, nil, "1e9999", false},
		{`"amount":1e9999`, nil, "1e9999", false},
		{`"amount":1e2`, nil, "1e2", false},
		{`"amount":"−5"`, nil, "−5", false},
		{`"amount":"１２"`, nil, "１２", false},
		{`"amount":"1_000"`, nil, "1_000", false},
		{`"amount":"0x10"`, nil, "0x10", false},
		{`"amount":"1/3"`, nil, "1/3", false},
		{`"amount":"NaN"`, nil, "NaN", false},
		{`"amount":"-0"`, nil, "-0", false},
		{`"amount":-0`, nil, "-0", false},
		{`"amount":" 5"`, nil, " 5", false},
		{`"amount":"12,50"`, nil, "12,50", false},
		{`"amount":null`, nil, "null", false},
		{`"amount":true`, nil, "true", false},
		{`"amount":{"value":5}`, nil, `{"value":5}`, false},
		{`"amount":""`, nil, "", false},
		{`"Amount":"5"`, nil, "", false},
		{`"amount":"1","currency":"EURO"`, nil, "1", false},
		{`"amount":"1","currency":978`, nil, "1", false},
		{`"amount":"1","currency":""`, nil, "1", false},
		{`"amount":"1","currency":"É€"`, nil, "1", false},
		{`"amount":1999,"currency":"eur"`, minor, "19.99", true},
		{`"amount":"5","currency":"eur"`, minor, "0.05", true},
		{`"amount":500,"currency":"JPY"`, minor, "500", true},
		{`"amount":1234,"currency":"KWD"`, minor, "1.234", true},
		{`"amount":1,"currency":"CLF"`, minor, "0.0001", true},
		{`"amount":0,"currency":"USD"`, minor, "0.00", true},
		{`"amount":1000,"currency":"ISK"`, minor, "10.00", true}, // overridden
		{`"amount":7,"currency":"ABC"`, minor, "7", true},        // not of ISO 4217, but configured
		{`"amount":7,"currency":"ABD"`, minor, "7", false},
		{`"amount":7`, minor, "7", false}, // no currency has no units
		{`"amount":19.99,"currency":"EUR"`, minor, "19.99", false},
		{`"amount":"-5","currency":"EUR"`, minor, "-5", false},
		{`"amount":"005","currency":"EUR"`, minor, "005", false},
		{`"amount":12345678901234567890,"currency":"EUR"`, minor, "123456789012345678.90", true},
		{`"amount":123456789012345678901,"currency":"EUR"`, minor, "123456789012345678901", false},
	} {
		g := open(t, plain(func(s *ingest.Source) {
			if c.change != nil {
				c.change(s)
			}
		}))
		r := g.post(`{"id":"a",` + c.body + `}`)
		e, _ := g.record()
		want, code := http.StatusAccepted, ingest.Code("")
		if !c.ok {
			want, code = 422, ingest.BadAmount
		}
		if r.status != want || r.Code != code || e.Amount != c.kept || e.AmountOK != c.ok {
			t.Errorf("%s: %d %s, kept %q", c.body, r.status, r.Code, e.Amount)
		}
		if _, ok := settle.ParseAmount([]byte(e.Amount)); c.ok && !ok {
			t.Errorf("%s: the record holds %q, which is no amount", c.body, e.Amount)
		}
	}
}

func TestAmountsAreReadInLinearTime(t *testing.T) {
	g := open(t, plain())
	for _, huge := range []string{strings.Repeat("9", 900_000), strings.Repeat("0.", 400_000), "1e" + strings.Repeat("9", 900_000), strings.Repeat("-", 900_000)} {
		start := time.Now()
		r := g.post(`{"id":"a","amount":"` + huge + `"}`)
		if took := time.Since(start); r.Code != ingest.BadAmount || took > time.Minute {
			t.Errorf("%.5s…: %d %s after %v", huge, r.status, r.Code, took)
		}
		if e, _ := g.record(); len(e.Amount) != gateway.MaxAmountText {
			t.Errorf("%d bytes of the amount are kept", len(e.Amount))
		}
	}
}

func TestCurrencies(t *testing.T) {
	for text, want := range map[string]string{
		`,"currency":"eur"`: "EUR", `,"currency":"JPY"`: "JPY", ``: "XXX", `,"currency":null`: "XXX", `,"currency":"EURO"`: "XXX", `,"currency":true`: "XXX",
	} {
		g := open(t, plain())
		g.post(`{"id":"a","amount":"1"` + text + `}`)
		if e, _ := g.record(); e.Currency != want {
			t.Errorf("%s: book %s, not %s", text, e.Currency, want)
		}
	}
}

func TestScopeAndState(t *testing.T) {
	g := open(t, plain())
	for body, ok := range map[string]bool{
		`"scope":"wire","state":"pending"`: true, `"scope":null,"state":null`: true, `"scope":"schema"`: true, `"scope":"Wire"`: false, `"scope":""`: false, `"scope":1`: false,
		`"state":"DONE"`: false, `"state":true`: false, `"state":["done"]`: false,
	} {
		r := g.post(fmt.Sprintf(`{"id":%q,"amount":"1",%s}`, body, body))
		if (r.status == http.StatusAccepted) != ok || !ok && r.Code != ingest.BadField {
			t.Errorf("%s: %d %s", body, r.status, r.text)
		}
	}
	g.post(`{"id":"said","amount":"1","scope":"wire","state":"pending"}`)
	if e, _ := g.record(); e.Said != settle.ScopeWire || e.State != settle.StatePending {
		t.Errorf("%+v", e)
	}
	if r := g.post(`{"id":"said","amount":"1"}`); r.Repeat == nil || r.Reason != "duplicate_pending" {
		t.Errorf("a repeat of a pending event: %s", r.text)
	}
}

// G22: times that events name.
func TestNamedTimes(t *testing.T) {
	at := func(form string) func(s *ingest.Source) {
		return func(s *ingest.Source) { s.SeenAt, s.SeenAtForm = ingest.Field{Pointer: "/at"}, form }
	}
	for _, c := range []struct {
		form, text string
		want       int64 // 0: refused
	}{
		{ingest.TimeUnix, "1699999999", 1_699_999_999}, {ingest.TimeUnix, `"1699999999"`, 1_699_999_999}, {ingest.TimeUnix, "1699999999.5", 0}, {ingest.TimeUnix, "-5", 0},
		{ingest.TimeUnix, "null", 0}, {ingest.TimeUnix, "true", 0}, {ingest.TimeUnix, "1e9", 0}, {ingest.TimeUnix, "1234567890123456", 0},
		{ingest.TimeUnixMs, "1699999999999", 1_699_999_999}, {ingest.TimeUnixMs, "1699999998000", 1_699_999_998},
		{ingest.TimeRFC3339, `"2023-11-14T22:13:19Z"`, began - 1}, {ingest.TimeRFC3339, `"2023-11-14T23:13:19.999+01:00"`, began - 1},
		{ingest.TimeRFC3339, `"2023-11-14 22:13:19"`, 0}, {ingest.TimeRFC3339, `"1969-12-31T23:59:59Z"`, 0}, {ingest.TimeRFC3339, "1699999999", 0},
		{ingest.TimeUnix, fmt.Sprint(began + 300), began + 300}, {ingest.TimeUnix, fmt.Sprint(began + 301), -1}, {ingest.TimeUnix, "32503680000", -1}, // year 3000
		// C6: seconds where milliseconds are read, and any time of more than ten years ago.
		{ingest.TimeUnixMs, "1699999999", -2}, {ingest.TimeUnixMs, "1000000000", -2}, {ingest.TimeUnixMs, "0", -2}, {ingest.TimeUnix, "0", -2}, {ingest.TimeRFC3339, `"1970-01-01T00:00:00Z"`, -2},
		{ingest.TimeUnix, fmt.Sprint(began - gateway.MaxBehindS), began - gateway.MaxBehindS}, {ingest.TimeUnix, fmt.Sprint(began - gateway.MaxBehindS - 1), -2},
		{ingest.TimeUnixMs, fmt.Sprint((began-gateway.MaxBehindS)*1000 - 1), -2},
	} {
		g := open(t, plain(at(c.form)))
		before := g.head()
		r := g.post(`{"id":"a","amount":"1","at":` + c.text + `}`)
		switch {
		case c.want > 0:
			if r.status != http.StatusAccepted || r.SeenAt != c.want || r.Raised {
				t.Errorf("%s %s: %d %s", c.form, c.text, r.status, r.text)
			}
		case c.want == 0 && (r.status != 400 || r.Code != ingest.BadField), c.want == -1 && (r.status != 400 || r.Code != ingest.TimeAhead),
			c.want == -2 && (r.status != 400 || r.Code != ingest.TimeBehind || r.Retry != ingest.SameKey), g.head() != before:
			t.Errorf("%s %s: %d %s", c.form, c.text, r.status, r.text)
		}
	}
	g := open(t, plain(at(ingest.TimeUnix)))
	g.post(fmt.Sprintf(`{"id":"a","amount":"1","at":%d}`, began))
	if r := g.post(fmt.Sprintf(`{"id":"a","amount":"1","at":%d}`, began-50)); !r.Raised || r.SeenAt != began || r.GapS != 0 || r.Outcome != "dedupe" {
		t.Errorf("a time before the predecessor's: %s", r.text)
	}
	if e, _ := g.record(); e.NamedAt != began-50 || e.SeenAt != began {
		t.Errorf("both times are kept: %+v", e)
	}
}

// C6: a source that takes older times says so.
func TestAnOldTimeIsTakenWhereItsSourceSaysSo(t *testing.T) {
	g := open(t, plain(func(s *ingest.Source) {
		s.SeenAt, s.SeenAtForm, s.SeenAtBehindS = ingest.Field{Pointer: "/at"}, ingest.TimeUnixMs, began
	}))
	if r := g.post(`{"id":"a","amount":"1","at":1699999999}`); r.status != http.StatusAccepted || r.SeenAt != 1_699_999 {
		t.Errorf("%d %s", r.status, r.text)
	}
	g = open(t, plain(func(s *ingest.Source) {
		s.SeenAt, s.SeenAtForm, s.SeenAtBehindS = ingest.Field{Pointer: "/at"}, ingest.TimeUnix, 60
	}))
	if r := g.post(fmt.Sprintf(`{"id":"a","amount":"1","at":%d}`, began-61)); r.Code != ingest.TimeBehind {
		t.Errorf("%d %s", r.status, r.text)
	}
}

func TestFingerprints(t *testing.T) {
	ignore := func(s *ingest.Source) { s.Ignore = []string{"/sent_at", "/meta/attempt", "/none"} }
	for _, c := range []struct {
		name    string
		change  func(s *ingest.Source)
		a, b    string
		differs bool
	}{
		{"written in another way", ignore, `{"id":"a","amount":"1","x":[1.0,"\u00e9"]}`, ` {"x": [1, "é"], "amount":"1", "id":"a"}`, false},
		{"in ignored members", ignore, `{"id":"a","amount":"1","sent_at":1,"meta":{"attempt":1}}`, `{"id":"a","amount":"1","meta":{"attempt":{}}}`, false},
		{"beside ignored members", ignore, `{"id":"a","amount":"1","meta":{"attempt":1}}`, `{"id":"a","amount":"1","meta":{"attempt":1,"x":1}}`, true},
		{"in digits that a double loses", nil, `{"id":"a","amount":"1","n":12345678901234567890}`, `{"id":"a","amount":"1","n":12345678901234567891}`, true},
		{"raw: a space", func(s *ingest.Source) {
			s.Format, s.Key, s.Amount = ingest.FormatRaw, []ingest.Field{{Header: "X-Key"}}, ingest.Field{Constant: "1"}
			s.Scope, s.State, s.Currency = ingest.Field{}, ingest.Field{}, ingest.Field{}
		}, `{"a":1}`, `{"a": 1}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, plain(func(s *ingest.Source) {
				if c.change != nil {
					c.change(s)
				}
			}))
			g.post(c.a, "X-Key: k")
			r := g.post(c.b, "X-Key: k")
			if r.Repeat == nil || r.ContentDiffers != c.differs {
				t.Errorf("%d %s", r.status, r.text)
			}
			e, body := g.record()
			if e.Digest != sha256.Sum256([]byte(c.b)) || string(body.Bytes) != c.b {
				t.Error("the digest is of the bytes received, and those are kept")
			}
		})
	}
}

// The body as it came, with its type and the listed headers, is what a destination gets.
func TestWhatIsKeptForADestination(t *testing.T) {
	g := open(t, plain(func(s *ingest.Source) { s.ForwardHeaders = []string{"x-trace", "X-App-*", "Authorization"} }))
	g.post(` {"id":"a", "amount":1.0}`+"\n", "Content-Type: application/vnd.shop+json; charset=UTF-8", "X-Trace: 1", "X-Trace: 2", "X-App-B: b", "X-App-A: a", "X-Other: no", "Hapax-Attempt: 3")
	_, body := g.record()
	if got := fmt.Sprintf("%s|%v|%s", body.ContentType, body.Headers, body.Bytes); got != "application/vnd.shop+json; charset=UTF-8|[{X-App-A a} {X-App-B b} {X-Trace 1} {X-Trace 2}]| {\"id\":\"a\", \"amount\":1.0}\n" {
		t.Error(got)
	}
}
