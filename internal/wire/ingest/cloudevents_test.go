package ingest_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"hapax/internal/wire/ingest"
)

// events is a source of CloudEvents: the event's id and source are its key.
func events(change ...func(s *ingest.Source)) ingest.Source {
	return plain(append([]func(s *ingest.Source){func(s *ingest.Source) {
		s.Key = []ingest.Field{{Attribute: "source"}, {Attribute: "id"}}
		s.Amount, s.Currency = ingest.Field{Pointer: "/data/amount"}, ingest.Field{Attribute: "currency"}
		s.Scope, s.State = ingest.Field{}, ingest.Field{}
		s.Ignore = []string{"/time"}
	}}, change...)...)
}

var binary = []string{
	"Ce-Specversion: 1.0", "Ce-Id: 1", "Ce-Source: /shop", "Ce-Type: paid", "Ce-Currency: EUR", "Ce-Subject: Euro %E2%82%AC %F0%9F%98%80", "Ce-Time: 2023-11-14T22:13:20Z",
}

const structured = `{"specversion":"1.0","id":"1","source":"/shop","type":"paid","currency":"EUR","subject":"Euro € 😀","time":"2023-11-14T22:13:21Z",
	"datacontenttype":"application/json","data":{"amount":2.50}}`

func TestCloudEventsAreOneInAllModes(t *testing.T) {
	g := open(t, events())
	first := g.post(`{"amount":2.50}`, binary...)
	if first.status != http.StatusAccepted {
		t.Fatalf("binary: %d %s", first.status, first.text)
	}
	e, body := g.record()
	if e.Key != `["/shop","1"]` || e.Amount != "2.50" || e.Currency != "EUR" || body.ContentType != "application/json" || string(body.Bytes) != `{"amount":2.50}` || len(body.Headers) != len(binary) {
		t.Errorf("binary: %+v %+v", e, body)
	}
	if r := g.post(structured, "Content-Type: application/cloudevents+json; charset=utf-8"); r.Repeat == nil || r.Repeats != first.ID || r.ContentDiffers {
		t.Errorf("structured: %d %s", r.status, r.text)
	}
	w := g.deliver("acme", "pay", "["+structured+"]", "Content-Type: application/cloudevents-batch+json")
	var all []reply
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Code != 200 || len(all) != 1 || all[0].Repeat == nil || all[0].Repeats != first.ID || all[0].ContentDiffers || all[0].RepeatsBefore != 1 {
		t.Errorf("batched: %d %s", w.Code, w.Body)
	}
	if _, body := g.record(); body.ContentType != "application/cloudevents+json" || string(body.Bytes) != structured {
		t.Errorf("an event of a batch is kept as if it had come alone: %+v", body)
	}
	other := g.post(`{"amount":2.51,"more":null}`, append([]string{"Ce-Extra: x"}, binary...)...)
	if other.Repeat == nil || !slices.Equal(other.Differs, []string{"/data/amount", "/data/more", "/extra"}) {
		t.Errorf("where it differs: %s", other.text)
	}
}

func TestBinaryData(t *testing.T) {
	g := open(t, events(func(s *ingest.Source) { s.Amount = ingest.Field{Header: "Ce-Amount"} }))
	a := g.post("\x00\xff", append([]string{"Content-Type: application/octet-stream", "Ce-Amount: 5"}, binary...)...)
	b := g.post(`{"specversion":"1.0","id":"1","source":"/shop","type":"paid","currency":"EUR","amount":"5","subject":"Euro € 😀","datacontenttype":"application/octet-stream","data_base64":"AP8="}`,
		"Content-Type: application/cloudevents+json", "Ce-Amount: 5")
	if a.status != http.StatusAccepted || b.Repeat == nil || b.ContentDiffers {
		t.Errorf("%d %s\n%d %s", a.status, a.text, b.status, b.text)
	}
	if r := g.post("", append([]string{"Content-Type: -", "Ce-Amount: 5"}, binary...)...); r.Repeat == nil || !r.ContentDiffers {
		t.Errorf("no data: %s", r.text)
	}
}

func TestCloudEventsAreReadStrictly(t *testing.T) {
	g := open(t, events())
	before := g.head()
	refused := func(name string, r reply, status int, code ingest.Code) {
		t.Helper()
		if r.status != status || r.Code != code {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
	const event = "Content-Type: application/cloudevents+json"
	for _, body := range []string{
		`[]`, `{}`, `{"specversion":"0.3","id":"1","source":"s","type":"t"}`, `{"specversion":"1.0","id":"","source":"s","type":"t"}`, `{"specversion":"1.0","id":null,"source":"s","type":"t"}`,
		`{"specversion":"1.0","id":1,"source":"s","type":"t"}`, `{"specversion":"1.0","id":"1","source":"s"}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","Bad":1}`,
		`{"specversion":"1.0","id":"1","source":"s","type":"t","x":{}}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","time":"yesterday"}`,
		`{"specversion":"1.0","id":"1","source":"s","type":"t","data":1,"data_base64":"AA=="}`, `{"specversion":"1.0","id":"1","source":"s","type":"t","data_base64":"?"}`,
		`{"specversion":"1.0","id":"1","source":"s","type":"t","subject":""}`, `{"specversion":"1.0","id":"1","id":"1","source":"s","type":"t"}`,
	} {
		refused(body, g.post(body, event), 400, ingest.BadBody)
	}
	refused("JSON without attributes", g.post(`{}`), 415, ingest.UnsupportedType)
	refused("XML", g.post(`<x/>`, "Content-Type: application/cloudevents+xml"), 415, ingest.UnsupportedType)
	refused("a batch that is no array", g.post(structured, "Content-Type: application/cloudevents-batch+json"), 400, ingest.BadBody)
	// What isn't one document must not become members of the event.
	refused("data that closes the event", g.post(`1,"id":"2"`, binary...), 400, ingest.BadBody)
	refused("data with two documents", g.post(`1 2`, binary...), 400, ingest.BadBody)
	refused("an attribute twice", g.post(`{}`, append([]string{"Ce-Id: 2"}, binary...)...), 400, ingest.BadBody)
	refused("data in base64 that is no JSON as it says", g.post(`{"specversion":"1.0","id":"1","source":"s","type":"t","datacontenttype":"text/json","data_base64":"AA=="}`, event), 400, ingest.BadBody)
	refused("an escape that isn't UTF-8", g.post(`{}`, append([]string{"Ce-X: %ff"}, binary...)...), 400, ingest.BadBody)
	refused("an attribute called data", g.post(`{}`, append([]string{"Ce-Data: 1"}, binary...)...), 400, ingest.BadBody)
	refused("a name that is none", g.post(`{}`, append([]string{"Ce-Data_base64: 1"}, binary...)...), 400, ingest.BadBody)
	refused("no type", g.post(`{}`, "Ce-Specversion: 1.0", "Ce-Id: 1", "Ce-Source: s"), 400, ingest.BadBody)
	if g.head() != before {
		t.Error("what was refused is in the log")
	}
}
