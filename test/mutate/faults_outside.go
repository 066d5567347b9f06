package main

const (
	pickFile     = "internal/forward/pick.go"
	flightFile   = "internal/forward/flight.go"
	lossFile     = "internal/serve/gateway_loss.go"
	deliveryFile = "internal/wire/ingest/delivery.go"
	proverFile   = "internal/prove/prover.go"
	wsCommands   = "internal/wire/ws/commands.go"
	logIndex     = "internal/audit/logindex.go"
	logBooks     = "internal/audit/logbooks.go"
	logBodies    = "internal/audit/logbodies.go"
	forwardTests = "internal/forward"
	pebbleTests  = "internal/store/pebble"
	serveTests   = "internal/serve"
	ingestTests  = "internal/wire/ingest"
	onceDecided  = "TestADecisionThatComesAgainIsTheSameForADay"
	wentBack     = "TestALogThatWentBackClosesIngestUntilItIsAccepted"
)

// outsideFaults are of the kinds that outsiders found (docs/faults.md): what costs money, or lets strangers in.
var outsideFaults = []Fault{
	{Name: "forward: control", File: flightFile, Right: "f.to != l.to", Wrong: "l.to != f.to", Harmless: true},
	{Name: "forward: a changed body leaves, freshly signed", File: pickFile, Right: "event.Digest == sha256.Sum256(body.Bytes)", Wrong: "event.Digest != [32]byte{} && sha256.Size == 32", Test: "TestAChangedBodyIsNeverForwarded"},
	{Name: "forward: Retry-After counts from the start of a try", File: "internal/forward/send.go", Right: "answered(resp, heard)", Wrong: "answered(resp, min(wall, heard))", Test: "TestRetryAfterCountsFromTheAnswer"},
	{Name: "forward: the pause counts from the start of a try", File: outboxFile, Right: "		d.LastMs += max(0, min(c.TookMs, now-d.LastMs))\n", Wrong: "", In: forwardTests, Test: "TestADestinationThatHangsIsNotHitWithoutPause"},
	{Name: "forward: a duplicate goes before the destination's wish", File: outboxFile, Right: "d.Due = min(d.Due, max(now, d.NotBefore))", Wrong: "d.Due = min(d.Due, now)", In: forwardTests, Test: "TestDuplicatesOfAWaitingEvent"},
	{Name: "forward: a clock that may be wrong ends tries", File: flightFile, Right: "trusted && max(", Wrong: "max(", Test: "TestAWrongClockEndsNoTries"},

	{Name: "store: control", File: "internal/store/pebble/lost.go", Right: "lost, err\n		}\n		if ok &&", Wrong: "lost, err\n		}\n		if true && ok &&", Harmless: true},
	{Name: "proof: a book of no event may have a total", File: logBooks, Right: "		if !ok || seen[id] || f.books[id] == nil {\n", Wrong: "		if ok && f.books[id] == nil && s.Accept == 0 {\n			continue\n		}\n		if !ok || seen[id] || f.books[id] == nil {\n", In: pebbleTests, Test: "TestARowThatTheFoldDoesNotGiveIsAFault"},
	{Name: "proof: dead letters may be found by nothing", File: logIndex, Right: "IndexHeld, IndexDead,", Wrong: "IndexHeld,", In: pebbleTests, Test: "TestAHiddenDeliveryIsTold"},
	{Name: "audit: a body that is kept is believed", File: logBodies, Right: "sha256.Sum256(s.Bytes) != rec.event.digest", Wrong: "sha256.Size != len(rec.event.digest)", In: pebbleTests, Test: "TestABodyIsHeldAgainstItsDigest"},

	{Name: "serve: control", File: lossFile, Right: "lost.From == 0", Wrong: "0 == lost.From", Harmless: true},
	{Name: "serve: the log isn't held against the head note", File: "internal/store/pebble/open.go", Right: "if s.lost, err = s.folder.lostLog(s.self, s.db); err != nil {", Wrong: "if _, err = s.folder.lostLog(s.self, s.db); err != nil {", In: serveTests, Test: wentBack},
	{Name: "serve: the log isn't held against the anchor", File: lossFile, Right: "prove.Hold(ctx, g.intake, g.config.Anchor)", Wrong: "prove.Hold(ctx, g.intake, \"\")", Test: wentBack},
	{Name: "serve: a log that went back takes deliveries", File: lossFile, Right: "if g.lost.Load().From > 0 {", Wrong: "if g.lost.Load().From < 0 {", Test: wentBack},
	{Name: "serve: a clock that may be wrong erases bodies", File: "internal/serve/gateway_bodies.go", Right: "watch.Observe(wall, mono); trusted {", Wrong: "watch.Observe(wall, mono); trusted || mono >= 0 {", Test: "TestErasingWaitsForTheHourOfTrust"},

	{Name: "ingest: control", File: deliveryFile, Right: "int64(len(body)) > most", Wrong: "most < int64(len(body))", Harmless: true},
	{Name: "ingest: unsigned deliveries use up a source's rate", File: deliveryFile, Right: "	if p := d.verify(body); p != nil {\n", Wrong: "	if p := d.verify(body); p != nil {\n		d.within(body)\n", Test: "TestUnsignedDeliveriesUseUpNothingOfASource"},
	{Name: "ingest: a source's own size shows to who can't sign", File: deliveryFile, Right: "limit.ReadBody(d.w, d.r, d.largest,", Wrong: "limit.ReadBody(d.w, d.r, d.source.maxBody,", Test: "TestWhoCantSignIsAlwaysToldTheSame"},
	{Name: "ingest: a good signature is hidden by its place", File: "internal/wire/ingest/verify.go", Right: "err == nil && version == \"v1\" {", Wrong: "err == nil && version == \"v1\" && len(signatures) < 16 {", Test: "TestAGoodSignatureIsFoundAtAnyPlace"},
	{Name: "ingest: a guard tells nothing of what it lets in", File: eventFile, Right: "src.Guard != GuardOff {\n		if v.twin", Wrong: "src.Guard == GuardReject {\n		if v.twin", In: ingestTests, Test: "TestASignedBodyUnderAnotherKeyIsTold"},
	{Name: "ingest: quotes are part of what they are around", File: "internal/wire/ingest/cloudevents.go", Right: "return b.String(), i == len(text)-1", Wrong: "return text, i == len(text)-1", Test: "TestQuotesOfACloudEventsHeaderAreNoPartOfIt"},

	{Name: "api: control", File: "internal/wire/gatewayapi/api.go", Right: "op.RequestBody != nil", Wrong: "nil != op.RequestBody", Harmless: true},
	{Name: "api: bodies come before rights", File: "internal/wire/gatewayapi/api.go", Right: "	if err := mayWriteAt(ctx, r); err != nil {\n", Wrong: "	if err := mayWriteAt(ctx, r); err != nil && r.Body == nil {\n", Test: "TestRightsComeBeforeTheBody"},
	{Name: "gateway: another tenant's decision is told", File: outboxFile, Right: "a.Tenant == tenant && now", Wrong: "now", Test: onceDecided},
	{Name: "gateway: a decision is remembered for no time", File: outboxFile, Right: "now-a.At < AskedMs && ", Wrong: "now == a.At && ", Test: onceDecided},
	{Name: "prove: control", File: proverFile, Right: "wait = p.o.Every; first {", Wrong: "wait = p.o.Every; first == true {", Harmless: true},
	{Name: "prove: a clock that was wrong puts proofs off", File: proverFile, Right: "min(max(time.Until(time.UnixMilli(last.At).Add(p.o.Every)), 0), p.o.Every)", Wrong: "max(time.Until(time.UnixMilli(last.At).Add(p.o.Every)), 0)", Test: "TestAProofOfTheFutureDoesntPutProofsOff"},
	{Name: "prove: what fails its check is noted as checked", File: "internal/prove/once.go", Right: "err != nil || !proof.OK() || proof.Records == 0", Wrong: "err != nil || proof.Records == 0", Test: "TestWhatFailsItsCheckIsNotedAsNothing"},
	{Name: "run: an output takes the place of a folder or device", File: "internal/settlement/paths.go", Right: "if err := CheckOutput(path); err != nil {", Wrong: "if err := CheckOutput(path); err != nil && path == \"\" {", Test: "TestFoldersAreNoEarlierOutputs"},

	{Name: "ws: control", File: wsCommands, Right: "c.session == nil {\n			return", Wrong: "nil == c.session {\n			return", Harmless: true},
	{Name: "ws: who said no hello is answered again and again", File: wsCommands, Right: "cmd.ClientMessageID\n		return c.noHello(&e)", Wrong: "cmd.ClientMessageID\n		c.tell(&e)\n		return nil", Test: "TestBeforeHelloOneFrameIsAnswered"},
	{Name: "ws: much waits for who said no hello", File: "internal/wire/ws/conn.go", Right: "limit: strangerOutbound,", Wrong: "limit: strangerOutbound << 8,", Test: "TestBeforeHelloLittleWaits"},

	{Name: "auth: control", File: "internal/auth/claims.go", Right: "!has || literal == nil", Wrong: "literal == nil || !has", Harmless: true},
	{Name: "auth: a name in grants is a pattern", File: "internal/auth/claims.go", Right: "s.grant(Grant{name, rights, Name})", Wrong: "s.grant(Grant{name, rights, Pattern})", Test: "TestGrantsAreLiteral"},
	{Name: "limit: control", File: "internal/wire/limit/client.go", Right: "c.shared || p.isNamed(a)", Wrong: "p.isNamed(a) || c.shared", Harmless: true},
	{Name: "limit: anybody may say for whom they ask", File: "internal/wire/limit/client.go", Right: "	if !p.isNamed(at.Addr()) {\n", Wrong: "	if !p.isNamed(at.Addr()) && len(hopsOf(r.Header.Values(p.header), p.header == Forwarded)) == 0 {\n", Test: "TestWhoAsksThroughProxies"},
}
