package main

// allFaults is the list of the gate, by the code that they are put into.
func allFaults() []Fault {
	var all []Fault
	for _, part := range [][]Fault{ruleFaults, foldFaults, moneyFaults, reportFaults, readingFaults, runFaults, auditFaults, proofFaults, exportFaults, commandFaults, gatewayFaults, outsideFaults} {
		all = append(all, part...)
	}
	return all
}

const (
	judgeFile   = "internal/settle/judge.go"
	bookFile    = "internal/settle/book.go"
	ledgerFile  = "internal/settle/ledger.go"
	moneyFile   = "internal/settle/money.go"
	grammarFile = "internal/settle/grammar.go"
	reportFile  = "internal/settle/report.go"
)

// ruleFaults are in the rule of judging.
var ruleFaults = []Fault{
	{Name: "settle: control", File: judgeFile, Right: "o.GapS > o.WindowS", Wrong: "o.WindowS < o.GapS", Harmless: true},
	{Name: "settle: the bound is outside", File: judgeFile, Right: "o.GapS > o.WindowS", Wrong: "o.GapS >= o.WindowS", Test: "TestBoundIsInside"},
	{Name: "settle: scopes are ignored", File: judgeFile, Right: "f.Policy.ScopeStrict && f.Predecessor.Scope != o.Scope", Wrong: "false", Test: "TestScopesPartWhereStrict"},
	{Name: "settle: scopes always part", File: judgeFile, Right: "f.Policy.ScopeStrict && f.Predecessor.Scope != o.Scope", Wrong: "f.Predecessor.Scope != o.Scope", Test: "TestScopesPartWhereStrict"},
	{Name: "settle: pending is taken as done", File: judgeFile, Right: "f.Predecessor.State == StatePending", Wrong: "false", Test: "TestStateOfThePredecessorNamesTheDuplicate"},
	{Name: "settle: the event's own state names the duplicate", File: judgeFile, Right: "f.Predecessor.State == StatePending", Wrong: "e.State == StatePending", Test: "TestStateOfThePredecessorNamesTheDuplicate"},
	{Name: "settle: a key's own window is ignored", File: judgeFile, Right: "WindowS: f.Registration.WindowS}", Wrong: "WindowS: 0}", Test: "TestOwnWindowBeforeTheDefault"},
	{Name: "settle: a window of 0 is 0", File: judgeFile, Right: "o.WindowS == 0", Wrong: "o.WindowS < 0", Test: "TestBoundIsInside"},
	{Name: "settle: the amount is looked at before the key", File: judgeFile, Right: "f.Registration == nil {", Wrong: "f.Registration == nil && e.AmountOK {", Test: "TestUnknownKeyBeforeBadAmount"},
	{Name: "settle: bad amounts are let in", File: judgeFile, Right: "!e.AmountOK", Wrong: "false", Test: "TestRejectedIsNoPredecessor"},
	{Name: "settle: an empty scope is always wire", File: judgeFile, Right: "o.Scope = f.Registration.Scope", Wrong: "o.Scope = ScopeWire", Test: "TestEmptyScopeIsTheRegistered"},
	{Name: "settle: a negative gap counts by its size", File: judgeFile, Right: "o.GapS = e.SeenAt - f.Predecessor.SeenAt", Wrong: "o.GapS = max(e.SeenAt-f.Predecessor.SeenAt, f.Predecessor.SeenAt-e.SeenAt)", Test: "TestOpeningRowStandsBeforeEarlierEvents"},
	{Name: "settle: seq orders before seen_at", File: "internal/settle/types.go", Right: "cmp.Or(cmp.Compare(e.SeenAt, other.SeenAt), cmp.Compare(e.Seq, other.Seq))", Wrong: "cmp.Or(cmp.Compare(e.Seq, other.Seq), cmp.Compare(e.SeenAt, other.SeenAt))", Test: "TestOrderOfJudging"},
}

// foldFaults are in what a decision does to the books, and in the ledger.
var foldFaults = []Fault{
	{Name: "settle: the anchor is the key's first event", File: bookFile, Right: "	k.Predecessor = Predecessor{SeenAt: e.SeenAt, Scope: o.Scope, State: e.State}\n", Wrong: "	if !k.Known {\n		k.Predecessor = Predecessor{SeenAt: e.SeenAt, Scope: o.Scope, State: e.State}\n	}\n", Test: "TestAnchorIsThePredecessor"},
	{Name: "settle: only accepted events become predecessors", File: bookFile, Right: "	if o.Decision.Rejected() {\n		return\n	}", Wrong: "	if o.Decision != Accept {\n		return\n	}", Test: "TestAnchorIsThePredecessor"},
	{Name: "settle: rejected events become predecessors", File: bookFile, Right: "	if o.Decision.Rejected() {\n		return\n	}", Wrong: "", Test: "TestRejectedIsNoPredecessor"},
	{Name: "settle: the predecessor's scope is the stated one", File: bookFile, Right: "Scope: o.Scope, State", Wrong: "Scope: e.Scope, State", Test: "TestEmptyScopeIsTheRegistered"},
	{Name: "settle: the ledger keeps the first repeat's recency", File: bookFile, Right: "		k.LastHit = Recency{", Wrong: "		if k.Hits > 1 {\n			return\n		}\n		k.LastHit = Recency{", Test: "TestBookRemembersTheLastHit"},
	{Name: "settle: deduped counts as accepted", File: bookFile, Right: "	case o.Decision == Accept:\n", Wrong: "	case !o.Decision.Rejected():\n", Test: "TestTotalsAddUp"},
	{Name: "settle: events leave rejected ones out", File: bookFile, Right: "c.Accept + c.Dedupe() + c.Reject()", Wrong: "c.Accept + c.Dedupe()", Test: "TestTotalsAddUp"},
	{Name: "settle: pending duplicates are lost in merging", File: bookFile, Right: "	c.DuplicatePending += other.DuplicatePending\n", Wrong: "", Test: "TestTotalsAddUp"},
	{Name: "settle: the ledger's threshold is off by one", File: ledgerFile, Right: "hits >= p.LRUMinHits", Wrong: "hits > p.LRUMinHits", Test: "TestQualifies"},
	{Name: "settle: a threshold of 0 lets all keys in", File: ledgerFile, Right: "hits >= 1 && ", Wrong: "", Test: "TestQualifies"},
	{Name: "settle: the ledger is in the order of seq", File: ledgerFile, Right: "cmp.Or(cmp.Compare(r.LRURank, other.LRURank), ", Wrong: "cmp.Or(cmp.Compare(r.Seq, other.Seq), ", Test: "TestLedgerOrder"},
	{Name: "settle: capacity is ignored", File: ledgerFile, Right: "if int64(len(s.entries)) > s.capacity {", Wrong: "if false {", Test: "TestShelf"},
	{Name: "settle: the most recent entries go", File: ledgerFile, Right: "return h[i].Compare(&h[j]) < 0", Wrong: "return h[i].Compare(&h[j]) > 0", Test: "TestShelf"},
	{Name: "settle: ties of the ledger go to the larger key", File: ledgerFile, Right: "strings.Compare(e.DedupeKey, other.DedupeKey)", Wrong: "strings.Compare(other.DedupeKey, e.DedupeKey)", Test: "TestLedgerOrder"},
}

