package serve_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/internal/serve"
	"hapax/internal/store"
	"hapax/internal/wire/admin"
	"hapax/protocol"
)

// A drain tells every client when to come back, spread; answers what was sent before; takes nothing new; and loses nothing.
func TestDrainFinishesWhatWasSent(t *testing.T) {
	var g *gate
	r := start(t, setup{kind: "pebble", wrap: func(st store.Store) store.Store { g = newGate(st); return g }})
	busy, idle := r.enter("ada"), r.enter("ben")
	busy.subscribe("tea")
	release := g.hold()
	defer release()
	busy.say("tea", "a", "x")
	<-g.entered
	waiting := r.postLater("tea", r.token("eve"), "b", `{"text":"y"}`)
	r.until("hapax_queue_commands 1") // the request's send has arrived
	r.signals <- syscall.SIGTERM

	told := idle.wantError(protocol.Draining)
	idle.wantClose(protocol.Draining.Rule().Close)
	if after := told.num("retryAfterMs"); after < 1 || after > 6000 {
		t.Errorf("come back after %d ms", after)
	}
	busy.wantError(protocol.Draining)
	busy.say("tea", "late", "z")
	if e := busy.wantError(protocol.Draining); e.str("clientMessageId") != "late" {
		t.Errorf("a send after the drain: %v", e)
	}
	if status, body := r.adminStatus("/readyz"); status != 503 || !strings.Contains(body, "drain") {
		t.Errorf("ready while draining: %d %s", status, body)
	}
	release()
	if a := busy.skipTo("ack"); a.str("clientMessageId") != "a" {
		t.Errorf("%v", a)
	}
	busy.wantClose(protocol.Draining.Rule().Close)
	if a := <-waiting; a.status != 201 {
		t.Errorf("a request under way got %d %s", a.status, a.raw)
	}
	if err := r.wait(); err != nil {
		t.Fatalf("the drain ended with %v", err)
	}
	again := start(t, setup{change: func(c *config.Config) { *c = r.config; c.Listen, c.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0" }})
	if a := again.get("/v1/rooms/tea/messages/by-key/a", again.token("ada")); a.status != 200 {
		t.Errorf("what was acknowledged is gone: %d %s", a.status, a.raw)
	}
	if a := again.get("/v1/rooms/tea/messages/by-key/late", again.token("ada")); a.status != 404 {
		t.Errorf("what was refused is there: %d %s", a.status, a.raw)
	}
}

func TestClientsAreToldToComeBackSpreadOverTime(t *testing.T) {
	r := start(t, setup{})
	var sockets []*socket
	for range 20 {
		sockets = append(sockets, r.enter("ada"))
	}
	r.signals <- syscall.SIGTERM
	times := map[int64]bool{}
	for _, s := range sockets {
		times[s.wantError(protocol.Draining).num("retryAfterMs")/500] = true
	}
	if len(times) < 4 { // 20 draws of 10 half seconds: fewer than 4 different ones would be a wonder
		t.Errorf("all come back within %d half seconds of ten", len(times))
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	var g *gate
	r := start(t, setup{wrap: func(st store.Store) store.Store { g = newGate(st); return g }})
	s := r.enter("ada")
	s.subscribe("tea")
	release := g.hold()
	s.say("tea", "a", "x")
	<-g.entered
	r.signals <- syscall.SIGTERM
	s.wantError(protocol.Draining)
	r.signals <- syscall.SIGINT
	if err := r.wait(); !errors.Is(err, serve.ErrKilled) {
		t.Errorf("ended with %v", err)
	}
	release() // the process would be gone; here its goroutines still end
	s.skipTo("ack")
	s.wantClose(protocol.Draining.Rule().Close)
}

func TestAFailedCommitEndsTheServer(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		var g *gate
		r := start(t, setup{kind: kind, change: func(c *config.Config) { c.Drain.Grace = time.Second }, wrap: func(st store.Store) store.Store { g = newGate(st); return g }})
		s := r.enter("ada")
		s.subscribe("tea")
		s.say("tea", "a", "x")
		s.want("ack")
		s.want("message")
		g.fail()
		s.say("tea", "b", "y")
		s.wantError(protocol.Unavailable)
		s.say("tea", "a", "x")
		s.wantError(protocol.Unavailable)
		if status, body := r.adminStatus("/readyz"); status != 503 || !strings.Contains(body, "store") {
			t.Errorf("ready with a failed store: %d %s", status, body)
		}
		if a := r.get("/v1/rooms/tea/messages", r.token("ada")); a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("HTTP: %d %s", a.status, a.raw)
		}
		if err := r.wait(); !errors.Is(err, serve.ErrStoreFailed) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestWhatTheStartRefuses(t *testing.T) {
	r := start(t, setup{kind: "pebble"})
	run := func(change func(*config.Config)) error {
		c := config.Default()
		c.Data, c.Listen, c.Admin.Listen = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", "127.0.0.1:0"
		change(&c)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return serve.Run(ctx, c, serve.Host{Log: slog.New(slog.DiscardHandler), Started: func(serve.Addresses) { cancel(); t.Error("it started") }})
	}
	if err := run(func(c *config.Config) { c.Data = r.config.Data }); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a folder in use: %v", err)
	}
	newer := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(newer, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(newer, "format"), []byte("hapax-store 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(func(c *config.Config) { c.Data = newer }); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a folder of a newer version: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*config.Config){
		"a folder of other files":  func(c *config.Config) { c.Data = other },
		"an address in use":        func(c *config.Config) { c.Listen = r.at.Clients },
		"an admin address in use":  func(c *config.Config) { c.Admin.Listen = r.at.Clients },
		"a key file that isn't":    func(c *config.Config) { c.Auth.KeyFile = filepath.Join(t.TempDir(), "absent") },
		"a key set that isn't":     func(c *config.Config) { c.Auth.JWKSFile = filepath.Join(t.TempDir(), "absent") },
		"a certificate that isn't": func(c *config.Config) { c.TLS.Cert, c.TLS.Key = "absent.pem", "absent.pem" },
		"a folder too deep for the admin socket": func(c *config.Config) {
			c.Store, c.Data = "pebble", filepath.Join(t.TempDir(), strings.Repeat("d", 200))
		},
	} {
		if err := run(change); !errors.Is(err, serve.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(other); err != nil || len(left) != 1 {
		t.Errorf("the folder of other files now holds %v, %v", left, err)
	}
}

// While the server runs, its store is copied through the socket that only its own user may open. What the copy holds is
// what was acknowledged before.
func TestACheckpointThroughTheAdminSocket(t *testing.T) {
	r := start(t, setup{kind: "pebble"})
	info, err := os.Stat(filepath.Join(r.config.Data, admin.SocketName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	first := r.post("tea", r.token("ada"), "a", `{"text":"x"}`)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := admin.AskCheckpoint(t.Context(), r.config.Data, copied, 0); err != nil {
		t.Fatal(err)
	}
	if err := admin.AskCheckpoint(t.Context(), r.config.Data, copied, 0); err == nil {
		t.Error("a copy was written over")
	}
	again := start(t, setup{change: func(c *config.Config) {
		*c = r.config
		c.Data, c.Listen, c.Admin.Listen = copied, "127.0.0.1:0", "127.0.0.1:0"
	}})
	got := again.get("/v1/rooms/tea/messages/by-key/a", again.token("ada"))
	if got.status != 200 || got.body.str("messageId") != first.body.str("messageId") {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if epoch := again.get("/v1/rooms", again.token("ada")).body.str("epoch"); epoch == first.body.str("epoch") {
		t.Error("the copy goes on in the original's epoch")
	}
}

// With notice a server that was told to stop is unready and serves on, so that a balancer sees it first; a second signal doesn't wait for that.
func TestADrainGivesNotice(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Drain.Notice = time.Hour }})
	s := r.enter("ada")
	s.subscribe("tea")
	r.signals <- syscall.SIGTERM
	for end := time.Now().Add(patience); ; {
		if status, _ := r.adminStatus("/readyz"); status == http.StatusServiceUnavailable {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server stays ready")
		}
	}
	s.say("tea", "a", "x")
	s.want("ack")
	if a := r.post("tea", r.token("ben"), "b", `{"text":"y"}`); a.status != http.StatusCreated {
		t.Error(a.status, a.raw)
	}
	r.enter("eve").subscribe("tea")
	r.signals <- syscall.SIGTERM
	if err := r.wait(); !errors.Is(err, serve.ErrKilled) {
		t.Error(err)
	}
}
