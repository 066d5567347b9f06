package agree

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

const probeScript = "../../probe/probe.mjs"

var (
	scenarios = flag.Int("scenarios", 2_000, "random scenarios to compare on")
	firstSeed = flag.Uint64("seed", 1, "seed of the first scenario")
)

const atOnce = 500 // scenarios on disk at a time

// TestThreeReadingsAgree compares the three on random scenarios; what parts them is shrunk and shown.
func TestThreeReadingsAgree(t *testing.T) {
	aim := map[string]int{}
	for done := 0; done < *scenarios; done += atOnce {
		root := t.TempDir()
		all := make([]Scenario, min(atOnce, *scenarios-done))
		for i := range all {
			all[i] = Generate(*firstSeed + uint64(done+i))
		}
		for i, three := range readAll(t, root, all) {
			note(aim, three.audit)
			if three.parted() {
				t.Fatal(explain(t, all[i]))
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

// threeReadings of one folder, and what health says once it is settled.
type threeReadings struct {
	audit, probe, settlement Reading
	healthStatus             int
	healthLine               string
}

// parted tells whether the readings differ, or health isn't what it must be of a right report.
func (three *threeReadings) parted() bool {
	settled := three.audit
	settled.Fault = "" // the settlement names it for people only
	if three.audit != three.probe || settled != three.settlement {
		return true
	}
	status, line := wantHealth(three.audit)
	if status == 3 { // the reason is the audit's own
		return three.healthStatus != 3 || !strings.HasPrefix(three.healthLine, line)
	}
	return three.healthStatus != status || three.healthLine != line
}

// wantHealth is what health must say of a folder whose report is right.
func wantHealth(r Reading) (status int, line string) {
	malformed := strings.Count(r.Malformed, "\n")
	switch {
	case r.Status == 3:
		return 3, `{"checks":0,"degraded":true,"issues":["contract:`
	case r.Report == "":
		return 2, fmt.Sprintf(`{"checks":0,"degraded":true,"issues":["%s"],"rc":2}`+"\n", r.Fault)
	case malformed > 0:
		return 2, fmt.Sprintf(`{"checks":8,"degraded":true,"issues":["malformed:%d"],"rc":2}`+"\n", malformed)
	}
	return 0, `{"checks":8,"degraded":false,"issues":[],"rc":0}` + "\n"
}

// readAll writes the scenarios and has each read by all; several at a time, since they wait for the disk most.
func readAll(t *testing.T, root string, all []Scenario) []threeReadings {
	t.Helper()
	dirs := make([]string, len(all))
	for i := range all {
		dirs[i] = filepath.Join(root, fmt.Sprint(i))
		if err := all[i].Write(dirs[i]); err != nil {
			t.Fatal(err)
		}
	}
	probed, err := ByProbe(probeScript, dirs)
	if err != nil {
		t.Fatal(err)
	}
	readings := make([]threeReadings, len(all))
	var group errgroup.Group
	group.SetLimit(8)
	for i, dir := range dirs {
		group.Go(func() (err error) {
			three := &readings[i]
			three.probe = probed[i]
			if three.audit, err = ByAudit(dir); err != nil {
				return err
			}
			three.settlement, err = BySettlement(dir)
			three.healthStatus, three.healthLine = HealthOf(dir)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return readings
}

func explain(t *testing.T, s Scenario) string {
	t.Helper()
	s = Shrink(s, func(smaller Scenario) bool {
		return readAll(t, t.TempDir(), []Scenario{smaller})[0].parted()
	})
	three := readAll(t, t.TempDir(), []Scenario{s})[0]
	text := ""
	for name, file := range s {
		text += fmt.Sprintf("%s: %q\n", name, file)
	}
	return fmt.Sprintf("%saudit: %+v\nprobe: %+v\nsettlement: %+v\nhealth: %s", text, three.audit, three.probe, three.settlement, three.healthLine)
}
