package main

const (
	takeFile   = "internal/gateway/take.go"
	eventFile  = "internal/gateway/event.go"
	outboxFile = "internal/gateway/outbox.go"
	rowsFile   = "internal/gateway/rows.go"
	decodeFile = "internal/gateway/decode.go"
	recordFile = "internal/gateway/record.go"
)

// gatewayFaults are in the online rule.
var gatewayFaults = []Fault{
	{Name: "gateway: control", File: eventFile, Right: "v.seenAt < k.Last.SeenAt", Wrong: "k.Last.SeenAt > v.seenAt", Harmless: true},
	{Name: "gateway: a time before the predecessor's isn't raised", File: eventFile, Right: "k.Last.Number > 0 && v.seenAt < k.Last.SeenAt", Wrong: "k.Last.Number < 0 && v.seenAt < k.Last.SeenAt", Test: "TestTimes"},
	{Name: "gateway: the bound of times ahead is outside", File: eventFile, Right: "e.SeenAt > now/1000+MaxAheadS", Wrong: "e.SeenAt >= now/1000+MaxAheadS", Test: "TestTimes"},
	{Name: "gateway: a source's window reaches keys with their own", File: eventFile, Right: "if k.WindowS == 0 {", Wrong: "if true {", Test: "TestWindowInForce"},
	{Name: "gateway: an open registry rejects", File: eventFile, Right: "if !k.Registered && src.Open {", Wrong: "if k.Registered && src.Open {", Test: "TestOpenRegistry"},
	{Name: "gateway: other content is silent", File: eventFile, Right: "	default:\n		v.differs = differs\n", Wrong: "", Test: "TestOtherContent"},
	{Name: "gateway: other content is always a mismatch", File: eventFile, Right: "case differs && e.Strict:", Wrong: "case differs:", Test: "TestOtherContent"},
	{Name: "gateway: currencies mix", File: eventFile, Right: "case k.Last.Currency != e.Currency:", Wrong: "case k.Last.Currency > e.Currency+\"ZZZ\":", Test: "TestCurrencies"},
	{Name: "gateway: a mismatch is counted in the books", File: eventFile, Right: "		b.Mismatches++\n		return\n", Wrong: "		b.Mismatches++\n", Test: "TestOtherContent"},
	{Name: "gateway: a mismatch is a predecessor", File: eventFile, Right: "	if v.Rejected() {\n		return nil\n", Wrong: "	if v.Rejected() && v.Decision != Mismatch {\n		return nil\n", Test: "TestOtherContent"},
	{Name: "gateway: the state is always what the source says", File: rowsFile, Right: "if !k.Root.Forwarded {", Wrong: "if true {", Test: "TestForwardedState"},
	{Name: "gateway: events of a key go side by side", File: outboxFile, Right: "	d.State, d.Since, d.Due = Waiting, now, now\n	if k.Waiting > 0 {\n", Wrong: "	d.State, d.Since, d.Due = Waiting, now, now\n	if k.Waiting < 0 {\n", Test: "TestHeldOrder"},
	{Name: "gateway: a held row takes tries", File: outboxFile, Right: " || d.Due == Held {", Wrong: " {", Test: "TestHeldOrder"},
	{Name: "gateway: nothing follows a dead event", File: outboxFile, Right: "	return Outcome{Kind: Done, Number: n}, release(r, now, k, d.Name)\n", Wrong: "	if !c.OK {\n		return Outcome{Kind: Done, Number: n}, nil\n	}\n	return Outcome{Kind: Done, Number: n}, release(r, now, k, d.Name)\n", Test: "TestDeadLetter"},
	{Name: "gateway: a duplicate doesn't hasten", File: outboxFile, Right: "		d.Due = min(d.Due, max(now, d.NotBefore))\n	}\n	return nil\n}\n\n// again", Wrong: "	}\n	return nil\n}\n\n// again", Test: "TestHasten"},
	{Name: "gateway: a duplicate doesn't revive", File: outboxFile, Right: "	if d.State == Dead {\n", Wrong: "	if d.State == Dead {\n		return nil\n	}\n	if d.State == Dead {\n", Test: "TestHasten"},
	{Name: "gateway: a repeated replay sends twice", File: outboxFile, Right: "if slices.Contains(d.Replays, c.Key) {", Wrong: "if len(d.Replays) > 1<<20 && slices.Contains(d.Replays, c.Key) {", Test: "TestReplay"},
	{Name: "gateway: a tenant discards another's", File: outboxFile, Right: "case d.Name.Tenant != tenant:", Wrong: "case tenant == \"\":", Test: "TestDeadLetter"},
	{Name: "gateway: what was rejected is a twin", File: "internal/gateway/event.go", Right: "if v.Decision == Accept && src.Guard != GuardOff {\n		r.PutTwin", Wrong: "if src.Guard != GuardOff {\n		r.PutTwin", Test: "TestGuard"},
	{Name: "gateway: the policy can change", File: takeFile, Right: "	case h.Ruled:\n", Wrong: "	case h.Ruled && h.Number > 1<<60:\n", Test: "TestPolicy"},
	{Name: "gateway: the number of parts can change", File: takeFile, Right: "s.Events > 0 && s.Settings.Parts", Wrong: "s.Events < 0 && s.Settings.Parts", Test: "TestParts"},
	{Name: "gateway: a key with events is unregistered", File: takeFile, Right: "case k.Events > 0:", Wrong: "case k.Accepted > 0:", Test: "TestUnregister"},
	{Name: "gateway: lengths needn't be minimal", File: decodeFile, Right: " || w != len(binary.AppendUvarint(nil, n)) {", Wrong: " {", Test: "TestRecordFaults"},
	{Name: "gateway: bytes after a record are let in", File: decodeFile, Right: "if p.fault == \"\" && len(p.rest) > 0 {", Wrong: "if p.fault != \"\" && len(p.rest) > 0 {", Test: "TestEveryByteCounts"},
	{Name: "gateway: a record leaves a field out", File: recordFile, Right: "	f.hash(r.Digest)\n", Wrong: "	f.hash(r.Fingerprint)\n", Test: "TestNoFieldIsForgotten"},
}
