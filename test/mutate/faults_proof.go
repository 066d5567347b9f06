package main

const (
	logJudge    = "internal/audit/logjudge.go"
	logFold     = "internal/audit/logfold.go"
	logChain    = "internal/audit/logchain.go"
	logCompare  = "internal/audit/logcompare.go"
	exportRows  = "internal/export/rows.go"
	exportScan  = "internal/export/scan.go"
	exportReg   = "internal/export/registry.go"
	exportFiles = "internal/export/files.go"
	onlineTests = "test/online"
	rightLogs   = "TestRightLogsAreProved"
	wrongClaims = "TestAWrongClaimIsNamed"
	wrongFacts  = "TestNoFactBesideTheLogCanBeWrong"

	numbersDiffer = "if c.stated != c.want {\n			return fmt.Sprintf(\"%s: kept is %d"
	wordsDiffer   = "if c.stated != c.want {\n			return fmt.Sprintf(\"%s: kept is %q"
)

// proofFaults are in the audit of the gateway's log. The control of its package stands among the audit's.
var proofFaults = []Fault{
	{Name: "proof: the bound is outside", File: logJudge, Right: "j.seen-k.lastSeen > j.window", Wrong: "j.seen-k.lastSeen >= j.window", Test: rightLogs},
	{Name: "proof: times aren't raised", File: logJudge, Right: "		j.seen = max(j.seen, k.lastSeen)\n", Wrong: "		j.seen = max(j.seen, 0)\n", Test: rightLogs},
	{Name: "proof: currencies are looked at behind scopes", File: logJudge, Right: "currency != k.lastCurrency {", Wrong: "currency != k.lastCurrency && (!p.strict || j.scope == k.lastScope) {", Test: "TestScopesPartWhereStrict"},
	{Name: "proof: scopes never part", File: logJudge, Right: "if p.strict && j.scope != k.lastScope {", Wrong: "if false {", Test: "TestScopesPartWhereStrict"},
	{Name: "proof: other content is always a mismatch", File: logJudge, Right: "case e.strict && print != k.rootPrint:", Wrong: "case print != k.rootPrint:", Test: rightLogs},
	{Name: "proof: other content is no mismatch", File: logJudge, Right: "case e.strict && print != k.rootPrint:", Wrong: "case false:", Test: rightLogs},
	{Name: "proof: a delivery changes no state", File: logJudge, Right: "	case k.pending():\n", Wrong: "	case k.has(saidPending):\n", Test: "TestForwardedStates"},
	{Name: "proof: a source's window is ignored", File: logJudge, Right: "		j.window = s.window\n", Wrong: "		j.window = 0\n", Test: rightLogs},
	{Name: "proof: rejected events become predecessors", File: logJudge, Right: "	if !j.decision.entersHistory() {\n", Wrong: "	if j.decision == unknownKey {\n", Test: rightLogs},
	{Name: "proof: a record's decision is believed", File: logJudge, Right: "	case e.decision != j.decision:\n", Wrong: "	case false:\n", Test: wrongClaims},
	{Name: "proof: a record's root is believed", File: logJudge, Right: "	case e.root != k.root:\n", Wrong: "	case false:\n", Test: wrongClaims},
	{Name: "proof: a record's predecessor is believed", File: logJudge, Right: "	case e.predecessor != k.last:\n", Wrong: "	case false:\n", Test: wrongClaims},
	{Name: "proof: times lie 301 s ahead", File: logJudge, Right: "const maxAheadS = 300", Wrong: "const maxAheadS = 301", Test: wrongClaims},
	{Name: "proof: anything may be delivered", File: logFold, Right: "		f.issues.record(rec.number, strayText, rec.sent.event)\n", Wrong: "", Test: "TestDeliveriesThatCantBe"},
	{Name: "proof: a dead letter needs no revival", File: logJudge, Right: "			f.owed = debt{what: revivalOwed, number: rec.number, event: k.root}\n", Wrong: "", Test: "TestDeliveriesThatCantBe"},
	{Name: "proof: a key with events may be unregistered", File: logFold, Right: "	case k.events > 0:\n", Wrong: "	case false:\n", Test: "TestRegistryThatCantBe"},
	{Name: "proof: an open key needs no event", File: logFold, Right: "		f.owed = debt{what: eventOwed, number: rec.number, key: k.id}\n", Wrong: "", Test: "TestOpenSources"},
	{Name: "proof: records aren't chained", File: logChain, Right: "	case rec.before != c.hash:\n", Wrong: "	case false:\n", Test: "TestChain"},
	{Name: "proof: the last record may be any", File: logChain, Right: "	case c.hash != h.Hash:\n", Wrong: "	case false:\n", Test: "TestChain"},
	{Name: "proof: a log may be cut", File: logChain, Right: "		if a.Number > c.last && !c.accepted(&a) {\n", Wrong: "		if false {\n", Test: "TestAnchors"},
	{Name: "proof: a log may be rewritten", File: logChain, Right: "a.Number == c.last && a.Hash != c.hash", Wrong: "false", Test: "TestAnchors"},
	{Name: "proof: facts control", File: logCompare, Right: numbersDiffer, Wrong: "if c.want != c.stated {\n			return fmt.Sprintf(\"%s: kept is %d", In: onlineTests, Harmless: true},
	{Name: "proof: numbers that are kept of keys are believed", File: logCompare, Right: numbersDiffer, Wrong: "if false {\n			return fmt.Sprintf(\"%s: kept is %d", In: onlineTests, Test: wrongFacts},
	{Name: "proof: words that are kept of keys are believed", File: logCompare, Right: wordsDiffer, Wrong: "if false {\n			return fmt.Sprintf(\"%s: kept is %q", In: onlineTests, Test: wrongFacts},
	{Name: "proof: a ledger may be short", File: "internal/audit/logbooks.go", Right: "c.found != c.listed", Wrong: "false", In: onlineTests, Test: wrongFacts},
	{Name: "proof: the outbox may be short", File: "internal/audit/logoutbox.go", Right: "		if !row.stated {\n", Wrong: "		if false {\n", In: onlineTests, Test: wrongFacts},
	{Name: "proof: a twin is believed", File: "internal/audit/logjudge.go", Right: "case e.twin != j.twin:", Wrong: "case false:", Test: "TestAGuardIsRecomputed"},
	{Name: "proof: a name is taken for a word of the machine's", File: "internal/audit/logfold.go", Right: "own := rec.origin == byOpen", Wrong: "own := string(rec.by) == byOpen", Test: "TestWordsOfTheMachineAreNoOrigins"},
}

