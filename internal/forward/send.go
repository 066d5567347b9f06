package forward

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"time"

	"hapax/internal/gateway"
)

// maxRedials bounds how often a request that didn't leave is set off again because its kept connection had been closed.
const maxRedials = 3

// send makes one try: it returns when the answer is known, or that there will be none.
func (t *target) send(ctx context.Context, d *gateway.Delivery, body *gateway.Body, clock Clock) answer {
	wall, _ := clock.Now()
	ctx, cancel := context.WithTimeout(ctx, t.spec.Timeout)
	defer cancel()
	for redials := 0; ; redials++ {
		w := &way{}
		resp, err := t.trips.RoundTrip(t.request(httptrace.WithClientTrace(ctx, w.trace()), d, body, wall))
		if err == nil {
			heard, _ := clock.Now() // relative times count from the answer
			a := answered(resp, heard)
			drain(resp, cancel)
			return a
		}
		if w.reused && !w.left() && ctx.Err() == nil && redials < maxRedials {
			continue
		}
		return unanswered(err, w)
	}
}

// way is how far a request came.
type way struct {
	reached bool // there was a connection
	reused  bool // that had served before
	before  int64
	now     func() int64
}

func (w *way) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		w.reached, w.reused = true, got.Reused
		w.before = writes(got.Conn)
		w.now = func() int64 { return writes(got.Conn) }
	}}
}

// left reports whether any part of the request may have left.
func (w *way) left() bool {
	return w.reached && (w.before < 0 || w.now() != w.before)
}

// request builds the request of a try. The transport must not send it twice by itself, as it does with one that bears an
// Idempotency-Key: Hapax-Attempt would lie. So it gets a body that can't be read again, and of one without a body it doesn't see that
// header: it knows it by this spelling only, while all others read names without regard to case.
func (t *target) request(ctx context.Context, d *gateway.Delivery, body *gateway.Body, wall int64) *http.Request {
	h := http.Header{"User-Agent": {"Hapax"}}
	for _, line := range body.Headers {
		if !slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(line.Name)) {
			h.Add(line.Name, line.Value)
		}
	}
	for _, line := range t.headers {
		h.Del(line.Name) // a delivery doesn't speak for the configuration
	}
	for _, line := range t.headers {
		h.Add(line.Name, line.Value)
	}
	if body.ContentType != "" {
		h.Set("Content-Type", body.ContentType)
	}
	h.Set("Idempotency-Key", d.ID)
	h.Set("Hapax-Attempt", strconv.FormatInt(d.Sends, 10))
	h.Set("Hapax-Number", strconv.FormatInt(d.Ordinal, 10))
	if len(t.keys) > 0 {
		h.Set("Webhook-Id", d.ID)
		h.Set("Webhook-Timestamp", strconv.FormatInt(wall/1000, 10))
		h.Set("Webhook-Signature", signature(t.keys, d.ID, wall/1000, body.Bytes))
	}
	req := &http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body.Bytes)), ContentLength: int64(len(body.Bytes)),
	}
	if len(body.Bytes) == 0 {
		req.Body = http.NoBody
		h["idempotency-key"] = h["Idempotency-Key"]
		delete(h, "Idempotency-Key")
	}
	return req.WithContext(ctx)
}

// drain reads the rest of an answer as far as it is worth, so that its connection can serve again; a longer one costs the connection.
func drain(resp *http.Response, cancel context.CancelFunc) {
	if resp.ContentLength <= maxDrain {
		timer := time.AfterFunc(maxDrainTime, cancel)
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
		timer.Stop()
	}
	_ = resp.Body.Close()
}
