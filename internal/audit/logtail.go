package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
)

// ProveTail checks the records behind one that was proved: the chain up to the head, and each decision against the records that it names and
// what is kept of its key. It remembers nothing from record to record, so its memory doesn't grow with the tail; what only a fold over the
// whole log can tell (the books, the outbox, whether a key's chain names all of its events) is left to ProveLog.
func ProveTail(ctx context.Context, log Log, since int64, hash [32]byte) (proof *LogProof, err error) {
	t := &tail{log: log, proof: &LogProof{Passes: 1}, doubts: map[string]doubt{}}
	err = guarded(func() error { return t.run(ctx, since, hash) })
	return t.proof, err
}

// tail is a check under way.
type tail struct {
	log     Log
	proof   *LogProof
	issues  issues
	policy  policy
	sources map[string]*StatedSource
	doubts  map[string]doubt // by source
	current logRecord
	before  logRecord // scratch
	rooted  logRecord // scratch
}

// doubt is a record that disagrees with the settings as they stand at the head. It is none where they were changed after it.
type doubt struct {
	number int64
	text   string
}

func (t *tail) run(ctx context.Context, since int64, hash [32]byte) error {
	head := t.log.Head()
	t.policy = policy{window: head.Policy.BlockWindowS, strict: head.Policy.ScopeStrict, minHits: head.Policy.LRUMinHits}
	stated, err := t.log.Sources()
	if err != nil {
		return err
	}
	t.sources = map[string]*StatedSource{}
	for i := range stated {
		t.sources[string(appendPair(nil, stated[i].Tenant, stated[i].Source))] = &stated[i]
	}
	c := chain{issues: &t.issues}
	c.start(since, hash)
	if err := t.proved(since, hash); err != nil {
		return err
	}
	for raw, err := range t.log.Records(since) {
		if err != nil {
			return err
		}
		if t.proof.Records++; t.proof.Records%PaceRecords == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if number, ok := c.take(raw); ok {
			if err := t.take(number, raw); err != nil {
				return err
			}
		}
	}
	c.end(&head)
	for _, d := range t.doubts {
		t.issues.record(d.number, "%s", d.text)
	}
	t.proof.Number, t.proof.Hash = c.last, c.hash
	t.proof.Issues, t.proof.Found = t.issues.texts(), t.issues.total
	return nil
}

// proved looks whether the record that was proved is the one it was.
func (t *tail) proved(since int64, hash [32]byte) error {
	if since == 0 {
		return nil
	}
	raw, err := t.log.Record(since)
	if err == nil && (raw == nil || sha256.Sum256(raw) != hash) {
		t.issues.record(since, "it isn't the one that the last proof ended with")
	}
	return err
}

func (t *tail) take(number int64, raw []byte) error {
	rec := &t.current
	if fault := rec.read(raw); fault != "" {
		t.issues.record(number, "not a record: %s", fault)
		return nil
	}
	switch rec.kind {
	case kindPolicy:
		if number != 1 {
			t.issues.record(number, "a policy is the first record of a log, and fixed")
		}
	case kindSource:
		delete(t.doubts, string(rec.source.raw))
	case kindDelivery:
		return t.takeDelivery(rec)
	case kindEvent:
		t.proof.Events++
		return t.takeEvent(rec)
	}
	return nil
}

// read decodes a whole record; it returns what is wrong with it.
func (rec *logRecord) read(raw []byte) (fault string) {
	r := fieldReader{text: raw}
	rec.readHead(&r)
	rec.readName(&r)
	rec.readRest(&r)
	return r.fault
}

// event reads an earlier event's record. ok is false where there is none of that number.
func (t *tail) event(into *logRecord, number int64) (ok bool, err error) {
	raw, err := t.log.Record(number)
	if err != nil || raw == nil {
		return false, err
	}
	// The next look-up may use the same bytes.
	return into.read(bytes.Clone(raw)) == "" && into.kind == kindEvent && into.number == number, nil
}

func (t *tail) takeDelivery(rec *logRecord) error {
	ok, err := t.event(&t.before, rec.sent.event)
	if err == nil && (!ok || rec.sent.event >= rec.number || !t.before.event.forwarded) {
		t.issues.record(rec.number, "event %d isn't one that goes to a destination", rec.sent.event)
	}
	return err
}

// takeEvent judges an event by the records that it names.
func (t *tail) takeEvent(rec *logRecord) error {
	k, ok, err := t.history(rec)
	if err != nil || !ok {
		return err
	}
	r := fieldReader{text: rec.raw}
	source := r.pair()
	stated := t.sources[string(source)]
	if stated == nil {
		t.issues.record(rec.number, "its source has no settings")
		return nil
	}
	key, err := t.log.Key(stated.Tenant, stated.Source, string(r.next()))
	if err != nil {
		return err
	}
	e := &rec.event
	k.set(isRegistered, e.decision != unknownKey)
	k.scope, k.window = e.scope, e.window // judged by what it says it was judged by; below that is looked at
	f := fold{issues: &t.issues, ruled: true}
	s := sourceState{known: true}
	f.checkFacts(rec, &s, &k)
	print := uint64(0)
	if e.print != t.rooted.event.print {
		print = 1 // k.rootPrint is 0: all that is compared is whether they are equal
	}
	j := judgeOnline(&t.policy, &s, &k, rec, print)
	if err := t.checkTwin(rec, &j, stated); err != nil {
		return err
	}
	f.checkClaims(rec, &k, &j, e.forwarded)
	t.checkTerms(rec, key, stated, string(source))
	return nil
}

