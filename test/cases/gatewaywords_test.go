package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// furnish lays a scenario's files and destinations out, and its gateway's configuration.
func (r *run) furnish(s *Scenario) (err error) {
	r.vars["dir"] = r.dir
	for name, text := range s.Files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if s.Gateway == nil {
		return nil
	}
	if r.doubles, err = openDoubles(); err != nil {
		return err
	}
	r.vars["destinations"] = r.doubles.url
	return r.configure(s.Gateway)
}

// configure writes the configuration's file, which YAML reads as it reads JSON.
func (r *run) configure(gateway map[string]any) error {
	made, err := r.vars.resolve(gateway)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"gateway": made})
	if err != nil {
		return err
	}
	path := filepath.Join(r.dir, "hapax.yaml")
	if !r.house.gateway {
		r.house.gateway = true
		r.house.flags = append(r.house.flags, "--file", path)
	}
	return os.WriteFile(path, raw, 0o600)
}

// gatewayWords are about deliveries, destinations and the books.
var gatewayWords = map[string]word{
	// deliver posts a delivery, n of them at once where n is given: then the answers are a list.
	"deliver": func(r *run, s *Step) error {
		n, err := r.number(s.N, 0)
		if err != nil {
			return err
		}
		var got any
		if n == 0 {
			got, err = r.deliver(s)
		} else {
			got, err = r.deliverAtOnce(s, int(n))
		}
		if err != nil {
			return err
		}
		if s.Var != "" {
			r.vars[s.Var] = got
		}
		if one, is := got.(map[string]any); is && s.Status != 0 && fmt.Sprint(one["status"]) != fmt.Sprint(s.Status) {
			return fmt.Errorf("status %v, want %d: %s", one["status"], s.Status, show(one["body"]))
		}
		if s.Expect == nil {
			return nil
		}
		return r.vars.match(s.Expect, got)
	},
	// answers says what a destination answers from now on; without rules 200.
	"answers": func(r *run, s *Step) error {
		rules, err := r.vars.resolve(s.In)
		if err != nil {
			return err
		}
		return r.doubles.tell(s.Name, rules.([]any))
	},
	// arrived waits until what a destination got is as expected.
	"arrived": func(r *run, s *Step) error {
		within, err := r.number(s.Within, patience.Milliseconds())
		if err != nil {
			return err
		}
		return r.doubles.await(r.ctx, time.Duration(within)*time.Millisecond, s.Name, s.Expect, r.vars)
	},
	// go_on lets what a destination holds be answered.
	"go_on": func(r *run, s *Step) error {
		r.doubles.mu.Lock()
		defer r.doubles.mu.Unlock()
		r.doubles.named(s.Name).release()
		return nil
	},
	// hapax runs the command line to its end.
	"hapax": func(r *run, s *Step) error {
		got, err := r.hapax(r.ctx, s.In...)
		if err != nil {
			return err
		}
		if s.Expect == nil {
			return nil
		}
		return r.vars.match(s.Expect, got)
	},
	"configure": func(r *run, s *Step) error {
		gateway, is := s.Value.(map[string]any)
		if !is {
			return errors.New("configure takes a value: the gateway's configuration")
		}
		return r.configure(gateway)
	},
	"settled": func(r *run, s *Step) error { return r.settled(s) },
	// write writes a file of the scenario's folder.
	"write": func(r *run, s *Step) error {
		text, err := r.textOf(s.Text)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(r.dir, s.Name), []byte(text), 0o600)
	},
}

// deliver posts one delivery; its name is TENANT/SOURCE. A body that is no text is sent as JSON.
func (r *run) deliver(s *Step) (map[string]any, error) {
	name := s.Name
	if name == "" {
		name = "acme/shop"
	}
	req := &request{method: http.MethodPost, url: "http://" + r.house.listen + "/v1/ingest/" + name, header: map[string]any{"Content-Type": "application/json"}}
	body, err := r.vars.resolve(s.Body)
	if err != nil {
		return nil, err
	}
	text, is := body.(string)
	if !is {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = string(raw)
	}
	req.body = text
	if s.Sign != nil {
		if err := r.signed(req, s, text); err != nil {
			return nil, err
		}
	}
	header, err := r.vars.resolve(s.Header)
	if err != nil {
		return nil, err
	}
	if h, is := header.(map[string]any); is {
		maps.Copy(req.header, h)
	}
	return req.do(r.ctx)
}

