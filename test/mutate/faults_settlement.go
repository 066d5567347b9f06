package main

const (
	chunkFile    = "internal/settlement/chunk.go"
	rowFile      = "internal/settlement/row.go"
	registryFile = "internal/settlement/registry.go"
	runFile      = "internal/settlement/run.go"
	faultFile    = "internal/settlement/fault.go"
	anyCut       = "TestBooksDontDependOnHowTheWorkIsCut"
)

// readingFaults are in how files are read.
var readingFaults = []Fault{
	{Name: "settlement: control", File: chunkFile, Right: "line[n-1] == '\\r'", Wrong: "'\\r' == line[n-1]", Harmless: true},
	{Name: "lines: the byte-order mark stays", File: chunkFile, Right: "if bytes.HasPrefix(buf[:*n], byteOrderMark) {", Wrong: "if false {", Test: "TestChunks"},
	{Name: "lines: the CR stays", File: chunkFile, Right: "line[n-1] == '\\r'", Wrong: "line[n-1] == 0", Test: "TestChunks"},
	{Name: "lines: what follows a far too long line is lost", File: chunkFile, Right: "			*n += copy(rest, rest[end:m])\n", Wrong: "			*n += copy(rest, rest[end:end+1])\n", Test: "TestChunks"},
	{Name: "lines: the limit is off by one", File: rowFile, Right: "len(line) > maxLineBytes", Wrong: "len(line) >= maxLineBytes", Test: "TestRows"},
	{Name: "lines: a broken comment is skipped", File: rowFile, Right: "	case len(line) > maxLineBytes || !utf8.Valid(line):", Wrong: "	case len(line) > maxLineBytes || !utf8.Valid(line) && line[0] != '#':", Test: "TestRows"},
	{Name: "rows: the last failing column is named", File: rowFile, Right: "!ok && f.failed == good", Wrong: "!ok", Test: "TestRows"},
	{Name: "rows: an empty scope is let into the opening", File: rowFile, Right: "		Scope:  f.scope(c[3]),\n", Wrong: "		Scope:  f.scopeOrNone(c[3]),\n", Test: "TestEveryColumnBroken"},
	{Name: "rows: the tenant is ignored", File: rowFile, Right: "return n.tenant[:len(n.tenant)+1+len(n.source)]", Wrong: "return n.source", Test: "TestPartsOfAKeyAreApart"},
	{Name: "rows: the source is ignored", File: rowFile, Right: "return n.tenant[:len(n.tenant)+1+len(n.source)]", Wrong: "return n.tenant", Test: "TestPartsOfAKeyAreApart"},
	{Name: "rows: the fast way takes leading zeros", File: "internal/settlement/event_fast.go", Right: "digits > 1 && line[start] == '0' || ", Wrong: "", Test: "TestRows"},
	{Name: "keys: equal hashes are equal keys", File: "internal/settlement/keys.go", Right: "		string(record[recordName:recordName+len(name)]) == string(name)", Wrong: "		len(name) > 0", Test: "TestOneTagManyKeys"},
	{Name: "registry: bad rows are let in", File: registryFile, Right: "			skipped(number, why)\n			return nil\n		}\n		record", Wrong: "			skipped(number, why)\n		}\n		record", Test: "TestScenario"},
	{Name: "registry: the first good row stands", File: registryFile, Right: "	for head != 0 && r.rows[head]", Wrong: "	if head != 0 {\n		return head\n	}\n	for head != 0 && r.rows[head]", Test: "TestStandingRow"},
	{Name: "registry: since is ignored", File: registryFile, Right: "row.registration.Since <= seq {", Wrong: "row != nil {", Test: "TestStandingRow"},
	{Name: "registry: a row stands only after its since", File: registryFile, Right: "r.rows[head].first <= seq", Wrong: "r.rows[head].first < seq", Test: "TestStandingRow"},
	{Name: "registry: capacity is the last key's", File: registryFile, Right: "max(p.capacity, r.rows[head].registration.LRUCapacity)", Wrong: "r.rows[head].registration.LRUCapacity", Test: "TestCapacityOfAPair"},
	{Name: "policy: a repeated key is let in", File: "internal/settlement/policy.go", Right: "		if seen[key] {", Wrong: "		if false {", Test: "TestPolicies"},
	{Name: "policy: a missing key is let in", File: "internal/settlement/policy.go", Right: "		if !seen[key] {", Wrong: "		if false {", Test: "TestPolicies"},
	{Name: "policy: SCOPE_STRICT may be 2", File: "internal/settlement/policy.go", Right: "ok = ok && n <= 1", Wrong: "ok = ok && n <= 2", Test: "TestPolicies"},
	{Name: "malformed: lines count from the chunk", File: "internal/settlement/gather.go", Right: "g.broken(g.lines+int64(b.line), b.why)", Wrong: "g.broken(int64(b.line), b.why)", Test: anyCut},
}