// exportFaults are in the export.
var exportFaults = []Fault{
	{Name: "export: control", File: exportReg, Right: "if w != 0 {", Wrong: "if 0 != w {", Harmless: true},
	{Name: "export: all is done", File: exportScan, Right: "if s == settle.StatePending {", Wrong: "if false {", Test: "TestRowsOfEvents"},
	{Name: "export: the present state is forgotten", File: exportScan, Right: "return p, p.present(ctx, v)", Wrong: "return p, nil", Test: "TestRowsOfEvents"},
	{Name: "export: a repeat tells nothing of its predecessor", File: exportScan, Right: "r.Predecessor > 0 && !r.Decision.Rejected()", Wrong: "r.Predecessor > 0 && r.Decision == gateway.Accept", Test: "TestRowsOfEvents"},
	{Name: "export: mismatches are events", File: exportRows, Right: "if r.Decision != gateway.Mismatch {", Wrong: "if r != nil {", Test: "TestRowsOfEvents"},
	{Name: "export: an amount of no currency is settled", File: exportRows, Right: "[]byte(r.Amount)); is {", Wrong: "[]byte(r.Amount)); is && r == nil {", Test: "TestAmountsThatAreNone"},
	{Name: "export: control characters get into rows", File: exportRows, Right: "if unicode.Is(unicode.Cc, c) {", Wrong: "if c == '\\n' && unicode.Is(unicode.Cc, c) {", Test: "TestAmountsThatAreNone"},
	{Name: "export: deleted registrations stay", File: exportReg, Right: "if g.past.deleted[r.Name] > e.Number {", Wrong: "if false {", Test: "TestRowsOfTheRegistry"},
	{Name: "export: a source's new window is no row", File: exportReg, Right: "for _, k := range s.order {", Wrong: "for _, k := range s.order[:0] {", Test: "TestRowsOfTheRegistry"},
	{Name: "export: a key's own window is ignored", File: exportReg, Right: "[]int64{own, s.window}", Wrong: "[]int64{s.window}", Test: "TestRowsOfTheRegistry"},
	{Name: "export: what was cut off stays", File: exportFiles, Right: "err = errors.Join(err, os.RemoveAll(dir))", Wrong: "_ = dir", Test: "TestAnExportIsWholeOrNotThere"},
	{Name: "export: it goes among other files", File: exportFiles, Right: "len(entries) > 0:", Wrong: "len(entries) < 0:", Test: "TestAnExportIsWholeOrNotThere"},
}