// checkTwin looks at the event of another key that an event says was accepted with its body. That there is none only a fold over the whole log can tell.
func (t *tail) checkTwin(rec *logRecord, j *judged, s *StatedSource) error {
	e := &rec.event
	if e.twin == 0 {
		return nil
	}
	ok, err := t.event(&t.before, e.twin)
	if err != nil {
		return err
	}
	r, other := fieldReader{text: rec.raw}, fieldReader{text: t.before.raw}
	if !ok || e.twin >= rec.number || j.decision != acceptEvent || t.before.event.decision != acceptEvent || t.before.event.digest != e.digest ||
		!bytes.Equal(r.pair(), other.pair()) || bytes.Equal(rec.raw, t.before.raw) {
		t.issues.record(rec.number, "event %d isn't one of another key that was accepted with its body", e.twin)
	}
	if j.twin = e.twin; e.decision == mismatchEvent {
		j.decision = mismatchEvent
	}
	if rec.at-t.before.at > s.GuardS*1000 || (e.decision == mismatchEvent) != (s.Guard == guardWords[guardReject]) {
		t.doubt(rec, "its guard isn't what its source says")
	}
	return nil
}

// history is what the records that an event names say of its key before it.
func (t *tail) history(rec *logRecord) (k logKey, ok bool, err error) {
	e := &rec.event
	if e.prior == 0 {
		t.rooted.event.print = e.print
		return k, true, nil
	}
	p := &t.before
	if ok, err = t.event(p, e.prior); err != nil {
		return k, false, err
	}
	if !ok || e.prior >= rec.number || !bytes.Equal(p.raw, rec.raw) {
		t.issues.record(rec.number, "record %d isn't an event of its key before it", e.prior)
		return k, false, nil
	}
	k.lastEvent = e.prior
	done := p.event.root == e.root && p.event.predecessor > 0 && !p.event.predecessorPending
	if !p.event.decision.entersHistory() {
		if p.event.predecessor == 0 {
			return k, true, nil
		}
		number := p.event.predecessor
		if ok, err = t.event(p, number); err != nil || !ok {
			t.issues.record(rec.number, "the event %d that it is measured against isn't there", number)
			return k, false, err
		}
	}
	k.last, k.lastSeen, k.lastScope = p.number, p.event.seen, p.event.scope
	k.lastCurrency, _ = currencyCode(p.event.currency)
	k.set(saidPending, p.event.pending)
	k.root = p.event.root
	if p.event.decision == acceptEvent {
		k.root = p.number
	}
	if ok, err = t.event(&t.rooted, k.root); err != nil || !ok {
		t.issues.record(rec.number, "the root %d of its chain isn't there", k.root)
		return k, false, err
	}
	k.set(rootForwarded, t.rooted.event.forwarded)
	k.set(rootDelivered, done || !e.predecessorPending) // when it was delivered only a fold can tell; what is done stays done
	return k, true, nil
}

// doubt notes what disagrees with the settings of an event's source as they stand at the head.
func (t *tail) doubt(rec *logRecord, text string) {
	r := fieldReader{text: rec.raw}
	if source := string(r.pair()); t.doubts[source].number == 0 {
		t.doubts[source] = doubt{rec.number, text}
	}
}

// checkTerms looks at the terms that an event says it was judged by, where what stands now is what stood then.
func (t *tail) checkTerms(rec *logRecord, key *StatedKey, s *StatedSource, source string) {
	e := &rec.event
	doubtful := func(text string) { t.doubt(rec, text) }
	if e.forwarded != (e.decision == acceptEvent && s.Forward) {
		doubtful("whether it goes to a destination isn't what its source says")
	}
	if e.decision == unknownKey {
		if key.Registered && key.Since < rec.number && key.LastEvent >= rec.number {
			t.issues.record(rec.number, "its key is registered since %d", key.Since)
		}
		return
	}
	if !key.Registered || key.Since >= rec.number { // changed after it
		if !key.Registered {
			t.issues.record(rec.number, "its key isn't registered")
		}
		return
	}
	if e.decision == badAmount {
		return
	}
	if e.said == scopeStanding && scopeWord(e.scope) != key.Scope {
		t.issues.record(rec.number, "it is judged in scope %q, not %q", key.Scope, scopeWord(e.scope))
	}
	window := key.WindowS
	if window != 0 {
		if e.window != window {
			t.issues.record(rec.number, "its window is %d s, not %d", window, e.window)
		}
		return
	}
	if window = s.WindowS; window == 0 {
		window = t.policy.window
	}
	if e.window != window {
		doubtful("its window isn't what its source says")
	}
}
