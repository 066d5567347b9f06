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
	more   bool           // kindGuarded or kindTwin, which have more fields than they are read as
	old    bool           // of a kind that names no origin
	origin string         // kindRegister, kindUnregister, kindDelivery, kindLoss, but not old; a constant
	by     []byte         // likewise, and old ones
	event  eventRecord    // kindEvent
	sent   deliveryRecord // kindDelivery
	loss   lossRecord     // kindLoss
}

// The kinds of docs/log.md. Of registrations and deliveries there are older ones, whose names end before the point.
const (
	kindPolicy     = "policy"
	kindSource     = "source"
	kindRegister   = "register.2"
	kindUnregister = "unregister.2"
	kindEvent      = "event"
	kindDelivery   = "delivery.2"
	kindLoss       = "loss"
	kindGuarded    = "source.2" // read as a source, with its guard
	kindTwin       = "event.2"  // read as an event, with its twin

	oldRegister   = "register"
	oldUnregister = "unregister"
	oldDelivery   = "delivery"
)

// Who brings a record about.
const (
	byOpen      = "open"      // an open source's key registers itself
	byFile      = "file"      // a registry file
	byAPI       = "api"       // somebody with a token, who is named
	byDuplicate = "duplicate" // a repeat revives a dead letter
	byForward   = "forward"   // the forwarder
	byOperator  = "operator"  // somebody at the machine, who is named
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
	guard                   guard
	guardWindow             int64
}

// guard is what becomes of a body that was accepted under another key.
type guard uint8

const (
	guardOff guard = iota
	guardFlag
	guardReject
)

var guardWords = [...]string{"off", "flag", "reject"}

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
	twin                 int64 // the event of another key with the same body
	forwarded, strict    bool
	print, digest        [32]byte
}

type deliveryRecord struct {
	event int64
	what  string // of the words below; a constant
	sends int64

	reason []byte // of a death, for people
}

// lossRecord says that the log was known up to from, and is what was known up to to.
type lossRecord struct {
	from int64
	hash [32]byte // of record from, as it was
	to   int64
	at   int64 // Unix ms of its acceptance
}

// What became of a delivery.
const (
	wasDelivered = "delivered"
	hasDied      = "dead"
	wasDiscarded = "discarded"
	wasRevived   = "revived"
)

// deliveryOrigins are who may bring about what became of a delivery.
var deliveryOrigins = map[string][]string{
	wasDelivered: {byForward}, hasDied: {byForward}, wasDiscarded: {byAPI}, wasRevived: {byAPI, byDuplicate},
}

// readHead reads what all kinds have in common and leaves the reader before the fields of the kind.
func (rec *logRecord) readHead(r *fieldReader) {
	kind := r.next()
	rec.old, rec.more, rec.origin = false, false, ""
	switch string(kind) {
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
	case kindLoss:
		rec.kind = kindLoss
	case kindGuarded:
		rec.kind, rec.more = kindSource, true
	case kindTwin:
		rec.kind, rec.more = kindEvent, true
	default:
		if rec.old = true; !rec.readOld(string(kind)) {
			r.fail("its kind is unknown")
		}
	}
	rec.number = r.integer()
	rec.before = r.hash()
	rec.at = r.integer()
}

// readOld takes a kind of before for what it is today, but for its origin.
func (rec *logRecord) readOld(kind string) (ok bool) {
	switch kind {
	case oldRegister:
		rec.kind = kindRegister
	case oldUnregister:
		rec.kind = kindUnregister
	case oldDelivery:
		rec.kind = kindDelivery
	default:
		return false
	}
	return true
}

// readWho reads who brought the record about. A name stands beside an origin that has one only.
func (rec *logRecord) readWho(r *fieldReader, origins ...string) {
	if !rec.old {
		said := r.next()
		for _, o := range origins {
			if string(said) == o {
				rec.origin = o
			}
		}
		if rec.origin == "" {
			r.fail("its origin is none of such a record")
		}
	}
	rec.by = r.next()
	if !rec.old && len(rec.by) > 0 && rec.origin != byAPI && rec.origin != byOperator {
		r.fail("its origin has no name")
	}
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
		if rec.event.twin = 0; rec.more {
			rec.event.twin = r.integer()
		}
	case kindDelivery:
		rec.sent = deliveryRecord{event: r.integer()}
		rec.sent.read(r)
		rec.readWho(r, deliveryOrigins[rec.sent.what]...)
	case kindRegister:
		rec.reg = registerRecord{scope: r.scopeOrNone(), window: r.count(), capacity: r.count()}
		rec.readWho(r, byOpen, byFile, byAPI)
	case kindUnregister:
		rec.readWho(r, byAPI)
	case kindLoss:
		rec.loss = lossRecord{from: r.integer(), hash: r.hash(), to: r.integer()}
		rec.readWho(r, byOperator)
		r.next() // the reason, for people
	case kindSource:
		s := &rec.source
		s.raw = r.pair()
		s.settings = settings{window: r.count(), scope: r.scopeOrNone(), capacity: r.count(), open: r.flag(), forward: r.flag(), parts: r.count()}
		if rec.more {
			s.settings.guard, s.settings.guardWindow = r.guard(), r.count()
		}
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
	e.digest = r.hash() // of the body, which lies apart and may be erased
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
	d.reason = r.next()
	d.sends = r.integer()
}
