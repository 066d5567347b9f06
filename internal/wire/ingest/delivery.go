package ingest

import (
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// delivery is one request on its way.
type delivery struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	now    time.Time
	source served // nobody's where the request names none
	known  bool
	status int // of the answer
}

// serve takes the steps of docs/spec/gateway.md, Ingest, in their order.
func (d *delivery) serve() {
	if p := d.rate(); p != nil {
		d.refuse(p)
		return
	}
	body, p := d.read()
	if p == nil {
		p = d.verify(body)
	}
	var m media
	if p == nil {
		m, p = mediaOf(d.r.Header)
	}
	if p == nil {
		p = d.source.admit(m, d.r.Header)
	}
	if p != nil {
		d.refuse(p)
		return
	}
	items, batch, p := d.source.items(m, d.r.Header, body)
	if p != nil {
		d.refuse(p)
		return
	}
	d.judge(items, batch)
}

func (d *delivery) rate() *Problem {
	l := d.source.limiter
	if l == nil || l.AllowN(d.now, 1) {
		return nil
	}
	r := l.ReserveN(d.now, 1)
	wait := r.DelayFrom(d.now)
	r.CancelAt(d.now)
	return &Problem{Code: RateLimited, Detail: "the source delivers faster than it may; nothing was stored", RetryAfterMs: max(1, wait.Milliseconds())}
}

// read reads the body. Memory grows with what arrives, not with what is announced.
func (d *delivery) read() ([]byte, *Problem) {
	limit := d.source.maxBody
	if d.r.ContentLength > limit {
		return nil, d.large()
	}
	const trusted = 64 << 10
	body := make([]byte, 0, min(max(d.r.ContentLength, 511)+1, trusted))
	from := http.MaxBytesReader(d.w, d.r.Body, limit)
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		var over *http.MaxBytesError
		switch {
		case err == nil:
		case err == io.EOF:
			return body, nil
		case errors.As(err, &over):
			return nil, d.large()
		default:
			return nil, problem(BadBody, "the body did not arrive whole")
		}
	}
}

func (d *delivery) large() *Problem {
	return problem(TooLarge, "a delivery of this source has at most %d bytes", d.source.maxBody)
}

// verify checks the signature. That there is no such source, and that the signature isn't good, look the same and take the same work.
func (d *delivery) verify(body []byte) *Problem {
	label, ok := d.source.verifier.verify(d.r.Header, body, d.now.Unix())
	if !ok || !d.known {
		return problem(Unauthorized, "there is no such source, or the delivery isn't signed as it asks for")
	}
	d.source.used[label].note(d.s.Log, d.now, &d.source.Source, label)
	for _, name := range d.source.verifier.headers() {
		if len(d.r.Header[name]) > 1 {
			return problem(BadBody, "the header %s stands more than once", name)
		}
	}
	return nil
}

// judge hands the events to the intake, all in one commit, and answers.
func (d *delivery) judge(items []item, batch bool) {
	results := make([]result, len(items))
	commands := make([]gateway.Command, 0, len(items))
	for i := range items {
		r := &results[i]
		r.item = &items[i]
		if r.event, r.problem = d.source.event(&items[i], "ev_"+rand.Text()); r.problem == nil {
			commands = append(commands, r.event)
		}
	}
	ctx := d.s.patience.context()
	outcomes, err := d.s.Books.Enter(ctx, commands...)
	if err != nil {
		d.refuse(d.unstored(err))
		return
	}
	for i := range results {
		if r := &results[i]; r.problem == nil {
			r.outcome, outcomes = outcomes[0], outcomes[1:]
		}
	}
	d.compare(ctx, results)
	d.answer(results, batch)
}

// unstored is what is said where nobody knows whether the events are in the log.
func (d *delivery) unstored(err error) *Problem {
	code := Unavailable
	if errors.Is(err, intake.ErrDraining) {
		code = Draining
	}
	d.s.tell.Do(func() { d.s.Log.Warn("a delivery got no answer from the books", "error", err) })
	return d.s.later(code, "it may or may not have been stored; send it again with the same key")
}
