package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hapax/internal/anchor"
	"hapax/internal/auth"
	"hapax/internal/config"
	"hapax/internal/store/pebble"
	"hapax/internal/wire/admin"
)

// deliveries posts events e1 to eN and expects all to be new.
func (r *running) deliveries(from, to int) {
	r.t.Helper()
	for i := from; i <= to; i++ {
		if a := r.deliver("shop", fmt.Sprintf(`{"id":"e%d","amount":"1.50"}`, i)); a.status != 202 {
			r.t.Fatalf("event %d: %d %s", i, a.status, a.raw)
		}
	}
}

// logFile is the write-ahead log of a folder that holds the most.
func logFile(t *testing.T, data string) (path string, content []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(data, "db", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > len(content) {
			path, content = name, text
		}
	}
	return path, content
}

// anew puts a copy of a folder in the place of one.
func anew(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{auth.LocalKeyFile, auth.LinkFile} {
		if secret := filepath.Join(to, name); os.Chmod(secret, 0o600) != nil && filepath.Base(to) != "db" {
			t.Fatalf("%s can't be kept from others", secret)
		}
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestALogThatWentBackClosesIngestUntilItIsAccepted takes away what a log held, in each of the ways in which disks and people do so. What was
// accepted may count again, so nothing is let in until a person says so; and verify tells it, before the start and after.
func TestALogThatWentBackClosesIngestUntilItIsAccepted(t *testing.T) {
	for _, c := range []struct {
		name     string
		anchored bool // there is an anchor; else the head note has to tell
		spoil    func(t *testing.T, data, older, anchorFile string)
	}{
		{"a bit of the log flipped", false, func(t *testing.T, data, _, _ string) {
			path, text := logFile(t, data)
			text[len(text)/2] ^= 4
			write(t, path, text)
		}},
		{"the log cut", false, func(t *testing.T, data, _, _ string) {
			path, text := logFile(t, data)
			write(t, path, text[:len(text)/2])
		}},
		{"an older database put back beside the newer note", false, func(t *testing.T, data, older, _ string) {
			anew(t, filepath.Join(older, "db"), filepath.Join(data, "db"))
		}},
		{"an older folder put back, with an anchor", true, func(t *testing.T, data, older, _ string) { anew(t, older, data) }},
		{"an anchor that knows more", true, func(t *testing.T, _, _, anchorFile string) {
			heads, err := anchor.Read(anchorFile)
			if err != nil {
				t.Fatal(err)
			}
			last := heads[len(heads)-1]
			last.Number += 100
			if err := anchor.Append(anchorFile, last); err != nil {
				t.Fatal(err)
			}
		}},
		{"an anchor that knows another record", true, func(t *testing.T, _, _, anchorFile string) {
			heads, err := anchor.Read(anchorFile)
			if err != nil {
				t.Fatal(err)
			}
			last := heads[len(heads)-1]
			last.Hash[7]++
			write(t, anchorFile, last.Line())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := t.TempDir()
			data, older, anchorFile := filepath.Join(base, "data"), filepath.Join(base, "older"), filepath.Join(base, "anchor")
			change := func(conf *config.Config) {
				withGateway(map[string]config.Source{"shop": shop(t)})(conf)
				conf.Data = data
				if c.anchored {
					conf.Gateway.Anchor = anchorFile
				}
			}
			begin := func() *running { return start(t, setup{kind: "pebble", change: change}) }
			r := begin()
			r.ready()
			r.deliveries(1, 10)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			anew(t, data, older)
			r = begin()
			r.ready()
			r.deliveries(11, 30)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, data, older, anchorFile)
			if !c.anchored {
				told(t, data, true)
			}

			r = begin()
			lost(t, r)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			told(t, data, true) // the note that knew is gone; what it knew isn't
			r = begin()
			lost(t, r)
			r.accept()
			r.ready()
			r.deliveries(31, 40)
			r.until("hapax_gateway_lost_records 0")
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			told(t, data, false)
			r = begin()
			r.ready()
			r.deliveries(41, 42)
		})
	}
}

// told verifies a folder that nobody has open.
func told(t *testing.T, data string, want bool) {
	t.Helper()
	rep, err := pebble.Verify(t.Context(), data, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if (rep.LostRecords > 0) != want || !want && !rep.OK() {
		t.Fatalf("%d lost records are told: %v", rep.LostRecords, rep.Faults)
	}
}

// lost looks whether a server says everywhere that its log went back, and lets nothing in, while rooms go on.
func lost(t *testing.T, r *running) {
	t.Helper()
	a := r.deliver("shop", `{"id":"e1","amount":"1.50"}`)
	if a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body.str("detail"), "operator") {
		t.Fatalf("a delivery: %d %s", a.status, a.raw)
	}
	if status, body := r.adminStatus("/readyz"); status != 503 || !strings.Contains(body, "went back from record") || !strings.Contains(body, "accept-loss") {
		t.Fatalf("/readyz: %d %s", status, body)
	}
	if _, body := r.adminStatus("/metrics"); strings.Contains(body, "hapax_gateway_lost_records 0\n") {
		t.Fatal("no metric tells of it")
	}
	if a := r.post("tea", r.token("ada"), "a", `{"text":"x"}`); a.status != 200 && a.status != 201 {
		t.Fatalf("a message in a room: %d %s", a.status, a.raw)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := admin.AskCheckpoint(t.Context(), r.config.Data, copied, 0); err != nil {
		t.Fatal(err)
	}
	told(t, copied, true)
}

// accept accepts the loss over the socket, once.
func (r *running) accept() {
	r.t.Helper()
	text, err := admin.AskAcceptLoss(r.t.Context(), r.config.Data, "ann", "the disk")
	if err != nil || !strings.Contains(text, "went back from record") {
		r.t.Fatalf("%q %v", text, err)
	}
	if _, err := admin.AskAcceptLoss(r.t.Context(), r.config.Data, "ann", "the disk"); err == nil || !strings.Contains(err.Error(), "lost nothing") {
		r.t.Fatalf("the same loss was accepted twice: %v", err)
	}
}
