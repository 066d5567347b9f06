package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// doubles are destinations of one scenario: each has a path, notes what arrives, and answers as it was told.
type doubles struct {
	server *http.Server
	url    string
	ended  chan struct{}

	mu      sync.Mutex
	by      map[string]*double
	changed chan struct{} // closed and replaced when something arrives
}

// double is one destination.
type double struct {
	arrived []any
	rules   []*rule
	goOn    chan struct{} // what is held waits for its close
}

// rule says what a request is answered that looks like something.
type rule struct {
	Like   any            // pattern of the request; absent: any
	Times  int64          // how often it holds; 0: always
	Status int            // 0: 200
	Header map[string]any // of the answer
	Hold   bool           // until told to go on; then 200, or Status
	Reset  bool           // the connection is reset instead of an answer
	Bytes  int64          // so many are answered as a body
}

func openDoubles() (*doubles, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &doubles{url: "http://" + l.Addr().String(), ended: make(chan struct{}), by: map[string]*double{}, changed: make(chan struct{})}
	d.server = &http.Server{Handler: d}
	go func() {
		defer close(d.ended)
		_ = d.server.Serve(l)
	}()
	return d, nil
}

func (d *doubles) close() {
	d.mu.Lock()
	for _, one := range d.by {
		one.release()
	}
	d.mu.Unlock()
	_ = d.server.Close()
	<-d.ended
}

func (o *double) release() {
	close(o.goOn)
	o.goOn = make(chan struct{})
}

// named returns a destination; d.mu is held.
func (d *doubles) named(name string) *double {
	if d.by[name] == nil {
		d.by[name] = &double{goOn: make(chan struct{})}
	}
	return d.by[name]
}

// ServeHTTP notes a request and answers it.
func (d *doubles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a server that was killed
	}
	req := map[string]any{
		"id": r.Header.Get("Idempotency-Key"), "attempt": json.Number(r.Header.Get("Hapax-Attempt")), "number": json.Number(r.Header.Get("Hapax-Number")),
		"body": string(body), "path": r.URL.Path,
	}
	header := map[string]any{}
	for name := range r.Header {
		header[strings.ToLower(name)] = r.Header.Get(name)
	}
	req["header"] = header
	var parsed any
	if decode(body, &parsed) == nil {
		req["json"] = parsed
	}
	d.mu.Lock()
	one := d.named(strings.TrimPrefix(r.URL.Path, "/"))
	one.arrived = append(one.arrived, req)
	to, goOn := one.rule(req), one.goOn
	close(d.changed)
	d.changed = make(chan struct{})
	d.mu.Unlock()
	if to.Hold {
		select {
		case <-goOn:
		case <-r.Context().Done():
			return
		}
	}
	to.answer(w)
}

// rule returns the first rule that holds for a request, and counts it.
func (o *double) rule(req any) *rule {
	for _, r := range o.rules {
		if r.Times < 0 || r.Like != nil && (vars{}).match(r.Like, req) != nil {
			continue
		}
		if r.Times > 0 {
			if r.Times--; r.Times == 0 {
				r.Times = -1 // used up
			}
		}
		return r
	}
	return &rule{}
}

func (r *rule) answer(w http.ResponseWriter) {
	if r.Reset {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
		return
	}
	for name, v := range r.Header {
		w.Header().Set(name, fmt.Sprint(v))
	}
	if r.Status != 0 {
		w.WriteHeader(r.Status)
	}
	chunk := strings.Repeat("x", 1<<16)
	for left := r.Bytes; left > 0; left -= int64(len(chunk)) {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

// tell gives a destination its rules.
func (d *doubles) tell(name string, rules []any) error {
	var all []*rule
	for _, r := range rules {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		one := &rule{}
		if err := decode(raw, one); err != nil {
			return err
		}
		all = append(all, one)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named(name).rules = all
	return nil
}

// await waits until what arrived is as expected; v notes what the pattern names.
func (d *doubles) await(ctx context.Context, within time.Duration, name string, expect any, v vars) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errors.New("it never becomes so"))
	defer cancel()
	for {
		d.mu.Lock()
		arrived, changed := append([]any{}, d.named(name).arrived...), d.changed
		d.mu.Unlock()
		trial := maps.Clone(v)
		err := trial.match(expect, arrived)
		if err == nil {
			maps.Copy(v, trial)
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