// runFaults are in the order of events, in opening and closing, and in what a run leaves behind.
var runFaults = []Fault{
	{Name: "order: rows are judged as they stand in the file", File: "internal/settlement/group.go", Right: "if events[i].Compare(&events[i-1]) < 0 {", Wrong: "if false {", Test: anyCut},
	{Name: "order: outside memory equal events change places", File: "internal/settlement/merge.go", Right: "return h[i].run < h[j].run", Wrong: "return h[i].run > h[j].run", Test: "TestEqualEventsGoByTheirPlace"},
	{Name: "order: a spill is read before what precedes it", File: "internal/settlement/gather.go", Right: "	g.spilled = append(g.spilled, sp)\n", Wrong: "	g.spilled = append([]spill{sp}, g.spilled...)\n", Test: "TestSpillsKeepTheOrderOfTheFile"},
	{Name: "books: one worker's are left out", File: "internal/settlement/books.go", Right: "		report.Totals.Merge(&j.totals)\n", Wrong: "		report.Totals = j.totals\n", Test: anyCut},
	{Name: "books: the ledger of a second worker is lost", File: "internal/settlement/books.go", Right: "				shelves[at].Offer(e)\n", Wrong: "				_ = e\n", Test: anyCut},
	{Name: "opening: it is ignored", File: "internal/settlement/marks.go", Right: "if flags := m.flags[key]; flags != 0 {", Wrong: "if flags := m.flags[key]; flags > 254 {", Test: "TestSplitAtAnyTime"},
	{Name: "opening: a key may stand twice", File: "internal/settlement/marks.go", Right: "		if opened[key] {", Wrong: "		if false {", Test: "TestOpenings"},
	{Name: "closing: it keeps the opening row", File: "internal/settlement/marks.go", Right: "	if book.Known {\n", Wrong: "	if false {\n", Test: "TestSplitAtAnyTime"},
	{Name: "closing: rows in the order of the registry", File: "internal/settlement/marks.go", Right: "	slices.SortFunc(order, func(a, b uint32) int {\n", Wrong: "	slices.SortFunc(order[:0], func(a, b uint32) int {\n", Test: "TestOpenings"},
	{Name: "run: the stale report is left", File: "internal/settlement/place.go", Right: "		err := os.Rename(path, path+stale)\n", Wrong: "		_, err := os.Lstat(path)\n", Test: "TestFaultsLeaveNoReport"},
	{Name: "run: a report is written on a contract error", File: runFile, Right: "	if err != nil {\n		return nil, err\n	}\n	defer in.events.Close()\n", Wrong: "	if err != nil {\n		if out, e := createOutput(o.Report); e == nil && out.complete() == nil {\n			_ = out.appear()\n		}\n		return nil, err\n	}\n	defer in.events.Close()\n", Test: "TestFaultsLeaveNoReport"},
	{Name: "run: malformed rows don't show in the status", File: runFile, Right: "r.Report.OK() && r.Malformed == 0", Wrong: "r.Report.OK()", Test: "TestStatusOfAResult"},
	{Name: "run: rejected events don't show in the status", File: runFile, Right: "r.Report.OK() && r.Malformed == 0", Wrong: "r.Malformed == 0", Test: "TestStatusOfAResult"},
	{Name: "run: panics aren't caught", File: faultFile, Right: "if p := recover(); p != nil {", Wrong: "if p := any(nil); p != nil {", Test: "TestPanicIsTheMachines"},
	{Name: "run: a contract error has status 2", File: faultFile, Right: "		return int(fault.Kind)\n", Wrong: "		return min(int(fault.Kind), 2)\n", Test: "TestWhyFaults"},
	{Name: "run: an unforeseen error has status 2", File: faultFile, Right: "	return int(Machine)\n", Wrong: "	return int(Unreadable)\n", Test: "TestStatusOfAnUnforeseenError"},
	{Name: "run: an output may be an input", File: "internal/settlement/paths.go", Right: "if other, ok := taken[id]; ok {", Wrong: "if other, ok := taken[id]; ok && other == \"\" {", Test: "TestOutputsMayNotBeInputs"},
	{Name: "advise: a repeat at the bound is let through", File: "internal/settlement/advise.go", Right: "at, _ := slices.BinarySearch(s.windows, o.GapS)", Wrong: "at, _ := slices.BinarySearch(s.windows, o.GapS+1)", Test: "TestAdviceIsWhatSettlingWouldGive"},
}

// commandFaults are on the way to the exit status.
var commandFaults = []Fault{
	{Name: "cli: control", File: "internal/cli/settle.go", Right: "code != ExitOK {", Wrong: "ExitOK != code {", Harmless: true},
	{Name: "cli: settle always exits 0", File: "internal/cli/settle.go", Right: "code != ExitOK {", Wrong: "code < ExitOK {", Test: "TestSettleStatuses"},
	{Name: "cli: a panic exits 2", File: "internal/cli/root.go", Right: "			code = ExitMachine\n", Wrong: "			code = 2\n", Test: "TestSettleMachineFailures"},
	{Name: "cli: the report stays though the summary failed", File: "internal/cli/settle.go", Right: "		if !told {", Wrong: "		if !told && result == nil {", Test: "TestSettleMachineFailures"},
	{Name: "cli: wrong usage exits 2", File: "internal/cli/root.go", Right: "ExitUsage   = 64", Wrong: "ExitUsage   = 2", Test: "TestSettleUsageIs64"},
	{Name: "cli: health always exits 0", File: "internal/cli/health.go", Right: "	return &ExitError{Code: verdict.Status}", Wrong: "	return nil", Test: "TestHealthCommand"},
}
