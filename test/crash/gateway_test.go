package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hapax/internal/auth"
	"hapax/internal/child"
)

// TestGatewayKilledUnderLoad kills a gateway 30 times at random points while upstreams deliver, each delivery again until it is answered, and a
// flaky destination takes what is forwarded. Then each accepted event has arrived under one id, and none has two; a key's events arrived
// first in their order; the outbox is empty; the log is proved; and the export settles to the online report.
func TestGatewayKilledUnderLoad(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d (the kills' moments; the processes' own timing isn't repeated by it)", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	to := newDestination(t, seed)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	listen, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	config := gatewayConfig(t, dir, to.url)
	server := startServer(t, ctx, data, listen, "--config", config)

	running, stop := context.WithCancel(ctx)
	defer stop()
	answered := make(chan struct{}, 1<<20)
	upstreams, sending := []*upstream{}, &errgroup.Group{}
	for n := range 8 {
		u := &upstream{n: n, addr: listen, random: rand.New(rand.NewPCG(seed, uint64(n))), at: map[string]int64{}, answered: answered, began: time.Now().Unix() - 30*24*3600}
		upstreams = append(upstreams, u)
		sending.Go(func() error { return u.run(running, ctx) })
	}
	for range kills {
		for range 5 + random.IntN(100) {
			select {
			case <-answered:
			case <-ctx.Done():
				t.Fatalf("no more answers: %v\n%s", ctx.Err(), server.Log())
			}
		}
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		server = startServer(t, ctx, data, listen, "--config", config)
	}
	stop()
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
	to.calm.Store(true)
	emptied(t, ctx, data, listen)
	if err := server.Stop(); err != nil {
		t.Errorf("the last server didn't drain: %v\n%s", err, server.Log())
	}
	to.judge(t, upstreams)
	settled(t, ctx, dir, data, to)
}

// gatewayConfig writes the configuration of two sources, of which the second's books are in another currency.
func gatewayConfig(t *testing.T, dir, destination string) string {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	source := func(currency string) map[string]any {
		return map[string]any{
			"verify": map[string]any{"scheme": "none"}, "key": map[string]any{"pointer": "/key"}, "amount": map[string]any{"pointer": "/amount"},
			"currency": map[string]any{"const": currency}, "seen_at": map[string]any{"pointer": "/at", "form": "unix"}, "registry": "open", "lru_capacity": 100,
			"rate":    map[string]any{"per_second": 100000, "burst": 100000},
			"forward": map[string]any{"url": destination, "secret_files": []string{secret}, "allow": []string{"127.0.0.0/8"}, "timeout": "1s"},
		}
	}
	raw, err := json.Marshal(map[string]any{"gateway": map[string]any{
		"policy":  map[string]any{"block_window": "1h"},
		"tenants": map[string]any{"acme": map[string]any{"sources": map[string]any{"usd": source("USD"), "eur": source("EUR")}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return write("hapax.yaml", string(raw))
}

// upstream delivers events of keys of its own. Each delivery is sent until it is answered, as upstreams do.
type upstream struct {
	n        int
	addr     string
	random   *rand.Rand
	began    int64
	at       map[string]int64 // of the key's last delivery
	answered chan<- struct{}
	told     []told
	serial   int
}

// told is a delivery and what it was told.
type told struct {
	event
	outcome string // accept or dedupe
	id      string // of the accepted event: its own, or the one that it repeats
	again   bool   // it was sent more than once
}

// event is what an upstream delivers.
type event struct {
	Key    string `json:"key"`
	Amount string `json:"amount"`
	At     int64  `json:"at"`
	Serial string `json:"serial"` // names the delivery
}

// run delivers until running ends; life bounds the last one.
func (u *upstream) run(running, life context.Context) error {
	for running.Err() == nil {
		e := u.next()
		source := []string{"usd", "eur"}[u.n%2]
		t, err := u.deliver(life, source, e)
		if err != nil {
			return err
		}
		u.told = append(u.told, t)
		u.answered <- struct{}{}
	}
	return nil
}

// next makes a new event of a key, or one within the window of the last: a repeat.
func (u *upstream) next() event {
	key := fmt.Sprintf("u%d-%d", u.n, u.random.IntN(6))
	if u.at[key] == 0 {
		u.at[key] = u.began
	} else if u.random.IntN(3) > 0 {
		u.at[key] += 3601
	} else {
		u.at[key] += 5
	}
	u.serial++
	return event{Key: key, Amount: fmt.Sprintf("%d.%02d", u.random.IntN(100), u.random.IntN(100)), At: u.at[key], Serial: fmt.Sprintf("%d/%d", u.n, u.serial)}
}

func (u *upstream) deliver(ctx context.Context, source string, e event) (told, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return told{}, err
	}
	for sends := 1; ; sends++ {
		status, answer, err := post(ctx, "http://"+u.addr+"/v1/ingest/acme/"+source, body)
		if err == nil && status < 500 {
			t := told{event: e, outcome: answer.Outcome, id: answer.ID, again: sends > 1}
			if answer.Outcome == "dedupe" {
				t.id = answer.Repeats
			}
			if status != 202 && status != 200 || t.id == "" {
				return t, fmt.Errorf("%s: %d %+v", body, status, answer)
			}
			return t, nil
		}
		select {
		case <-time.After(20 * time.Millisecond): // the server is being started again
		case <-ctx.Done():
			return told{}, ctx.Err()
		}
	}
}

type ingested struct{ Outcome, ID, Repeats, Detail string }

// posting keeps few connections, and none for long: a killed server leaves broken ones.
var posting = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Second}}

func post(ctx context.Context, url string, body []byte) (status int, a ingested, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, a, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := posting.Do(req)
	if err != nil {
		return 0, a, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode < 500 {
		err = json.Unmarshal(raw, &a)
	}
	return resp.StatusCode, a, err
}

// emptied waits until the outbox is.
func emptied(t *testing.T, ctx context.Context, data, listen string) {
	t.Helper()
	key, err := auth.OpenLocalKey(data)
	if err != nil {
		t.Fatal(err)
	}
	token, err := key.SignClaims(auth.Everything("test"), time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/v1/sources", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		var all struct {
			Sources []struct{ Waiting, Dead int64 }
		}
		resp, err := posting.Do(req)
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&all)
			_ = resp.Body.Close()
		}
		if err == nil && len(all.Sources) == 2 && all.Sources[0].Waiting+all.Sources[1].Waiting == 0 {
			if dead := all.Sources[0].Dead + all.Sources[1].Dead; dead > 0 {
				t.Errorf("%d dead letters: the destination refused nothing for good", dead)
			}
			return
		}
		pause(t, ctx, fmt.Sprintf("the outbox isn't empty: %+v %v", all, err))
	}
}

// settled proves the log, exports it, and settles each currency: the report is the online one to the byte, and counts what arrived.
func settled(t *testing.T, ctx context.Context, dir, data string, to *destination) {
	t.Helper()
	out := filepath.Join(dir, "export")
	command(t, ctx, "audit", "--data", data)
	command(t, ctx, "export", "--data", data, "--out", out)
	accepted := 0
	for _, currency := range []string{"USD", "EUR"} {
		folder := filepath.Join(out, currency)
		online := command(t, ctx, "report", "--data", data, "--currency", currency)
		command(t, ctx, "settle", "--in", folder)
		command(t, ctx, "health", "--in", folder)
		batch, err := os.ReadFile(filepath.Join(folder, "report.json"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(batch, online) {
			t.Errorf("%s: settled\n%s\nonline\n%s", currency, batch, online)
		}
		var report struct{ Counts struct{ Accept int } }
		if err := json.Unmarshal(online, &report); err != nil {
			t.Fatal(err)
		}
		accepted += report.Counts.Accept
	}
	if n := len(to.arrivals); n != accepted {
		t.Errorf("%d events arrived, %d were accepted", n, accepted)
	}
}

// command runs the command line; its exit status must be 0.
func command(t *testing.T, ctx context.Context, args ...string) (stdout []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("hapax %v: %v\n%s%s", args, err, out.Bytes(), log.Bytes())
	}
	return out.Bytes()
}
