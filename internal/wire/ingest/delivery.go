package ingest

import (
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/wire/limit"
)

// delivery is one request on its way.
type delivery struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	now     time.Time
	source  served // nobody's where the request names none
	known   bool
	largest int64 // bytes of a body, whosever it is
	status  int   // of the answer
}

// serve takes the steps of docs/spec/gateway.md, Ingest, in their order. What a delivery holds is given back before its answer is written:
// who doesn't read holds nothing but a connection.
func (d *delivery) serve() { d.handle()() }

// handle does all but write the answer, which it returns.
func (d *delivery) handle() (answer func()) {
	client := d.s.Clients.Of(d.r)
	if p := d.s.admit(client, d.now); p != nil {
		return d.refusal(p)
	}
	account := d.s.Bodies.Open(limit.ByClient(client))
	defer account.Close()
	body, release, err := limit.ReadBody(d.w, d.r, d.largest, account, d.until())
	defer release()
	if err != nil {
		return d.refusal(d.unread(err))
	}
	if p := d.verify(body); p != nil {
		return d.refusal(p)
	}
	d.s.signers.note(client, d.now)
	limit.ConnOf(d.r).SignedIn("", true) // its place isn't a stranger's any more, and no actor's
	if p := d.within(body); p != nil {
		return d.refusal(p)
	}
	select {
	case d.s.slots <- struct{}{}:
		defer func() { <-d.s.slots }()
	default:
		return d.refusal(d.s.later(Unavailable, "as many deliveries are in work as may be; nothing was stored"))
	}
	m, p := mediaOf(d.r.Header)
	if p == nil {
		p = d.source.admit(m, d.r.Header)
	}
	if p != nil {
		return d.refusal(p)
	}
	items, batch, p := d.source.items(m, d.r.Header, body)
	if p != nil {
		return d.refusal(p)
	}
	return d.judge(items, batch)
}

// until is when the request has to have arrived, the zero time where it may take as long as it comes in fast enough.
func (d *delivery) until() (t time.Time) {
	if d.s.ReadTime > 0 {
		t = time.Now().Add(d.s.ReadTime)
	}
	return t
}

// unread says why a body wasn't read.
func (d *delivery) unread(err error) *Problem {
	switch over := new(http.MaxBytesError); {
	case errors.As(err, &over):
		return problem(TooLarge, "a delivery has at most %d bytes", over.Limit)
	case errors.Is(err, limit.ErrBodyMemory):
		return d.s.later(Unavailable, "as many bytes of deliveries are in memory as may be; nothing was stored")
	}
	return problem(IncompleteBody, "%s; nothing was stored", err)
}

// within holds a delivery that is signed to its source's own limits.
func (d *delivery) within(body []byte) *Problem {
	if most := d.source.maxBody; int64(len(body)) > most {
		return problem(TooLarge, "a delivery of this source has at most %d bytes", most)
	}
	l := d.source.limiter
	if l == nil || l.AllowN(d.now, 1) {
		return nil
	}
	r := l.ReserveN(d.now, 1)
	wait := r.DelayFrom(d.now)
	r.CancelAt(d.now)
	return &Problem{Code: RateLimited, Detail: "the source delivers faster than it may; nothing was stored", RetryAfterMs: max(1, wait.Milliseconds())}
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
func (d *delivery) judge(items []item, batch bool) (answer func()) {
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
		return d.refusal(d.unstored(err))
	}
	for i := range results {
		if r := &results[i]; r.problem == nil {
			r.outcome, outcomes = outcomes[0], outcomes[1:]
		}
	}
	d.compare(ctx, results)
	return d.answer(results, batch)
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
