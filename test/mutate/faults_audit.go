package main

const (
	chainFile      = "internal/audit/chain.go"
	auditLedger    = "internal/audit/ledger.go"
	auditMoney     = "internal/audit/money.go"
	auditRegistry  = "internal/audit/registry.go"
	healthFile     = "internal/audit/health.go"
	auditBooks     = "internal/audit/report.go"
	published      = "TestScenarioEqualsPublishedResults"
	auditEventRows = "internal/audit/eventrow.go"
)

// auditFaults are in the independent recomputation and in the comparison.
var auditFaults = []Fault{
	{Name: "audit: control", File: chainFile, Right: "seen-before.seen <= window", Wrong: "window >= seen-before.seen", Harmless: true},
	{Name: "audit: the bound is outside", File: chainFile, Right: "seen-before.seen <= window", Wrong: "seen-before.seen < window", Test: "TestJudging"},
	{Name: "audit: the anchor is the key's first event", File: chainFile, Right: "		before, measured = anchor{", Wrong: "		if measured {\n			continue\n		}\n		before, measured = anchor{", Test: "TestJudging"},
	{Name: "audit: scopes are ignored", File: chainFile, Right: "(!j.policy.strict || before.scope == judged)", Wrong: "true", Test: "TestJudging"},
	{Name: "audit: pending is taken as done", File: chainFile, Right: "	if pending {\n", Wrong: "	if pending && t == nil {\n", Test: "TestJudging"},
	{Name: "audit: deduped counts as accepted", File: chainFile, Right: "	t.deduped.add(money{whole: e.whole, parts: uint64(e.parts())})", Wrong: "	t.accepted.add(money{whole: e.whole, parts: uint64(e.parts())})", Test: "TestTotals"},
	{Name: "audit: bad amounts are let in", File: chainFile, Right: "if e.badAmount() {", Wrong: "if false {", Test: "TestJudging"},
	{Name: "audit: rows are judged as they stand in the file", File: chainFile, Right: "if order(chain[i-1], chain[i]) > 0 {", Wrong: "if false {", Test: "TestJudging"},
	{Name: "audit: the ledger's threshold is off by one", File: chainFile, Right: "repeats.hits >= max(1, j.policy.minHits)", Wrong: "repeats.hits > max(1, j.policy.minHits)", Test: published},
	{Name: "audit: the ledger is in the order of seq", File: auditLedger, Right: "cmp.Compare(a.rank, b.rank), cmp.Compare(a.seen, b.seen), cmp.Compare(a.seq, b.seq),", Wrong: "cmp.Compare(a.seq, b.seq), cmp.Compare(a.rank, b.rank), cmp.Compare(a.seen, b.seen),", Test: "TestLedger"},
	{Name: "audit: capacity is ignored", File: auditLedger, Right: "if room[pair] > 0 {", Wrong: "if room[pair] > -1<<40 {", Test: "TestLedger"},
	{Name: "audit: sums are floats", File: auditMoney, Right: "	m.whole += other.whole\n", Wrong: "	m.whole = uint64(float64(m.whole) + float64(other.whole))\n", Test: "TestMoneyAgainstBig"},
	{Name: "audit: since is ignored", File: auditRegistry, Right: "row.since < into[len(into)-1].since", Wrong: "false", Test: "TestStandingRow"},
	{Name: "audit: bad rows of the registry are let in", File: auditRegistry, Right: "			reg.skipped = append(reg.skipped, BadRow{Line: int64(line), Reason: reason})\n			return nil\n", Wrong: "			reg.skipped = append(reg.skipped, BadRow{Line: int64(line), Reason: reason})\n", Test: published},
	{Name: "audit: ok is always true", File: auditBooks, Right: "sum.unknownKey+sum.badAmount == 0", Wrong: "sum.unknownKey+sum.badAmount >= 0", Test: published},
	{Name: "audit: the first of the two states is anything", File: "internal/audit/grammar.go", Right: "	return false, false\n", Wrong: "	return false, true\n", Test: "TestWords"},
	{Name: "audit: names aren't looked at in events", File: auditEventRows, Right: "if !known && w.reason != reasonSeq {", Wrong: "if false {", Test: "TestMalformedRows"},
	{Name: "health: presence alone is checked", File: healthFile, Right: "	case !bytes.Equal(expect, stated.text):", Wrong: "	case !bytes.Equal(expect, expect):", Test: "TestEveryValueOfTheReportCounts"},
	{Name: "health: a missing field is no issue", File: healthFile, Right: "		v.Issues = append(v.Issues, \"missing:\"+field)\n", Wrong: "		return\n", Test: "TestHealth"},
	{Name: "health: a difference has status 0", File: healthFile, Right: "	v.Status = statusDiffers\n", Wrong: "	v.Status = statusGood\n", Test: "TestHealth"},
	{Name: "health: malformed rows have status 0", File: healthFile, Right: "			v.Status = statusMalformed\n", Wrong: "			v.Status = statusGood\n", Test: "TestHealth"},
	{Name: "health: malformed rows hide a difference", File: healthFile, Right: "		if v.Status == statusGood { // a differing field goes before a malformed row\n", Wrong: "		if v.Malformed > 0 {\n", Test: "TestHealth"},
	{Name: "health: a field beyond the eight is let in", File: healthFile, Right: "if !isField(m.name) {", Wrong: "if m.name == \"\" && !isField(m.name) {", Test: "TestHealth"},
	{Name: "health: a contract error has status 2", File: healthFile, Right: "Status: statusContract}", Wrong: "Status: statusUnreadable}", Test: "TestHealth"},
	{Name: "health: it compares values, not digits", File: healthFile, Right: "	case !bytes.Equal(expect, stated.text):", Wrong: "	case !bytes.Equal(expect, canonical(document[stated.from:stated.to])):", Test: "TestHealth"},
	{Name: "health: it reuses the settlement", File: auditMoney, Right: "import (\n", Wrong: "import (\n	_ \"hapax/internal/settle\"\n", Test: "TestImportsStandardLibraryOnly", InCopy: true},
}
