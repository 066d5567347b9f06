package agree

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hapax/internal/cli"
)

var splits = flag.Int("splits", 200, "random scenarios to split into two periods")

// TestTwoPeriodsAreTheWhole splits events at a time, settles the first part with --closing, opens the second with it:
// the sums of both are those of the whole (docs/spec/contract.md, section 1, opening.tsv), and health, which takes the
// opening by its own code, is green on both.
func TestTwoPeriodsAreTheWhole(t *testing.T) {
	tried, opened := 0, 0
	for seed := *firstSeed; tried < *splits; seed++ {
		s := Generate(seed)
		root := t.TempDir()
		whole, ok := settleIn(t, filepath.Join(root, "whole"), s, "")
		if !ok {
			continue // no report: nothing to add up
		}
		tried++
		first, second := splitAt(s, int64(seed%7)*500)
		closing := filepath.Join(root, "closing.tsv")
		before, ok := settleIn(t, filepath.Join(root, "first"), first, closing)
		if !ok {
			t.Fatalf("seed %d: the first part can't be settled", seed)
		}
		text, err := os.ReadFile(closing)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 {
			opened++
		}
		after, ok := settleIn(t, filepath.Join(root, "second"), second.with("opening.tsv", string(text)), "")
		if !ok {
			t.Fatalf("seed %d: the second part can't be settled", seed)
		}
		if sum := before.plus(after); !sum.equal(whole) {
			t.Fatalf("seed %d: %v and %v are %v, the whole is %v", seed, before, after, sum, whole)
		}
	}
	if opened < *splits/2 {
		t.Errorf("only %d of %d first parts closed with a row: the test looks at nothing", opened, tried)
	}
}

// splitAt deals the rows of events.tsv by seen_at; rows that have none go to the first part.
func splitAt(s Scenario, at int64) (first, second Scenario) {
	var early, late strings.Builder
	for _, line := range strings.SplitAfter(s["events.tsv"], "\n") {
		columns := strings.Split(line, "\t")
		to := &early
		if len(columns) == 9 {
			if seen, err := strconv.ParseInt(columns[5], 10, 64); err == nil && seen >= at {
				to = &late
			}
		}
		to.WriteString(line)
	}
	return s.with("events.tsv", early.String()), s.with("events.tsv", late.String())
}

// sums are what two periods add up to.
type sums map[string]*big.Rat

func (a sums) plus(b sums) sums {
	both := maps.Clone(a)
	for name, value := range b {
		if old, there := both[name]; there {
			value = new(big.Rat).Add(old, value)
		}
		both[name] = value
	}
	return both
}

func (a sums) equal(b sums) bool {
	return maps.EqualFunc(a, b, func(x, y *big.Rat) bool { return x.Cmp(y) == 0 })
}

// settleIn settles a scenario and checks its health; false where there is no report.
func settleIn(t *testing.T, dir string, s Scenario, closing string) (sums, bool) {
	t.Helper()
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	args := []string{"settle", "--in", dir}
	if closing != "" {
		args = append(args, "--closing", closing)
	}
	var out strings.Builder
	if status := cli.Main(args, strings.NewReader(""), &out, &out); status != 0 && status != 2 && status != 3 {
		t.Fatalf("settle: status %d: %s", status, out.String())
	}
	text, err := readIfThere(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if text == "" {
		return nil, false
	}
	if _, line := HealthOf(dir); !strings.Contains(line, `"checks":8`) || strings.Contains(line, "mismatch") {
		t.Fatalf("health of %s: %s", dir, line)
	}
	var report struct {
		Counts   map[string]int
		Accepted string            `json:"accepted_total"`
		Deduped  string            `json:"deduped_amount"`
		Tenants  map[string]string `json:"tenant_totals"`
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	all := sums{"accepted_total": rat(t, report.Accepted), "deduped_amount": rat(t, report.Deduped)}
	for name, n := range report.Counts {
		all["count of "+name] = big.NewRat(int64(n), 1)
	}
	for tenant, total := range report.Tenants {
		all["total of "+tenant] = rat(t, total)
	}
	return all, true
}

func rat(t *testing.T, text string) *big.Rat {
	t.Helper()
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatal(fmt.Errorf("%q is no amount", text))
	}
	return value
}
