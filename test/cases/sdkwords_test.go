package cases

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"testing/synctest"
	"time"
)

// sdkWords drive clients of the SDK: "sdk" and a call of its own, named by Method; opening, killing and waiting for events are
// words of their own.
var sdkWords = map[string]word{
	// sdk.open opens a client on a store. How "process" gives it one of its own; "offline" doesn't connect. To is "net", through
	// the bad network (the default), or "direct".
	"sdk.open": func(r *run, s *Step) error {
		c, err := r.opening(s)
		if err != nil {
			return err
		}
		a := r.agents[s.Name]
		if a == nil {
			if a, err = r.newAgent(s); err != nil {
				return err
			}
			r.agents[s.Name] = a
		}
		_, err = a.call(r.ctx, c)
		return expectKind(err, s.Error)
	},
	"sdk.kill": func(r *run, s *Step) error {
		a := r.agents[s.Name]
		if a == nil {
			return errors.New("no such client")
		}
		delete(r.agents, s.Name)
		if _, here := a.(*sdk); here {
			return r.stores.killed(s.Store, a)
		}
		return a.kill()
	},
	// sdk calls a method and holds its value against Expect.
	"sdk": func(r *run, s *Step) error {
		a := r.agents[s.Name]
		if a == nil {
			return errors.New("no such client")
		}
		c, err := r.callOf(s)
		if err != nil {
			return err
		}
		if s.Later {
			ch := make(chan later, 1)
			r.later[s.Var] = ch
			go func() {
				got, err := a.call(r.ctx, c)
				ch <- later{got, expectKind(err, s.Error)}
			}()
			return nil
		}
		if r.script != nil {
			synctest.Wait()
		}
		got, err := a.call(r.ctx, c)
		if err := expectKind(err, s.Error); err != nil {
			return err
		}
		if s.Var != "" {
			r.vars[s.Var] = got
		}
		if s.Expect == nil {
			return nil
		}
		return r.vars.match(s.Expect, got)
	},
	// sdk.event waits until the client tells of an event like Expect; those before it are passed over.
	"sdk.event": func(r *run, s *Step) error { return r.awaitOf(s, "events") },
	// sdk.delivered waits until a handler got a row like Expect.
	"sdk.delivered": func(r *run, s *Step) error { return r.awaitOf(s, "delivered") },
	// sdk.until calls a method until its value is like Expect.
	"sdk.until": func(r *run, s *Step) error {
		a := r.agents[s.Name]
		if a == nil {
			return errors.New("no such client")
		}
		c, err := r.callOf(s)
		if err != nil {
			return err
		}
		for end := time.Now().Add(patience); ; {
			var got any
			if got, err = a.call(r.ctx, c); err == nil {
				if err = r.vars.match(s.Expect, got); err == nil {
					return nil
				}
			}
			if time.Now().After(end) {
				return fmt.Errorf("it never becomes so: %w", err)
			}
			// The next event of the client is the soonest at which anything can have changed.
			if _, err := a.call(r.ctx, call{Do: "events", N: 1 << 30, Wall: 20}); err != nil {
				return err
			}
		}
	},
}

// expectKind holds an error against the kind that a step names, "" for none.
func expectKind(err error, kind string) error {
	switch got := kindOf(err); {
	case got == kind:
		return nil
	case kind == "":
		return fmt.Errorf("refused as %s: %w", got, err)
	case got == "":
		return fmt.Errorf("it succeeds, and should be refused as %s", kind)
	default:
		return fmt.Errorf("refused as %s, and should be as %s: %w", got, kind, err)
	}
}

func (r *run) newAgent(s *Step) (agent, error) {
	if *otherSDK != "" {
		return r.hosted(s)
	}
	if s.How == "process" {
		return startRemote(r.ctx)
	}
	return &sdk{}, nil
}

func (r *run) opening(s *Step) (c call, err error) {
	c = call{Do: "open", Offline: s.Kind == "offline", Poll: 50, Actor: s.As}
	if r.script != nil {
		c.Poll = 60_000 // an hour of the script's clock is to cost little
		fixed := 1.0
		c.URL, c.Token, c.dialer, c.Rand = "ws://script", "token of "+s.As, r.script.dialer(s.Name), &fixed
		c.Actor = cmp.Or(s.As, scriptActor)
	} else {
		c.URL = "ws://" + r.net.Addr() + "/v1/ws"
		if s.To == "direct" {
			c.URL = "ws://" + r.house.listen + "/v1/ws"
		}
		if c.Token, err = r.house.token(s.As, s.Rooms); err != nil {
			return c, err
		}
	}
	if s.How == "anybody" {
		c.Actor = ""
	}
	limits := s.Limits
	if lease, ok := integer(limits["lease"]); ok {
		c.Lease = lease.Uint64()
	}
	if u, ok := limits["rand"].(json.Number); ok {
		f, err := u.Float64()
		if err != nil {
			return c, err
		}
		c.Rand = &f
	}
	if poll, ok := integer(limits["poll"]); ok {
		c.Poll = poll.Int64()
	}
	bounds := map[string]any{}
	for name, v := range limits {
		if name != "lease" && name != "rand" && name != "poll" {
			bounds[name] = v
		}
	}
	if c.Session, err = json.Marshal(bounds); err != nil {
		return c, err
	}
	c.Path, c.medium = r.stores.place(s.Store)
	return c, nil
}

// callOf makes a call of a step's fields.
func (r *run) callOf(s *Step) (c call, err error) {
	c.Do = s.Method
	c.After = s.How == "after"
	c.Method = s.Kind
	for _, f := range []struct {
		from any
		to   *string
	}{{s.Room, &c.Room}, {s.ID, &c.ID}, {s.Text, &c.Text}, {s.Value, &c.Token}} {
		if *f.to, err = r.textOf(f.from); err != nil {
			return c, err
		}
	}
	for _, f := range []struct {
		from any
		to   *int64
	}{{s.N, &c.N}, {s.Wall, &c.Wall}, {s.Mono, &c.Mono}} {
		if *f.to, err = r.number(f.from, 0); err != nil {
			return c, err
		}
	}
	if s.Data != nil {
		data, err := r.vars.resolve(s.Data)
		if err != nil {
			return c, err
		}
		if c.Data, err = json.Marshal(data); err != nil {
			return c, err
		}
	}
	return c, nil
}

// awaitOf waits for an element of one of the client's lists.
func (r *run) awaitOf(s *Step, list string) error {
	a := r.agents[s.Name]
	if a == nil {
		return errors.New("no such client")
	}
	within, err := r.number(s.Within, patience.Milliseconds())
	if err != nil {
		return err
	}
	if r.script != nil {
		synctest.Wait()
	}
	n, seen := int64(0), []any{}
	for end := time.Now().Add(time.Duration(within) * time.Millisecond); ; {
		got, err := a.call(r.ctx, call{Do: list, N: n, Wall: max(0, time.Until(end).Milliseconds())})
		if err != nil {
			return err
		}
		more, _ := got.([]any)
		for _, e := range more {
			n++
			if r.vars.try(s.Expect, e) {
				return nil
			}
		}
		if seen = append(seen, more...); !time.Now().Before(end) {
			return fmt.Errorf("it never comes; there were %s", show(seen))
		}
	}
}
