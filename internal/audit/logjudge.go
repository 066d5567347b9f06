package audit

// maxAheadS is how far a named time may lie ahead of the server, in seconds (docs/spec/gateway.md, Sources).
const maxAheadS = 300

const maxIDBytes = 64

// judged is what an event must be, by the contract and the gateway's rule.
type judged struct {
	decision decision
	scope    scope
	window   int64
	seen     int64
	twin     int64 // the event of another key that was accepted with the same body
}

// judgeOnline is the rule of docs/spec/contract.md, 2, with what the gateway adds (docs/spec/gateway.md, Sources, Ingest and The log and the books).
func judgeOnline(p *policy, s *sourceState, k *logKey, rec *logRecord, print uint64) (j judged) {
	e := &rec.event
	j.seen = rec.at / 1000
	if e.named {
		j.seen = e.namedAt
	}
	if k.last > 0 {
		j.seen = max(j.seen, k.lastSeen)
	}
	if !k.has(isRegistered) {
		j.decision = unknownKey
		return j
	}
	if !e.amountOK {
		j.decision = badAmount
		return j
	}
	j.scope, j.window = e.said, k.window
	if j.scope == scopeStanding {
		j.scope = k.scope
	}
	if j.window == 0 {
		j.window = s.window
	}
	if j.window == 0 {
		j.window = p.window
	}
	j.decision = acceptEvent
	if k.last == 0 || j.seen-k.lastSeen > j.window {
		return j
	}
	if currency, _ := currencyCode(e.currency); currency != k.lastCurrency {
		j.decision = mismatchEvent
		return j
	}
	if p.strict && j.scope != k.lastScope {
		return j
	}
	switch {
	case e.strict && print != k.rootPrint:
		j.decision = mismatchEvent
	case k.pending():
		j.decision = duplicatePending
	default:
		j.decision = duplicateDone
	}
	return j
}

// takeEvent judges an event anew, names the first thing that its record says otherwise, and goes on by what is right.
func (f *fold) takeEvent(rec *logRecord, key uint32) error {
	e, k := &rec.event, f.keys.at(key)
	if k.events == maxOfKey {
		return errMany(rec.number)
	}
	s := &f.sources[k.source]
	print := f.hash.word(e.print[:])
	j := judgeOnline(&f.policy, s, k, rec, print)
	if j.decision == acceptEvent && s.guard != guardOff {
		if j.twin = s.bodies.find(rec, k.id, s.guardWindow); j.twin > 0 && s.guard == guardReject {
			j.decision = mismatchEvent
		} else {
			s.bodies.put(rec, k.id, f.hash.word(e.id))
		}
	}
	forwarded := j.decision == acceptEvent && s.forward
	currency, value := f.checkFacts(rec, s, k)
	f.checkClaims(rec, k, &j, forwarded)
	f.book(k.source, currency).count(j.decision, value)
	k.lastEvent = rec.number
	k.events++
	if !j.decision.entersHistory() {
		return nil
	}
	k.last, k.lastSeen, k.lastScope, k.lastCurrency = rec.number, j.seen, j.scope, currency
	k.set(saidPending, e.pending)
	if j.decision.repeats() {
		k.repeats++
		f.keys.hitIn(key, currency, rec.number, j.seen)
		if k.has(rootForwarded) && !k.has(rootDelivered) && f.outbox[k.root].dead {
			f.owed = debt{what: revivalOwed, number: rec.number, event: k.root}
		}
		return nil
	}
	k.accepted++
	k.repeats = 0
	k.root, k.rootPrint, k.rootID = rec.number, print, f.hash.word(e.id)
	k.set(rootForwarded, forwarded)
	k.set(rootDelivered, false)
	if forwarded {
		k.waiting++
		f.outbox[rec.number] = outRow{id: k.rootID, since: rec.at, key: key, ordinal: k.accepted}
	}
	if f.overfull() {
		return errTooMany
	}
	return nil
}

