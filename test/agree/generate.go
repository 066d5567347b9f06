package agree

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Scenario is a folder's files by name; a name that isn't there is a file that isn't there.
type Scenario map[string]string

// generator draws one scenario. Its pools are small, so that keys, times and ranks meet often.
type generator struct {
	*rand.Rand
	tidy    bool  // nothing bad: no row malformed, no key unknown
	window  int64 // BLOCK_WINDOW_S
	keys    []string
	windows []int64
	seen    map[string]int64 // key → time of its last row, to put gaps exactly on the bound
}

// Generate draws the scenario of a seed: the same seed, the same files.
func Generate(seed uint64) Scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)), seen: map[string]int64{}}
	g.tidy = g.chance(30)
	g.window = pick[int64](g, 0, 1, 5, 100, 3600)
	g.windows = []int64{0, 0, g.window, 1, 7, g.window + 1, 999_999_999_999_999}
	for range 1 + g.IntN(6) {
		g.keys = append(g.keys, g.key())
	}
	s := Scenario{
		"policy.tsv": g.policy(),
		"dedupe.tsv": g.dress(g.registry()),
		"events.tsv": g.dress(g.many(g.IntN(40), g.eventRow)),
	}
	if g.chance(40) {
		s["opening.tsv"] = g.opening()
	}
	if g.bad(2) {
		delete(s, pick(g, "policy.tsv", "dedupe.tsv", "events.tsv"))
	}
	return s
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// chance is true in n of a hundred draws.
func (g *generator) chance(n int) bool { return g.IntN(100) < n }

// bad is chance for what breaks a rule.
func (g *generator) bad(n int) bool { return g.chance(n) && !g.tidy }

func (g *generator) many(n int, row func() string) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = row()
	}
	return rows
}

func (g *generator) name(plain []string) string {
	switch {
	case g.bad(3):
		return pick(g, badNames...)
	case g.chance(15):
		return pick(g, oddNames...)
	}
	return pick(g, plain...)
}

func (g *generator) key() string {
	tenant := g.name(plainTenants)
	if g.bad(2) {
		tenant = "#" + tenant
	}
	return tenant + "\t" + g.name(plainNames[:3]) + "\t" + g.name(plainNames)
}

func (g *generator) knownKey() string {
	if g.bad(4) {
		return g.key()
	}
	return pick(g, g.keys...)
}

// or gives the good text, or now and then one of the bad.
func (g *generator) or(good string, bad []string) string {
	if g.bad(1) {
		return pick(g, bad...)
	}
	return good
}

func (g *generator) policy() string {
	rows := []string{
		fmt.Sprintf("BLOCK_WINDOW_S\t%d", g.window),
		fmt.Sprintf("SCOPE_STRICT\t%d", g.IntN(2)),
		fmt.Sprintf("LRU_MIN_HITS\t%d", pick(g, 0, 1, 1, 2, 3)),
	}
	g.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if g.bad(6) {
		switch g.IntN(7) {
		case 0:
			rows = rows[:2]
		case 1:
			rows = append(rows, rows[0])
		case 2:
			rows = append(rows, "SCOPE_STRICT\t2")
		case 3:
			rows[0] += "\t"
		case 4:
			rows = append(rows, "block_window_s\t1")
		case 5:
			rows[1] = strings.ReplaceAll(rows[1], "\t", " ")
		case 6:
			rows[g.IntN(3)] = pick(g, "LRU_MIN_HITS", "BLOCK_WINDOW_S", "SCOPE_STRICT") + "\t" + pick(g, badIntegers...)
		}
	}
	if g.chance(90) {
		return strings.Join(rows, "\n") + "\n"
	}
	return g.dress(rows)
}

