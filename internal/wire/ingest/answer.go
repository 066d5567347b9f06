package ingest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"hapax/internal/gateway"
	"hapax/internal/wire"
	"hapax/protocol"
)

// result is what became of one item.
type result struct {
	item    *item
	problem *Problem // of one that was refused before it was judged
	event   *gateway.Event
	outcome gateway.Outcome
	differs []string // where the content differs from the root's, as far as that is still known
}

// Answer is the body that tells of an event that was taken: 202 where it was accepted, 200 where it repeats one.
type Answer struct {
	Status  int    `json:"status,omitempty"` // in an array only: what a single delivery's status would be
	Outcome string `json:"outcome"`          // accept or dedupe
	ID      string `json:"id"`               // of this event
	SeenAt  int64  `json:"seenAt"`           // Unix seconds as judged
	Raised  bool   `json:"raised,omitempty"` // the time named was before the predecessor's, and was raised to it
	// SameBody is the id of the event that was accepted with the same body under another key of the guarded source, within the guard's window.
	SameBody string `json:"sameBody,omitempty"`
	*Repeat
}

// Repeat tells of what an event repeats.
type Repeat struct {
	Reason         string   `json:"reason"`            // duplicate_done, duplicate_pending, mismatch
	Repeats        string   `json:"repeats"`           // id of the accepted event
	RepeatsBefore  int64    `json:"repeatsBefore"`     // how many of it came before this one
	GapS           int64    `json:"gapS"`              // seconds since the key's delivery before, which is what the window is held against
	WindowS        int64    `json:"windowS"`           // the window in force
	ContentDiffers bool     `json:"contentDiffers"`    // from the accepted event's, members to ignore left out
	Differs        []string `json:"differs,omitempty"` // JSON pointers to where, while the accepted event's body is kept
}