func (r *run) signed(req *request, s *Step, body string) error {
	made, err := r.vars.resolve(s.Sign)
	if err != nil {
		return err
	}
	o := made.(map[string]any)
	if over, is := o["over"].(string); is {
		body = over // what is signed isn't what is sent
	}
	now, err := r.house.order(order{Do: "now"})
	if err != nil {
		return err
	}
	at, err := r.number(o["after"], 0) // seconds from the server's now
	if err != nil {
		return err
	}
	headers, err := sign(o, body, now.Now/1000+at)
	if err != nil {
		return err
	}
	for name, v := range headers {
		req.header[name] = v
	}
	return nil
}

func (r *run) deliverAtOnce(s *Step, n int) ([]any, error) {
	answers, faults := make([]any, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i], faults[i] = r.deliver(s) })
	}
	all.Wait()
	return answers, errors.Join(faults...)
}

// hapax runs the command line as a process; its answer is status, stdout, stderr, and json where stdout is one document.
func (r *run) hapax(ctx context.Context, args ...any) (map[string]any, error) {
	made, err := r.vars.resolve(args)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, a := range made.([]any) {
		words = append(words, fmt.Sprint(a))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, words...)
	cmd.Env = append(os.Environ(), asHapax+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	got := map[string]any{"status": plain(cmd.ProcessState.ExitCode()), "stdout": stdout.String(), "stderr": stderr.String()}
	var doc any
	if decode(stdout.Bytes(), &doc) == nil {
		got["json"] = doc
	}
	return got, nil
}

// settled has the store proved and exported, settles each currency and checks its health: the report must be the online one to the byte. The
// server goes on where it runs. Expect is held against the reports by currency, mismatches beside them.
func (r *run) settled(s *Step) error {
	out := filepath.Join(r.dir, fmt.Sprintf("export%d", r.exports))
	r.exports++
	for _, args := range [][]any{{"audit", "--data", r.house.data}, {"export", "--data", r.house.data, "--out", out}} {
		if got, err := r.hapax(r.ctx, args...); err != nil || fmt.Sprint(got["status"]) != "0" {
			return errors.Join(err, fmt.Errorf("hapax %v: %s", args, show(got)))
		}
	}
	folders, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	reports := map[string]any{}
	for _, f := range folders {
		if reports[f.Name()], err = r.settle(filepath.Join(out, f.Name()), f.Name()); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return r.vars.match(s.Expect, reports)
}

func (r *run) settle(dir, currency string) (map[string]any, error) {
	settled, err := r.hapax(r.ctx, "settle", "--in", dir)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, errors.Join(err, errors.New(show(settled)))
	}
	online, err := r.hapax(r.ctx, "report", "--data", r.house.data, "--currency", currency)
	if err != nil {
		return nil, err
	}
	if got := fmt.Sprint(online["stdout"]); got != string(raw) {
		return nil, fmt.Errorf("settled:\n%s\nonline:\n%s\n%s", raw, got, online["stderr"])
	}
	healthy, err := r.hapax(r.ctx, "health", "--in", dir)
	if err != nil || fmt.Sprint(healthy["status"]) != "0" {
		return nil, errors.Join(err, fmt.Errorf("health: %s", show(healthy)))
	}
	var report map[string]any
	if err := decode(raw, &report); err != nil {
		return nil, err
	}
	listed, err := os.ReadFile(filepath.Join(dir, "mismatches.tsv"))
	if err != nil {
		return nil, err
	}
	report["mismatches"] = plain(strings.Count(string(listed), "\n"))
	return report, nil
}
