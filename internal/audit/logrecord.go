package audit

// logRecord is one record of the log, decoded. Byte slices lie in the record.
type logRecord struct {
	kind   string // of the kinds below; a constant
	number int64
	before [32]byte
	at     int64 // Unix ms

	policy policy         // kindPolicy
	raw    []byte         // the name of kindRegister, kindUnregister and kindEvent
	source sourceRecord   // kindSource
	reg    registerRecord // kindRegister
	by     []byte         // kindRegister, kindUnregister, kindDelivery
	event  eventRecord    // kindEvent
	sent   deliveryRecord // kindDelivery
}

// The kinds of docs/log.md.
const (
	kindPolicy     = "policy"
	kindSource     = "source"
	kindRegister   = "register"
	kindUnregister = "unregister"
	kindEvent      = "event"
	kindDelivery   = "delivery"
)

type sourceRecord struct {
	raw      []byte // tenant and source as they lie
	settings settings
}

// settings are what stands for a source's keys.
type settings struct {
	window, capacity, parts int64
	scope                   scope
	open, forward           bool
}

type registerRecord struct {
	scope            scope
	window, capacity int64
}

type eventRecord struct {
	id, currency, amount []byte
	decision             decision
	amountOK             bool
	said, scope          scope
	pending              bool
	named                bool
	namedAt, seen        int64
	window               int64
	prior, predecessor   int64
	predecessorPending   bool
	root                 int64
	forwarded, strict    bool
	print                [32]byte
}

type deliveryRecord struct {
	event int64
	what  string // of the words below; a constant
	sends int64
}

// What became of a delivery.
const (
	wasDelivered = "delivered"
	hasDied      = "dead"
	wasDiscarded = "discarded"
	wasRevived   = "revived"
)

// readHead reads what all kinds have in common and leaves the reader before the fields of the kind.
func (rec *logRecord) readHead(r *fieldReader) {
	switch kind := r.next(); string(kind) {
	case kindEvent:
		rec.kind = kindEvent
	case kindDelivery:
		rec.kind = kindDelivery
	case kindRegister:
		rec.kind = kindRegister
	case kindUnregister:
		rec.kind = kindUnregister
	case kindSource:
		rec.kind = kindSource
	case kindPolicy:
		rec.kind = kindPolicy
	default:
		r.fail("its kind is unknown")
	}
	rec.number = r.integer()
	rec.before = r.hash()
	rec.at = r.integer()
}

// readName reads the key that the record is about, where it is about one by name.
func (rec *logRecord) readName(r *fieldReader) {
	switch rec.kind {
	case kindEvent, kindRegister, kindUnregister:
		rec.raw = r.name()
	default:
		rec.raw = nil
	}
}

// readRest reads the fields of the kind behind the name. The record must end with the last of them.
func (rec *logRecord) readRest(r *fieldReader) {
	switch rec.kind {
	case kindEvent:
		rec.event.read(r)
	case kindDelivery:
		rec.sent = deliveryRecord{event: r.integer()}
		rec.sent.read(r)
		rec.by = r.next()
	case kindRegister:
		rec.reg = registerRecord{scope: r.scopeOrNone(), window: r.count(), capacity: r.count()}
		rec.by = r.next()
	case kindUnregister:
		rec.by = r.next()
	case kindSource:
		s := &rec.source
		s.raw = r.pair()
		s.settings = settings{window: r.count(), scope: r.scopeOrNone(), capacity: r.count(), open: r.flag(), forward: r.flag(), parts: r.count()}
	case kindPolicy:
		rec.policy = policy{window: r.count(), strict: r.flag(), minHits: r.count()}
	}
	if r.at < len(r.text) {
		r.fail("bytes follow its last field")
	}
}

func (e *eventRecord) read(r *fieldReader) {
	e.id = r.next()
	e.decision = r.decision()
	e.currency = r.next()
	e.amount = r.next()
	e.amountOK = r.flag()
	e.said = r.scopeOrNone()
	e.scope = r.scopeOrNone()
	e.pending = r.pending()
	e.named = r.flag()
	e.namedAt = r.integer()
	e.seen = r.count()
	e.window = r.count()
	e.prior = r.integer()
	e.predecessor = r.integer()
	e.predecessorPending = r.pending()
	e.root = r.integer()
	e.forwarded = r.flag()
	e.print = r.hash()
	r.hash() // of the body, which lies apart and may be erased
	e.strict = r.flag()
}

func (d *deliveryRecord) read(r *fieldReader) {
	switch what := r.next(); string(what) {
	case wasDelivered:
		d.what = wasDelivered
	case hasDied:
		d.what = hasDied
	case wasDiscarded:
		d.what = wasDiscarded
	case wasRevived:
		d.what = wasRevived
	default:
		r.fail("what became of a delivery is unknown")
	}
	r.next() // the reason, for people
	d.sends = r.integer()
}