// checkFacts looks at what came with the event: by whatever it is judged, it must be what the rule allows.
func (f *fold) checkFacts(rec *logRecord, s *sourceState, k *logKey) (currency uint16, value money) {
	e := &rec.event
	currency, okCurrency := currencyCode(e.currency)
	whole, parts, okAmount := amount(e.amount)
	if e.amountOK {
		value = money{whole: whole, parts: uint64(parts)}
	}
	switch {
	case !f.ruled:
		f.issues.record(rec.number, "an event stands before any policy")
	case !s.known:
		f.issues.record(rec.number, "its source has no settings")
	case s.open && !k.has(isRegistered):
		f.issues.record(rec.number, "its source is open, but no record registers its key")
	case len(e.id) < 1 || len(e.id) > maxIDBytes:
		f.issues.record(rec.number, "its id has %d bytes", len(e.id))
	case !okCurrency:
		f.issues.record(rec.number, "its currency %q isn't three letters", e.currency)
	case e.amountOK && !okAmount:
		f.issues.record(rec.number, "%q is taken for an amount", e.amount)
	case e.named && e.namedAt > rec.at/1000+maxAheadS:
		f.issues.record(rec.number, "it names the time %d, more than %d s ahead of %d", e.namedAt, maxAheadS, rec.at/1000)
	}
	return currency, value
}

// checkClaims compares what the record says of the decision with what is right. One difference is told, the one that others follow from.
func (f *fold) checkClaims(rec *logRecord, k *logKey, j *judged, forwarded bool) {
	e := &rec.event
	switch {
	case e.prior != k.lastEvent:
		f.issues.record(rec.number, "the event of its key before is %d, not %d", k.lastEvent, e.prior)
	case e.predecessor != k.last:
		f.issues.record(rec.number, "it is measured against %d, not %d", k.last, e.predecessor)
	case e.predecessorPending != k.pending():
		f.issues.record(rec.number, "its predecessor was %s, not %s", stateWord(k.pending()), stateWord(e.predecessorPending))
	case e.root != k.root:
		f.issues.record(rec.number, "the root of its chain is %d, not %d", k.root, e.root)
	case e.seen != j.seen:
		f.issues.record(rec.number, "it is judged at %d, not %d", j.seen, e.seen)
	case e.decision != j.decision:
		f.issues.record(rec.number, "the decision is %s, not %s", j.decision, e.decision)
	case e.twin != j.twin:
		f.issues.record(rec.number, "the event of another key with its body is %d, not %d", j.twin, e.twin)
	case e.scope != j.scope:
		f.issues.record(rec.number, "it is judged in scope %q, not %q", scopeWord(j.scope), scopeWord(e.scope))
	case e.window != j.window:
		f.issues.record(rec.number, "its window is %d s, not %d", j.window, e.window)
	case e.forwarded != forwarded:
		f.issues.record(rec.number, "it goes to a destination: %t, not %t", forwarded, e.forwarded)
	}
}

func stateWord(pending bool) string {
	if pending {
		return "pending"
	}
	return "done"
}

func scopeWord(s scope) string {
	switch s {
	case scopeSchema:
		return "schema"
	case scopeWire:
		return "wire"
	}
	return ""
}

// bookID is a source's place and a currency.
type bookID struct {
	source   uint32
	currency uint16
}

// logBook is what a source's events in a currency come to.
type logBook struct {
	counts            [len(decisionWords)]int64
	accepted, deduped money
}

func (b *logBook) count(d decision, value money) {
	b.counts[d]++
	switch {
	case d == acceptEvent:
		b.accepted.add(value)
	case d.repeats():
		b.deduped.add(value)
	}
}

func (f *fold) book(source uint32, currency uint16) *logBook {
	id := bookID{source, currency}
	b := f.books[id]
	if b == nil {
		b = &logBook{}
		f.books[id] = b
	}
	return b
}
