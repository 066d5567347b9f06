package cases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"time"

	"hapax/internal/badnet"
	"hapax/internal/store/pebble"
)

// serverWords are about the server's process, its clock, commits, disk and folder, and the network before it.
var serverWords = map[string]word{
	"start": func(r *run, s *Step) error { return r.house.start(r.ctx) },
	"end":   func(r *run, s *Step) error { return r.house.end(s.How) },
	// order passes a word to the server: hold, held, release, fail, clock, purge, hold_sync, sync_held.
	"order": func(r *run, s *Step) error {
		o := order{Do: s.Name, How: s.How}
		if s.Name == "stand" {
			var err error
			if o.Stand, err = r.number(s.N, 0); err != nil {
				return err
			}
		}
		for _, f := range []struct {
			from any
			to   *int64
		}{{s.N, &o.N}, {s.Wall, &o.Wall}, {s.Mono, &o.Mono}} {
			n, err := r.number(f.from, 0)
			if err != nil {
				return err
			}
			*f.to = n
		}
		rep, err := r.house.order(o)
		if err == nil && s.Var != "" {
			r.vars[s.Var] = plain(rep.Now)
		}
		return err
	},
	// backup copies the folder of a stopped server into another, by its own means (How "backup") or as files are copied by hand.
	"backup": func(r *run, s *Step) error {
		to := filepath.Join(r.dir, s.To)
		if s.How == "backup" {
			return pebble.Backup(r.ctx, r.house.data, to, pebble.Options{})
		}
		return copyTree(r.house.data, to)
	},
	// restore puts such a copy back in place of a stopped server's folder.
	"restore": func(r *run, s *Step) error {
		from := filepath.Join(r.dir, s.Store)
		if s.How == "backup" {
			r.house.data = filepath.Join(r.dir, "restored-"+s.Store)
			return pebble.Restore(r.ctx, from, r.house.data, pebble.Options{})
		}
		return copyTree(from, r.house.data)
	},
	// metric reads a figure of the server's until it is as expected.
	"metric": func(r *run, s *Step) error {
		ctx, cancel := context.WithTimeoutCause(r.ctx, patience, errors.New("it never becomes so"))
		defer cancel()
		for {
			req := request{method: http.MethodGet, url: "http://" + r.house.process.admin + "/metrics"}
			got, err := req.do(ctx)
			if err != nil {
				return errors.Join(err, context.Cause(ctx))
			}
			n := figure(fmt.Sprint(got["body"]), s.Name)
			if err = r.vars.match(s.Expect, n); err == nil || s.How == "now" {
				return err
			}
		}
	},
	// net sets what the network does to SDK clients: acks lost, connections cut.
	"net": func(r *run, s *Step) error {
		switch s.How {
		case "good":
			r.net.Set(badnet.Faults{})
		case "lose_acks":
			r.net.Set(badnet.Faults{DropAck: 1})
		case "cut":
			r.net.CutAll()
		default:
			return fmt.Errorf("the network can be good, lose_acks or cut, not %q", s.How)
		}
		return nil
	},
	"token": func(r *run, s *Step) error {
		t, err := r.house.token(s.As, s.Rooms)
		r.vars[s.Var] = t
		return err
	},
	"http": func(r *run, s *Step) error {
		req, err := r.request(s)
		if err != nil {
			return err
		}
		if s.Later {
			c := make(chan later, 1)
			r.later[s.Name] = c
			go func() {
				got, err := req.do(r.ctx)
				c <- later{got, err}
			}()
			return nil
		}
		if s.How == "until" {
			return r.until(req, s)
		}
		got, err := req.do(r.ctx)
		if err != nil {
			return err
		}
		if s.Status != 0 && fmt.Sprint(got["status"]) != fmt.Sprint(s.Status) {
			return fmt.Errorf("status %v, want %d: %s", got["status"], s.Status, show(got["body"]))
		}
		if s.Expect == nil {
			return nil
		}
		return r.vars.match(s.Expect, any(got))
	},
}

// until asks again and again until the answer is as expected.
func (r *run) until(req *request, s *Step) error {
	ctx, cancel := context.WithTimeoutCause(r.ctx, patience, errors.New("it never becomes so"))
	defer cancel()
	for {
		got, err := req.do(ctx)
		if err == nil {
			trial := maps.Clone(r.vars)
			if err = trial.match(s.Expect, any(got)); err == nil {
				r.vars = trial
				return nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// request makes an HTTP request of a step: with a room and an id it posts a message.
func (r *run) request(s *Step) (*request, error) {
	token := ""
	var err error
	if s.As == "operator" {
		if token, err = r.house.operator(); err != nil {
			return nil, err
		}
	} else if s.As != "" {
		if token, err = r.house.token(s.As, s.Rooms); err != nil {
			return nil, err
		}
	}
	path, err := r.textOf(s.Path)
	if err != nil {
		return nil, err
	}
	req := &request{method: s.Method, url: "http://" + r.house.listen + path, token: token, header: map[string]any{}}
	for from, to := range map[*map[string]any]*map[string]any{&s.Query: &req.query, &s.Header: &req.header} {
		if *from == nil {
			continue
		}
		v, err := r.vars.resolve(*from)
		if err != nil {
			return nil, err
		}
		*to, _ = v.(map[string]any)
	}
	if req.body, err = r.vars.resolve(s.Body); err != nil {
		return nil, err
	}
	if req.method == "" {
		req.method = http.MethodGet
	}
	if s.ID != nil {
		id, err := r.textOf(s.ID)
		if err != nil {
			return nil, err
		}
		req.header["Idempotency-Key"] = id
		req.method = http.MethodPost
	}
	return req, nil
}

// figure reads a metric's value, nil where it isn't told.
func figure(text, name string) any {
	for line := range splitLines(text) {
		if len(line) > len(name) && line[:len(name)] == name && line[len(name)] == ' ' {
			return plainNumber(line[len(name)+1:])
		}
	}
	return nil
}