// Document is a problem document (RFC 9457), for refusals and rejections.
type Document struct {
	Type         string `json:"type"`
	Title        string `json:"title"`
	Status       int    `json:"status"`
	Detail       string `json:"detail"`
	Code         Code   `json:"code"`
	Retry        Retry  `json:"retry"`
	Retryable    bool   `json:"retryable"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
	ID           string `json:"id,omitempty"`     // of a rejected event, which is in the log
	SeenAt       int64  `json:"seenAt,omitempty"` // likewise, as in Answer
	Raised       bool   `json:"raised,omitempty"`
	SameBody     string `json:"sameBody,omitempty"` // likewise
	*Repeat
}

// Document is the problem as a document. status 0 means the code's own.
func (p *Problem) Document(status int) Document {
	rule := p.Code.Rule()
	if status == 0 {
		status = rule.Status
	}
	return Document{
		Type: rule.Type(), Title: rule.Title, Status: status, Detail: p.Detail, Code: p.Code, Retry: rule.Retry, Retryable: rule.Retryable,
		RetryAfterMs: p.RetryAfterMs,
	}
}

// Write answers a request with the problem.
func (p *Problem) Write(w http.ResponseWriter) (status int) {
	if p.RetryAfterMs > 0 {
		w.Header().Set("Retry-After", protocol.RetryAfter(p.RetryAfterMs))
	}
	doc := p.Document(0)
	if p.Code == Draining {
		w.Header().Set("Connection", "close")
	}
	if doc.Status == http.StatusUnauthorized {
		// Which way of signing the source asks for is told to nobody who can't.
		w.Header().Set("WWW-Authenticate", `Signature realm="hapax"`)
	}
	return send(w, doc.Status, typeProblem, doc)
}

// Header values that all answers share. Nobody changes a header's values in place.
var (
	typeJSON    = []string{protocol.MediaJSON}
	typeProblem = []string{protocol.MediaProblem}
	noStore     = []string{"no-store"}
)

func send(w http.ResponseWriter, status int, contentType []string, body any) int {
	text, err := json.Marshal(body)
	if err != nil {
		panic("ingest: an answer: " + err.Error()) // it can't be: all its fields are text and numbers
	}
	h := w.Header()
	h["Content-Type"] = contentType
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h["Cache-Control"] = noStore
	w.WriteHeader(status)
	// A sender that has gone reads nothing; it sends again with the same key.
	_, _ = w.Write(text)
	return status
}

// refusal is the answer to a request none of whose events was judged.
func (d *delivery) refusal(p *Problem) (answer func()) {
	d.count(string(p.Code))
	if d.known && !p.Code.Rule().Retryable {
		d.s.tell.Do(func() {
			d.s.Log.Info("a delivery was refused", "tenant", d.source.Source.Tenant, "source", d.source.Source.Name, "code", p.Code, "detail", p.Detail,
				"request", wire.RequestID(d.r.Context()))
		})
	}
	return func() { d.status = p.Write(d.w) }
}

// sameBody counts and tells an event whose body came under another key before.
func (d *delivery) sameBody(o *gateway.Outcome) {
	s := &d.source.Source
	d.s.Metrics.SameBody(s.Tenant, s.Name)
	d.s.tell.Do(func() {
		d.s.Log.Warn("the same body came under another key, which isn't signed", "tenant", s.Tenant, "source", s.Name, "event", o.ID, "before", o.TwinID, "decision", o.Decision.String())
	})
}

func (d *delivery) count(outcome string) {
	if d.known {
		d.s.Metrics.Ingested(d.source.Source.Tenant, d.source.Source.Name, outcome)
	} else {
		d.s.Metrics.IngestedNowhere(outcome)
	}
}

// answer tells of each event, in the order in which they came.
func (d *delivery) answer(results []result, batch bool) (write func()) {
	bodies := make([]any, len(results))
	for i := range results {
		status, body := d.body(&results[i])
		if !batch {
			return func() { d.single(status, body) }
		}
		if a, ok := body.(*Answer); ok {
			a.Status = status
		}
		bodies[i] = body
	}
	return func() { d.status = send(d.w, http.StatusOK, typeJSON, bodies) }
}

func (d *delivery) single(status int, body any) {
	contentType := typeJSON
	switch b := body.(type) {
	case *Document:
		contentType = typeProblem
		if b.RetryAfterMs > 0 {
			d.w.Header().Set("Retry-After", protocol.RetryAfter(b.RetryAfterMs))
		}
	case *Answer:
		if b.Repeat != nil {
			d.w.Header().Set(protocol.HeaderReplayed, "true")
		}
	}
	d.status = send(d.w, status, contentType, body)
}

// body is what one event is answered with, and counts it.
func (d *delivery) body(r *result) (status int, body any) {
	o := &r.outcome
	switch {
	case r.problem != nil:
		return d.problem(r.problem)
	case o.Kind == gateway.Ahead:
		return d.problem(problem(TimeAhead, "the event names a time more than %d s ahead of the server", gateway.MaxAheadS))
	case o.Kind == gateway.Behind:
		return d.problem(problem(TimeBehind, "the event names a time more than %d s before the server's; is seen_at in another unit?", r.event.Behind))
	case o.Kind == gateway.Invalid:
		return d.problem(problem(BadField, "a field of the event holds what the log can't; nothing was stored"))
	case o.Kind != gateway.Done:
		return d.problem(d.s.later(Unavailable, "the source isn't in the books yet; nothing was stored"))
	}
	d.count(o.Decision.String())
	if o.TwinID != "" {
		d.sameBody(o)
	}
	var repeat *Repeat
	if o.RootID != "" {
		repeat = &Repeat{
			Reason: o.Decision.String(), Repeats: o.RootID, RepeatsBefore: o.Repeats, GapS: o.GapS, WindowS: o.WindowS,
			ContentDiffers: o.Differs, Differs: r.differs,
		}
	}
	if code, rejected := rejections[o.Decision]; rejected {
		doc := (&Problem{Code: code, Detail: rejection(o)}).Document(d.source.Source.RejectStatus)
		doc.ID, doc.SeenAt, doc.Raised, doc.SameBody, doc.Repeat = o.ID, o.SeenAt, o.Raised, o.TwinID, repeat
		return doc.Status, &doc
	}
	a := &Answer{Outcome: "accept", ID: o.ID, SeenAt: o.SeenAt, Raised: o.Raised, SameBody: o.TwinID, Repeat: repeat}
	if status = http.StatusAccepted; o.Decision.Deduped() {
		status, a.Outcome = http.StatusOK, "dedupe"
	}
	return status, a
}

func (d *delivery) problem(p *Problem) (int, any) {
	d.count(string(p.Code))
	doc := p.Document(0)
	return doc.Status, &doc
}

// rejection says why an event was rejected.
func rejection(o *gateway.Outcome) string {
	switch {
	case o.Decision == gateway.UnknownKey:
		return "the event's key isn't registered; it is logged, and has no effect"
	case o.Decision == gateway.BadAmount:
		return "the event's amount or currency is none; it is logged, and has no effect"
	case o.TwinID != "":
		return "the same body, byte for byte, was accepted under another key a short while ago; this one is logged, and has no effect"
	case o.Currencies:
		return "the key's event before, within the window, is in another currency; this one is logged, and has no effect"
	}
	return "the key's accepted event, within the window, has other content; this one is logged, and has no effect"
}
