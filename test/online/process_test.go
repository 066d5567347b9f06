package online

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hapax/internal/child"
	"hapax/internal/cli"
)

// asProgram makes the test binary the program itself.
const asProgram = "TEST_AS_HAPAX"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const processConfig = `
gateway:
  policy: {block_window: 30s, scope_strict: false, lru_min_hits: 1}
  anchor: %[1]s/anchor
  tenants:
    acme:
      sources:
        pay:
          verify: {scheme: none}
          key: {pointer: /id}
          amount: {pointer: /amount}
          currency: {pointer: /currency}
          registry: open
          lru_capacity: 5
          on_mismatch: reject
          rate: {per_second: 100000, burst: 100000}
          forward: {url: "%[2]s", secret_files: [%[1]s/secret], allow: [127.0.0.0/8]}
        crm:
          verify: {scheme: none}
          key: {pointer: /id}
          amount: {pointer: /amount}
          currency: {pointer: /currency}
          registry: required
          registry_file: %[1]s/registry.tsv
          rate: {per_second: 100000, burst: 100000}
`

// process is a gateway as a process.
type process struct {
	t    *testing.T
	dir  string
	data string
	args []string
	now  *child.Server
}

func newProcess(t *testing.T, destination string) *process {
	t.Helper()
	dir := t.TempDir()
	p := &process{t: t, dir: dir, data: filepath.Join(dir, "data")}
	for name, text := range map[string]string{
		"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", "config.yaml": fmt.Sprintf(processConfig, dir, destination),
		"registry.tsv": "k1\twire\t0\t3\nk2\twire\t3600\t3\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.args = []string{"serve", "--dev", "--config", filepath.Join(dir, "config.yaml"), "--data", p.data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	return p
}

// start starts the process and waits until it is ready: the log has been checked.
func (p *process) start() {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	if p.now, err = child.Start(p.t.Context(), self, p.args, asProgram+"=1"); err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); ; {
		resp, err := http.Get("http://" + p.now.Admin + "/readyz")
		if err != nil {
			p.t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("not ready: %s", p.now.Log())
		}
	}
}

// load delivers from several connections until ctx ends, or n are answered.
func (p *process) load(ctx context.Context, seed uint64, n int) {
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for worker := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(worker)))
		all.Go(func() {
			for ctx.Err() == nil && left.Add(-1) >= 0 {
				p.deliver(ctx, r)
			}
		})
	}
	all.Wait()
}

func (p *process) deliver(ctx context.Context, r *rand.Rand) {
	body := fmt.Sprintf(`{"id":"k%d","amount":%q,"currency":%q}`, r.IntN(40), pick(r, "1.00", "1.00", "1.00", "2.50", "1e3"), pick(r, "USD", "USD", "USD", "USD", "JPY"))
	url := "http://" + p.now.Listen + "/v1/ingest/acme/" + pick(r, "pay", "pay", "crm")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil { // a process that was killed answers nothing
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// hapax runs a command and wants a status.
func (p *process) hapax(want int, args ...string) (stdout string) {
	p.t.Helper()
	var out, errs strings.Builder
	if got := cli.Main(args, strings.NewReader(""), &out, &errs); got != want {
		p.t.Fatalf("hapax %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
	}
	return out.String()
}

// equal exports, as long as the server runs and delivers, and settles to the reports of the same store.
func (p *process) equal(data, name string) {
	p.t.Helper()
	out := filepath.Join(p.dir, name)
	p.hapax(0, "export", "--data", data, "--out", out)
	currencies, err := os.ReadDir(out)
	if err != nil || len(currencies) == 0 {
		p.t.Fatal(currencies, err)
	}
	for _, c := range currencies {
		f := Folder{Dir: filepath.Join(out, c.Name()), Report: p.hapax(2, "report", "--data", data, "--currency", c.Name())}
		if err := f.Settle(); err != nil {
			p.t.Error(err)
		}
		byProbe(p.t, []Folder{f})
	}
}

// TestAProcessKilledUnderLoad kills a gateway under load with a flaky destination, again and again, and reads its store by each command, with
// the server running and without.
func TestAProcessKilledUnderLoad(t *testing.T) {
	var sends atomic.Int64
	destination := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch sends.Add(1) % 5 {
		case 0:
			w.WriteHeader(http.StatusForbidden)
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer destination.Close()
	p := newProcess(t, destination.URL)
	anchorFile := filepath.Join(p.dir, "anchor")
	older := filepath.Join(p.dir, "older")
	for life := range uint64(3) {
		p.start()
		p.load(t.Context(), life, 300)
		if life == 1 {
			p.hapax(0, "backup", "--data", p.data, older)
		}
		ctx, cancel := context.WithCancel(t.Context())
		loaded := make(chan struct{})
		go func() { p.load(ctx, 100+life, 1<<30); close(loaded) }()
		p.hapax(0, "audit", "--data", p.data) // of a checkpoint, while deliveries come in
		if err := p.now.Kill(); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-loaded
		p.hapax(0, "audit", "--data", p.data, "--keys", "10")
		p.equal(p.data, fmt.Sprint("export", life))
	}
	p.start()
	if out := p.hapax(0, "why", "--data", p.data, "acme", "pay", "k3"); !strings.Contains(out, "the first of its key") {
		t.Error(out)
	}
	p.hapax(1, "why", "--data", p.data, "acme", "pay", "nobody")
	if out := p.hapax(0, "advise", "--data", p.data, "--json"); !strings.Contains(out, `"USD":{"block_window_s":30`) {
		t.Error(out)
	}
	if err := p.now.Stop(); err != nil {
		t.Fatal(err)
	}
	if out := p.hapax(0, "audit", "--data", p.data, "--anchor", anchorFile); !strings.Contains(out, "anchored heads") {
		t.Error(out)
	}
	if out := p.hapax(0, "audit", "--data", older); !strings.Contains(out, tailUnknownPart) {
		t.Error("without an anchor it must say what can't be told:", out)
	}
	if out := p.hapax(1, "audit", "--data", older, "--anchor", anchorFile); !strings.Contains(out, "an older copy was put back") {
		t.Error(out)
	}
	p.rewritten(older, anchorFile)
}

const tailUnknownPart = "can't be told without --anchor"

// rewritten puts the older copy back and writes on it, past what was anchored.
func (p *process) rewritten(older, anchorFile string) {
	p.t.Helper()
	text, err := os.ReadFile(anchorFile)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(p.data), os.Remove(anchorFile)); err != nil {
		p.t.Fatal(err)
	}
	p.hapax(0, "restore", "--data", p.data, older)
	p.start()
	p.load(p.t.Context(), 77, 4000)
	if err := p.now.Stop(); err != nil {
		p.t.Fatal(err)
	}
	p.hapax(0, "audit", "--data", p.data, "--anchor", anchorFile)
	if err := os.WriteFile(anchorFile, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	if out := p.hapax(1, "audit", "--data", p.data, "--anchor", anchorFile); !strings.Contains(out, "rewritten") {
		p.t.Error(out)
	}
}