// moneyFaults are in the grammar and in the sums.
var moneyFaults = []Fault{
	{Name: "money: sums are floats", File: moneyFile, Right: "s.low, carry = bits.Add64(s.low, low, carry)", Wrong: "s.low = uint64(float64(s.low) + float64(low) + float64(carry))", Test: "TestSumsAreExact"},
	{Name: "money: the carry of the fraction is lost", File: moneyFile, Right: "		carry = 1\n", Wrong: "		carry = 0\n", Test: "TestSumsAreExact"},
	{Name: "money: sums have 64 bits", File: moneyFile, Right: "	s.high, _ = bits.Add64(s.high, high, carry)\n", Wrong: "	_ = carry\n", Test: "TestSumBeyond64Bits"},
	{Name: "money: a leading zero is let in", File: moneyFile, Right: " || text[0] == '0' && i > 1 {", Wrong: " {", Test: "TestAmountGrammar"},
	{Name: "money: nine decimals are let in", File: moneyFile, Right: "decimals > MaxDecimals {", Wrong: "decimals > MaxDecimals+1 {", Test: "TestAmountGrammar"},
	{Name: "money: a comma is a point", File: moneyFile, Right: "text[i] != '.' ||", Wrong: "text[i] != '.' && text[i] != ',' ||", Test: "TestAmountGrammar"},
	{Name: "money: a point without decimals is let in", File: moneyFile, Right: "decimals < 1 || ", Wrong: "", Test: "TestAmountGrammar"},
	{Name: "money: trailing zeros are cut to one decimal", File: moneyFile, Right: "len(dst) > start+2", Wrong: "len(dst) > start+1", Test: "TestSumText"},
	{Name: "money: trailing zeros stay", File: moneyFile, Right: "dst[len(dst)-1] == '0' {", Wrong: "dst[len(dst)-1] == ' ' {", Test: "TestSumText"},
	{Name: "money: zeros within a large sum are lost", File: moneyFile, Right: "pad := 19 - len(text)", Wrong: "pad := 18 - len(text)", Test: "TestZerosInsideAreKept"},
	{Name: "grammar: integers of 16 digits", File: grammarFile, Right: "MaxIntegerDigits = 15", Wrong: "MaxIntegerDigits = 16", Test: "TestIntegerGrammar"},
	{Name: "grammar: white space at the end of a name", File: grammarFile, Right: " || unicode.Is(unicode.White_Space, last) {", Wrong: " || last < 0 {", Test: "TestNames"},
	{Name: "grammar: a tenant may start with #", File: grammarFile, Right: "return ValidName(text) && text[0] != '#'", Wrong: "return ValidName(text)", Test: "TestNames"},
	{Name: "grammar: DEL in a name", File: grammarFile, Right: "if c < ' ' || c > '~' {", Wrong: "if c < ' ' || c > 0x7f {", Test: "TestNames"},
}

// reportFaults are in the bytes of the report.
var reportFaults = []Fault{
	{Name: "report: ok is always true", File: reportFile, Right: "return r.Totals.Counts.Reject() == 0", Wrong: "return true", Test: "TestOKWhereNothingIsRejected"},
	{Name: "report: tenants in the order of bytes", File: reportFile, Right: "slices.SortFunc(tenants, compareUTF16)", Wrong: "slices.Sort(tenants)", Test: "TestReportIsJSON"},
	{Name: "report: the checksum covers the indented text", File: reportFile, Right: "	var w jsonWriter\n", Wrong: "	w := jsonWriter{indent: true}\n", Test: "TestEmptyReport"},
	{Name: "report: window_hits counts accepted events too", File: reportFile, Right: "	w.member(\"window_hits\")\n	w.integer(r.Totals.Counts.Dedupe())", Wrong: "	w.member(\"window_hits\")\n	w.integer(r.Totals.Counts.Dedupe() + 1)", Test: "TestEmptyReport"},
	{Name: "report: quotes aren't escaped", File: "internal/settle/json.go", Right: "c >= 0x20 && c != '\"' && c != '\\\\'", Wrong: "c >= 0x20 && c != '\\\\'", Test: "TestReportIsJSON"},
}