// registry has a row for most keys, and more for some.
func (g *generator) registry() (rows []string) {
	for _, key := range g.keys {
		for g.tidy || g.chance(90) {
			rows = append(rows, g.registryRow(key))
			if g.chance(70) {
				break
			}
		}
	}
	g.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

func (g *generator) registryRow(key string) string {
	columns := []string{
		key, g.or(pick(g, "schema", "wire"), badScopes),
		g.or(fmt.Sprint(pick(g, g.windows...)), badIntegers), g.or(fmt.Sprint(pick(g, 0, 1, 1, 2, 3, 8)), badIntegers),
	}
	if g.bad(25) {
		columns = append(columns, g.or(fmt.Sprint(g.IntN(45)), badIntegers))
	} else if g.chance(10) {
		columns = append(columns, "0")
	}
	return g.spoil(columns)
}

func (g *generator) eventRow() string {
	key := g.knownKey()
	columns := []string{
		g.or(fmt.Sprint(g.seq()), badIntegers), key, g.or(pick(g, "", "schema", "wire", "wire"), badScopes), g.or(fmt.Sprint(g.time(key)), badIntegers),
		g.amount(), g.or(pick(g, "done", "done", "pending"), badStates), g.or(fmt.Sprint(pick(g, 0, 1, 2, 5, 30)), badIntegers),
	}
	return g.spoil(columns)
}

func (g *generator) seq() int64 {
	if g.chance(2) {
		return 999_999_999_999_999
	}
	return g.Int64N(45)
}

func (g *generator) amount() string {
	if g.bad(6) {
		return pick(g, badAmounts...)
	}
	return pick(g, goodAmounts...)
}

// time puts most events at a gap of a window, one less or one more, after the key's last row; some at the same second,
// some late.
func (g *generator) time(key string) int64 {
	last, known := g.seen[key]
	if !known {
		last = 1000
	}
	gap := pick(g, g.windows[:6]...) + pick[int64](g, -1, 0, 0, 0, 1)
	if g.chance(20) {
		gap = 0
	}
	if g.chance(10) {
		gap = -gap
	}
	next := max(0, last+gap)
	if g.chance(1) {
		next = 999_999_999_999_999
	} else {
		g.seen[key] = next
	}
	return next
}

func (g *generator) opening() string {
	var rows []string
	for _, key := range g.keys {
		if !g.chance(60) {
			continue
		}
		at := g.time(key)
		if g.chance(20) {
			at += 50 // ahead of its events
		}
		rows = append(rows, strings.Join([]string{key, pick(g, "schema", "wire"), fmt.Sprint(at), pick(g, "done", "pending")}, "\t"))
	}
	if g.bad(5) && len(rows) > 0 {
		rows = append(rows, pick(g, rows[0], rows[0]+"\t", "a\tb\tc\t\t5\tdone", "a\tb\tc\twire\t5\tDONE", "a\tb\tc\twire\t05\tdone", "a\tb"))
	}
	if g.chance(80) && len(rows) > 0 {
		return strings.Join(rows, "\n") + "\n"
	}
	return g.dress(rows)
}

// spoil joins columns; now and then one is missing or one too many.
func (g *generator) spoil(columns []string) string {
	if g.bad(1) {
		columns = columns[:len(columns)-1]
	}
	if g.bad(1) {
		columns = append(columns, pick(g, "", "x", "0"))
	}
	return strings.Join(columns, "\t")
}

// dress makes a file of rows as people's files are: marks, line ends, comments, blank lines, broken lines.
func (g *generator) dress(rows []string) string {
	var file strings.Builder
	if g.chance(8) {
		file.WriteString(pick(g, "\uFEFF", "\uFEFF", "\uFEFF\uFEFF"))
	}
	end := pick(g, "\n", "\n", "\n", "\r\n")
	for i, row := range rows {
		if g.bad(6) {
			file.WriteString(g.interlude() + end)
		}
		file.WriteString(row)
		if i == len(rows)-1 && g.chance(25) {
			file.WriteString(pick(g, "", "\r", "\n\r", "\n\n", "\n "))
		} else if g.bad(1) {
			file.WriteString("\r\r\n")
		} else {
			file.WriteString(end)
		}
	}
	return file.String()
}

// interlude is a line that is no row, or shouldn't be.
func (g *generator) interlude() string {
	if g.chance(4) { // long lines on either side of the bound, in bytes
		text := "#" + strings.Repeat(pick(g, "x", "é"), 32_767)
		return text + strings.Repeat("x", 65_536-len(text)+pick(g, 0, 0, 1))
	}
	return pick(g, "", "", " ", "\t \t", "\t\t\t\t\t\t\t\t", "# a comment", "#\tx", "#\x00", "#\xFF", "# \xC3", " # no comment", "\r", "\v", "\u00A0", "x", "\"quoted\"", "\uFEFF# x")
}
