package hapax

// The rules of the house (docs/architecture.md, "Rooms and what they may import"), held against what the
// compiler really imports. A wrong import fails here, by name.

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

type pkg struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
}

// room is a set of packages with one rule. A path ending in /… takes all below it, the path itself included.
type room struct {
	name    string
	paths   []string
	allow   []string // packages of this module that it may import; "std" and "third" stand for the rest
	forbid  []string // exact packages that it may not import, whatever allow says
	purpose string
}

// impure are the doors through which a clock, chance, a disk, a network or a lock come in.
var impure = []string{"time", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "net/http", "sync", "sync/atomic", "context", "log", "log/slog", "runtime"}

var pureRooms = []string{"hapax/internal/idem", "hapax/internal/room", "hapax/internal/settle", "hapax/internal/gateway"}

var rooms = []room{
	{name: "main", paths: []string{"hapax/cmd/hapax"}, allow: []string{"std", "hapax/internal/cli"}, purpose: "main is thin"},
	{name: "protocol", paths: []string{"hapax/protocol"}, allow: []string{"std"}, purpose: "a client can be built from it alone"},
	{name: "client session", paths: []string{"hapax/client/session/…"}, allow: []string{"std", "hapax/protocol", "hapax/client/…"}, forbid: impure, purpose: "the machine knows no clock, disk or network"},
	{name: "client", paths: []string{"hapax/client/…"}, allow: []string{"std", "third", "hapax/protocol", "hapax/client/…"}, purpose: "the SDK needs nothing of the server"},
	{name: "pure rules", paths: []string{"hapax/internal/idem", "hapax/internal/room", "hapax/internal/settle", "hapax/internal/gateway"}, allow: append([]string{"std"}, pureRooms...), forbid: impure, purpose: "same input, same outcome"},
	{name: "audit", paths: []string{"hapax/internal/audit"}, allow: []string{"std"}, purpose: "an independent recomputation shares nothing"},
	{name: "settlement", paths: []string{"hapax/internal/settlement/…"}, allow: []string{"std", "third", "hapax/internal/settle", "hapax/internal/settlement/…"}, purpose: "files in, report out, by the pure rule"},
	{name: "a process, a network", paths: []string{"hapax/internal/child", "hapax/internal/badnet"}, allow: []string{"std", "third"}, purpose: "they stand outside of what they run and carry"},
	{name: "store", paths: []string{"hapax/internal/store/…"}, allow: append([]string{"std", "third", "hapax/internal/store/…"}, pureRooms...), purpose: "pure rules and its own driver"},
	{name: "fanout", paths: []string{"hapax/internal/fanout/…"}, allow: []string{"std", "third", "hapax/internal/fanout/…"}, purpose: "hints, and its own driver"},
	{name: "engine", paths: []string{"hapax/internal/engine/…"}, allow: append([]string{"std", "third", "hapax/internal/store", "hapax/internal/fanout", "hapax/internal/engine/…"}, pureRooms...), purpose: "pure rules and interfaces"},
	{name: "wire", paths: []string{"hapax/internal/wire/…"}, allow: append([]string{"std", "third", "hapax/protocol", "hapax/internal/engine/…", "hapax/internal/auth", "hapax/internal/telemetry", "hapax/internal/wire/…"}, pureRooms...), purpose: "bytes to command and outcome to answer; never a store"},
	{name: "console", paths: []string{"hapax/internal/console"}, allow: []string{"std"}, purpose: "files out, as they were built"},
	{name: "config", paths: []string{"hapax/internal/config"}, allow: []string{"std", "third", "hapax/internal/settle"}, purpose: "a leaf; names and integers are the contract's"},
	{name: "leaves", paths: []string{"hapax/internal/auth", "hapax/internal/telemetry"}, allow: []string{"std", "third", "hapax/protocol", "hapax/internal/config"}, purpose: "leaf services"},
	{name: "prove", paths: []string{"hapax/internal/prove"}, allow: append([]string{"std", "hapax/internal/audit", "hapax/internal/anchor", "hapax/internal/store", "hapax/internal/engine/intake"}, pureRooms...), purpose: "shows a store to the audit, and judges nothing"},
	{name: "export", paths: []string{"hapax/internal/export"}, allow: append([]string{"std", "hapax/internal/store"}, pureRooms...), purpose: "writes a store's view as files, and judges nothing"},
	{name: "anchor", paths: []string{"hapax/internal/anchor"}, allow: []string{"std"}, purpose: "a file outside of the store"},
	{name: "forward", paths: []string{"hapax/internal/forward"}, allow: append([]string{"std", "third", "hapax/protocol", "hapax/client/session", "hapax/client/store", "hapax/internal/engine/intake", "hapax/internal/engine/trust"}, pureRooms...), purpose: "carries accepted events to destinations, by the client's delay law"},
}

