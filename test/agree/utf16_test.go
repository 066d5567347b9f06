package agree

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"hapax/internal/cli"
)

// TestUTF16IsUnreadableForAll: a file that begins with a mark of UTF-16 is no facts, for each of the three readings, and the reason says
// so. Of several unreadable files the first is named, whatever is wrong with a later one.
func TestUTF16IsUnreadableForAll(t *testing.T) {
	good := Scenario{
		"policy.tsv":  "BLOCK_WINDOW_S\t10\nSCOPE_STRICT\t0\nLRU_MIN_HITS\t1\n",
		"dedupe.tsv":  "t\ts\tk\twire\t0\t1\n",
		"events.tsv":  "1\tt\ts\tk\t\t5\t1\tdone\t0\n",
		"opening.tsv": "t\ts\tk\twire\t0\tdone\n",
	}
	wide := func(mark, text string) string {
		var out strings.Builder
		out.WriteString(mark)
		for _, b := range []byte(text) {
			if mark == "\xff\xfe" {
				out.Write([]byte{b, 0})
			} else {
				out.Write([]byte{0, b})
			}
		}
		return out.String()
	}
	var dirs []string
	var wants []Reading
	add := func(status int, fault string, changes Scenario) {
		s := maps.Clone(good)
		maps.Copy(s, changes)
		dir := filepath.Join(t.TempDir(), "case")
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
		dirs, wants = append(dirs, dir), append(wants, Reading{Status: status, Fault: fault})
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		add(3, "", Scenario{"policy.tsv": wide(mark, good["policy.tsv"])})
		for _, name := range []string{"dedupe.tsv", "events.tsv", "opening.tsv"} {
			add(2, "unreadable:"+name, Scenario{name: wide(mark, good[name])})
			add(2, "unreadable:"+name, Scenario{name: mark})
			add(2, "unreadable:"+name, Scenario{name: mark + good[name]})
		}
		add(2, "unreadable:events.tsv", Scenario{"events.tsv": wide(mark, good["events.tsv"]), "opening.tsv": "broken\n"})
		add(2, "unreadable:dedupe.tsv", Scenario{"dedupe.tsv": wide(mark, good["dedupe.tsv"]), "events.tsv": "malformed\n"})
		add(2, "unreadable:dedupe.tsv", Scenario{"dedupe.tsv": wide(mark, ""), "events.tsv": wide(mark, "")})
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
		settled, err := BySettlement(dir)
		if err != nil {
			t.Fatal(err)
		}
		settled.Fault = wants[i].Fault // its standard error is looked at below
		if audited != wants[i] || probed[i] != wants[i] || settled != wants[i] {
			t.Errorf("%s: audit %+v, probe %+v, settlement %+v, want %+v", dir, audited, probed[i], settled, wants[i])
		}
		for _, command := range []string{"settle", "health", "advise"} {
			var out, errs strings.Builder
			status := cli.Main([]string{command, "--in", dir}, strings.NewReader(""), &out, &errs)
			file := strings.TrimPrefix(wants[i].Fault, "unreadable:")
			if said := out.String() + errs.String(); status != wants[i].Status || !strings.Contains(said, "UTF-16") || !strings.Contains(said, file) {
				t.Errorf("%s: %d %q", command, status, said)
			}
		}
	}
}
