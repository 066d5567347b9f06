package cases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"hapax/internal/badnet"
)

// run is one scenario under way.
type run struct {
	ctx  context.Context
	dir  string
	vars vars

	house   *house // nil in the world of scripts
	net     *badnet.Proxy
	sockets map[string]*socket
	later   map[string]chan later
	doubles *doubles // the destinations; nil without a gateway
	exports int
	agents  map[string]agent
	stores  *stores
	script  *script // nil in the world of servers
	host    *host   // of another SDK's clients, nil where it is the Go SDK that is tested
}

// later is what a step that goes on beside came to.
type later struct {
	got any
	err error
}

type word func(r *run, s *Step) error

// wordOf finds what a step does; nil for an unknown word.
func wordOf(name string) word {
	for _, table := range []map[string]word{controlWords, serverWords, wireWords, sdkWords, storeWords, scriptWords, gatewayWords} {
		if w := table[name]; w != nil {
			return w
		}
	}
	return nil
}

// play runs a scenario in a folder of its own. Its error names the step.
func play(ctx context.Context, dir string, s *Scenario, bubble bool) (err error) {
	r := &run{
		ctx: ctx, dir: dir, vars: vars{}, sockets: map[string]*socket{}, later: map[string]chan later{}, agents: map[string]agent{},
		stores: newStores(dir),
	}
	maps.Copy(r.vars, s.Vars)
	defer func() { err = errors.Join(err, r.close()) }()
	if bubble {
		r.script = newScript(ctx)
	} else if r.house, err = newHouse(dir, s.Config); err != nil {
		return err
	} else if err := r.furnish(s); err != nil {
		return err
	} else if s.Stopped {
		return r.steps(s.Steps)
	} else if err := r.house.start(ctx); err != nil {
		return err
	} else if r.net, err = badnet.Listen(r.house.listen, badnet.Faults{}, 1); err != nil {
		return err
	}
	return r.steps(s.Steps)
}

// close ends all that the scenario left.
func (r *run) close() error {
	var faults []error
	for _, a := range r.agents {
		faults = append(faults, a.end())
	}
	if r.host != nil {
		faults = append(faults, r.host.end())
	}
	for _, s := range r.sockets {
		_ = s.conn.CloseNow()
	}
	if r.net != nil {
		faults = append(faults, r.net.Close())
	}
	if r.house != nil && r.house.process != nil {
		faults = append(faults, r.house.process.kill())
	}
	if r.doubles != nil {
		r.doubles.close()
	}
	if r.script != nil {
		r.script.close()
	}
	return errors.Join(faults...)
}

func (r *run) steps(steps []Step) error {
	for i := range steps {
		s := &steps[i]
		do := wordOf(s.Do)
		if do == nil {
			return fmt.Errorf("step %d: unknown word %q", i+1, s.Do)
		}
		if err := do(r, s); err != nil {
			at := fmt.Sprintf("step %d (%s %s)", i+1, s.Do, s.Name)
			if s.Note != "" {
				at += " " + s.Note
			}
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

// number resolves a value that must be a whole number; absent is what stands for none.
func (r *run) number(v any, absent int64) (int64, error) {
	if v == nil {
		return absent, nil
	}
	got, err := r.vars.resolve(v)
	if err != nil {
		return 0, err
	}
	n, ok := integer(got)
	if !ok || !n.IsInt64() {
		return 0, fmt.Errorf("%s is not a whole number", show(got))
	}
	return n.Int64(), nil
}

func (r *run) textOf(v any) (string, error) {
	got, err := r.vars.resolve(v)
	if err != nil || got == nil {
		return "", err
	}
	return fmt.Sprint(got), nil
}

// controlWords are about the run itself. They are set by init, as some run steps themselves.
var controlWords = map[string]word{}

func init() {
	controlWords["repeat"] = func(r *run, s *Step) error {
		n, err := r.number(s.N, 0)
		if err != nil || n < 1 {
			return errors.Join(err, errors.New("repeat takes n"))
		}
		for i := range n {
			r.vars["i"] = fmt.Sprint(i)
			if err := r.steps(s.Steps); err != nil {
				return fmt.Errorf("time %d: %w", i+1, err)
			}
		}
		return nil
	}
	controlWords["each"] = func(r *run, s *Step) error {
		for _, v := range s.In {
			var err error
			if r.vars[s.Var], err = r.vars.resolve(v); err != nil {
				return err
			}
			if err := r.steps(s.Steps); err != nil {
				return fmt.Errorf("%s = %s: %w", s.Var, show(v), err)
			}
		}
		return nil
	}
	controlWords["check"] = func(r *run, s *Step) error {
		v, err := r.vars.resolve(s.Value)
		if err != nil {
			return err
		}
		return r.vars.match(s.Expect, v)
	}
	controlWords["let"] = func(r *run, s *Step) error {
		v, err := r.vars.resolve(s.Value)
		if err != nil {
			return err
		}
		r.vars[s.Var] = v
		return nil
	}
	controlWords["forget"] = func(r *run, s *Step) error {
		for _, v := range s.In {
			delete(r.vars, fmt.Sprint(v))
		}
		return nil
	}
	controlWords["distinct"] = func(r *run, s *Step) error {
		v, err := r.vars.resolve(s.Value)
		if err != nil {
			return err
		}
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s is not a list", show(v))
		}
		seen := map[string]bool{}
		for _, e := range list {
			if t := show(e); seen[t] {
				return fmt.Errorf("%s twice", t)
			} else {
				seen[t] = true
			}
		}
		return r.vars.match(s.Expect, plain(len(list)))
	}
	// count tells how many of a list's elements are like Frame.
	controlWords["count"] = func(r *run, s *Step) error {
		v, err := r.vars.resolve(s.Value)
		if err != nil {
			return err
		}
		n := 0
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s is not a list", show(v))
		}
		for _, e := range list {
			if maps.Clone(r.vars).match(s.Frame, e) == nil {
				n++
			}
		}
		return r.vars.match(s.Expect, plain(n))
	}
	controlWords["await"] = func(r *run, s *Step) error {
		c := r.later[s.Name]
		if c == nil {
			return errors.New("nothing goes on under that name")
		}
		delete(r.later, s.Name)
		l := <-c
		if l.err != nil {
			return l.err
		}
		return r.vars.match(s.Expect, l.got)
	}
}

// copyTree copies files as cp -r does: other inodes, other times.
func copyTree(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		into := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(into, 0o700)
		case !d.Type().IsRegular():
			return nil // the admin socket
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(into, raw, 0o600)
	})
}
