package agree

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const probeScript = "../../probe/probe.mjs"

var (
	scenarios = flag.Int("scenarios", 2_000, "random scenarios to compare on")
	firstSeed = flag.Uint64("seed", 1, "seed of the first scenario")
)

const atOnce = 500 // scenarios on disk at a time

// TestAuditAndProbeAgree compares the two on random scenarios; what parts them is shrunk and shown.
func TestAuditAndProbeAgree(t *testing.T) {
	aim := map[string]int{}
	for done := 0; done < *scenarios; done += atOnce {
		n := min(atOnce, *scenarios-done)
		root := t.TempDir()
		dirs := make([]string, n)
		for i := range dirs {
			dirs[i] = filepath.Join(root, fmt.Sprint(i))
			if err := Generate(*firstSeed + uint64(done+i)).Write(dirs[i]); err != nil {
				t.Fatal(err)
			}
		}
		probed, err := ByProbe(probeScript, dirs)
		if err != nil {
			t.Fatal(err)
		}
		for i, dir := range dirs {
			audited, err := ByAudit(dir)
			if err != nil {
				t.Fatal(err)
			}
			note(aim, audited)
			if audited != probed[i] {
				t.Fatal(explain(t, Generate(*firstSeed+uint64(done+i))))
			}
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("of %d scenarios: %v", *scenarios, aim)
	for _, sight := range sights {
		if aim[sight.name] < *scenarios/50 {
			t.Errorf("%d of %d scenarios with %s: the generator has lost its aim", aim[sight.name], *scenarios, sight.name)
		}
	}
}

// sights are what the generator must bring about often enough to be worth its time.
var sights = []struct {
	name string
	seen func(Reading) bool
}{
	{"status 0", func(r Reading) bool { return r.Status == 0 }},
	{"status 2 and a report", func(r Reading) bool { return r.Status == 2 && r.Report != "" }},
	{"status 2 and no report", func(r Reading) bool { return r.Status == 2 && r.Report == "" }},
	{"status 3", func(r Reading) bool { return r.Status == 3 }},
	{"malformed rows", func(r Reading) bool { return r.Malformed != "" }},
	{"a done duplicate", func(r Reading) bool { return r.Report != "" && !strings.Contains(r.Report, `"duplicate_done": 0,`) }},
	{"a pending duplicate", func(r Reading) bool { return r.Report != "" && !strings.Contains(r.Report, `"duplicate_pending": 0,`) }},
	{"a bad amount", func(r Reading) bool { return r.Report != "" && !strings.Contains(r.Report, `"bad_amount": 0,`) }},
	{"an unknown key", func(r Reading) bool { return r.Report != "" && !strings.Contains(r.Report, `"unknown_key": 0`) }},
	{"two in the ledger", func(r Reading) bool { return strings.Count(r.Report, `"lru_rank":`) >= 2 }},
	{"an empty ledger with hits", func(r Reading) bool {
		return strings.Contains(r.Report, `"lru": []`) && !strings.Contains(r.Report, `"window_hits": 0`)
	}},
}

func note(aim map[string]int, r Reading) {
	for _, sight := range sights {
		if sight.seen(r) {
			aim[sight.name]++
		}
	}
}

func readBoth(t *testing.T, s Scenario) (audited, probed Reading) {
	t.Helper()
	dir := t.TempDir()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	audited, err := ByAudit(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ByProbe(probeScript, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return audited, all[0]
}

func explain(t *testing.T, s Scenario) string {
	t.Helper()
	s = Shrink(s, func(smaller Scenario) bool {
		audited, probed := readBoth(t, smaller)
		return audited != probed
	})
	audited, probed := readBoth(t, s)
	text := ""
	for name, file := range s {
		text += fmt.Sprintf("%s: %q\n", name, file)
	}
	return fmt.Sprintf("%saudit: %+v\nprobe: %+v", text, audited, probed)
}
