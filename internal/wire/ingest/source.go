package ingest

// Source says how the deliveries of one source are verified and read (docs/spec/gateway.md, Sources). It is plain data, made
// from the configuration; Compile checks it whole and makes it ready.
type Source struct {
	Tenant string // a contract name, doesn't start with #
	Name   string // a contract name

	Verify Verify
	// Format is what a body is: FormatJSON, FormatCloudEvents or FormatRaw. Empty: FormatCloudEvents where a field is an Attribute, else
	// FormatJSON.
	Format string

	// Key is what names an event: one part at least. A key of several is the RFC 8785 array of its parts. Constants are refused.
	Key []Field
	// Scope is schema or wire; an event without has its key's. Unset: no event has one.
	Scope Field
	// Amount is read as AmountForm says. It must be set: where events have no amount, to the Constant 0.
	Amount     Field
	AmountForm string // AmountDecimal (the default) or AmountMinor
	// Exponents says for AmountMinor how many decimals a currency has, where that isn't ISO 4217's number: currency → 0 to 8.
	Exponents map[string]int
	// Currency is three ASCII letters; an event without is in book XXX. Unset: all are.
	Currency Field
	// State is done or pending; an event without is done. Unset: all are.
	State Field
	// SeenAt is the time that an event names. Unset: the moment at which its record gets its number.
	SeenAt     Field
	SeenAtForm string // with SeenAt: TimeUnix, TimeUnixMs or TimeRFC3339
	// SeenAtBehindS is how many seconds before the server's a named time may lie, a contract integer. 0: gateway.MaxBehindS.
	SeenAtBehindS int64

	WindowS     int64  // replay window in seconds, a contract integer; 0: the policy's
	Registry    string // RegistryRequired or RegistryOpen
	KeyScope    string // schema or wire: of keys that register themselves. Empty: Scope's Constant, else schema
	LRUCapacity int64  // of keys that register themselves, a contract integer

	OnMismatch string   // MismatchFlag (the default) or MismatchReject
	Ignore     []string // JSON pointers to members that repeats are not compared by

	// Guard is what becomes of an event whose body was accepted under another key of the source within GuardS seconds: GuardOff, GuardFlag or
	// GuardReject. Empty: see Compiled.SettingsBeside. GuardS 0: WindowS, where that is 0 too DefaultGuardS.
	Guard  string
	GuardS int64

	RejectStatus int // 422 (the default) or 200

	Forward        bool     // accepted events go to a destination
	ForwardHeaders []string // names of request headers kept for it, in any case; one that ends in * stands for all that begin so

	// Rate is how many requests a second are let in, Burst how many at once. A batch is one. Rate 0: without bound.
	Rate  float64
	Burst int
	// MaxBody is the most bytes of a request's body. 0: DefaultMaxBody.
	MaxBody int64
}

// Verify says who may deliver.
type Verify struct {
	Scheme string // one of the Scheme constants

	// Of SchemeHMAC: where the signature stands, how it is written (EncodingHex or EncodingBase64), and what stands before it.
	Header   string
	Encoding string
	Prefix   string

	// Secrets are all good at the same time, so that one can take the place of another. None for SchemeNone, else one at least.
	Secrets []Secret
	// ToleranceS is how far, in seconds, a signature's time may lie on either side of now, the bound inside. 0: DefaultToleranceS. Only for
	// schemes that carry a time: SchemeStandard and SchemeStripe.
	ToleranceS int64
}

// Secret is a secret and the name by which the log speaks of it.
type Secret struct {
	Label string
	Value string // without the file's line end; refused where empty or with white space around it
}

// Field says where a value is read: exactly one of these, or nothing, which leaves it unset.
type Field struct {
	Header    string // a request header, which must not stand twice
	Pointer   string // JSON pointer (RFC 6901) into the body, or into the item of a batch; into the JSON form of a CloudEvent
	Attribute string // of a CloudEvent: id, source, subject, type, time or an extension
	Constant  string
}

// Verification schemes.
const (
	SchemeStandard = "standard-webhooks" // webhook-id, webhook-timestamp, webhook-signature; secrets in base64, with or without whsec_
	SchemeStripe   = "stripe"            // Stripe-Signature: t=…,v1=…
	SchemeGitHub   = "github"            // X-Hub-Signature-256: sha256=…
	SchemeHMAC     = "hmac-sha256"       // a header of one's own
	SchemeBearer   = "bearer"            // Authorization: Bearer SECRET
	SchemeNone     = "none"              // whoever reaches the address may deliver
)

// Encodings of a SchemeHMAC signature.
const (
	EncodingHex    = "hex"
	EncodingBase64 = "base64"
)

// Formats of a body.
const (
	FormatJSON        = "json"        // read strictly; an array is a batch
	FormatCloudEvents = "cloudevents" // CloudEvents 1.0: binary, structured, batched
	FormatRaw         = "raw"         // any bytes, not looked into
)

// Forms of an amount.
const (
	AmountDecimal = "decimal" // text, or a JSON number by its literal
	AmountMinor   = "minor"   // a whole number of the currency's smallest units
)

// Forms of a named time.
const (
	TimeUnix    = "unix"    // whole Unix seconds
	TimeUnixMs  = "unix_ms" // whole Unix milliseconds
	TimeRFC3339 = "rfc3339"
)

// What becomes of an event whose key isn't registered.
const (
	RegistryRequired = "required" // it is rejected
	RegistryOpen     = "open"     // it registers its key
)

// What becomes of a repeat with other content than the accepted event's.
const (
	MismatchFlag   = "flag"   // a dedupe that says what differs
	MismatchReject = "reject" // rejected, and kept out of the books
)

// What becomes of an event whose body comes again under another key.
const (
	GuardOff    = "off"    // it is judged by its key alone
	GuardFlag   = "flag"   // it is accepted, told and counted
	GuardReject = "reject" // it is a mismatch
)

// Defaults and bounds of a Source.
const (
	DefaultGuardS     = 24 * 3600     // a redelivery that was overheard comes soon; two such windows of bodies are found by
	DefaultToleranceS = 300           // what Stripe and Standard Webhooks recommend
	DefaultMaxBody    = 1 << 20       // four times the largest frame; the large senders stay below it
	LargestBody       = 32 << 20      // GitHub sends up to 25 MB; beyond that a delivery isn't an event
	MaxItems          = 1_000         // of a batch: one commit holds them all
	MaxToleranceS     = 7 * 24 * 3600 // a signature older than a week proves nothing about now
	maxKeyParts       = 16            // more can't be a name together
	maxIgnored        = 64            // each is looked up in every body
	maxKept           = 64            // header names kept for the destination
)