func TestHouseImports(t *testing.T) {
	packages := list(t)
	if len(packages) < 5 {
		t.Fatalf("go list named %d packages: the rules would hold of nothing", len(packages))
	}
	for _, r := range rooms {
		for _, p := range packages {
			if !matches(p.ImportPath, r.paths) || isTestRoom(p.ImportPath) {
				continue
			}
			for _, fault := range r.faults(p) {
				t.Errorf("%s imports %s: not for the room %q (%s)", p.ImportPath, fault, r.name, r.purpose)
			}
		}
	}
}

func TestHouseNoGrabBags(t *testing.T) {
	for _, p := range list(t) {
		last := p.ImportPath[strings.LastIndex(p.ImportPath, "/")+1:]
		if slices.Contains([]string{"util", "utils", "common", "manager", "helper", "helpers"}, last) {
			t.Errorf("%s: a package is named for what it owns", p.ImportPath)
		}
	}
}

// TestHouseRulesCanFail plants imports that are against the rules and expects each to be named.
func TestHouseRulesCanFail(t *testing.T) {
	planted := []struct{ path, imports string }{
		{"hapax/cmd/hapax", "hapax/internal/serve"},
		{"hapax/protocol", "github.com/gobwas/ws"},
		{"hapax/client/session", "time"},
		{"hapax/client/store/sqlite", "hapax/internal/idem"},
		{"hapax/internal/room", "sync"},
		{"hapax/internal/settle", "hapax/internal/store"},
		{"hapax/internal/audit", "hapax/internal/settle"},
		{"hapax/internal/settlement", "hapax/internal/audit"},
		{"hapax/internal/prove", "hapax/internal/store/pebble"},
		{"hapax/internal/export", "hapax/internal/settlement"},
		{"hapax/internal/child", "hapax/internal/serve"},
		{"hapax/internal/store/pebble", "hapax/internal/engine"},
		{"hapax/internal/engine", "hapax/internal/store/pebble"},
		{"hapax/internal/wire/ws", "hapax/internal/store"},
		{"hapax/internal/auth", "hapax/internal/engine"},
	}
	for _, c := range planted {
		found := 0
		for _, r := range rooms {
			if matches(c.path, r.paths) {
				found += len(r.faults(pkg{ImportPath: c.path, Imports: []string{c.imports}}))
			}
		}
		if found == 0 {
			t.Errorf("%s importing %s went unnoticed", c.path, c.imports)
		}
	}
}

func (r room) faults(p pkg) (bad []string) {
	for _, i := range p.Imports {
		if slices.Contains(r.forbid, i) || !allowed(i, r.allow) {
			bad = append(bad, i)
		}
	}
	return bad
}

func allowed(path string, allow []string) bool {
	switch {
	case path == "C":
		return false
	case strings.HasPrefix(path, "hapax/"):
		return matches(path, allow)
	case strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		return slices.Contains(allow, "third")
	default:
		return slices.Contains(allow, "std")
	}
}

func matches(path string, patterns []string) bool {
	for _, p := range patterns {
		if base, below := strings.CutSuffix(p, "/…"); below && (path == base || strings.HasPrefix(path, base+"/")) || path == p {
			return true
		}
	}
	return false
}

// isTestRoom tells packages that exist for tests only: conformance suites and planted file systems.
func isTestRoom(path string) bool { return strings.HasSuffix(path, "test") }

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Standard,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}
