package config

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// Gateway takes deliveries from upstreams (docs/gateway.md). Its tenants come from the file alone.
type Gateway struct {
	Policy GatewayPolicy `koanf:"policy"`
	Anchor string        `koanf:"anchor" help:"file that the log's head is appended to every minute and at the end, also as --anchor; keep it on another disk; empty: none"`
	Proof  GatewayProof  `koanf:"proof"`
	Limits GatewayLimits `koanf:"limits"`

	Tenants map[string]Tenant `koanf:"-"`
}

// GatewayPolicy is the contract's policy. It is fixed when the store is made, so these defaults never change either.
type GatewayPolicy struct {
	BlockWindow time.Duration `koanf:"block_window" help:"replay window of keys and sources that name none, in whole seconds; fixed when the store is made"`
	ScopeStrict bool          `koanf:"scope_strict" help:"an event repeats another only where their scopes are the same; fixed when the store is made"`
	LRUMinHits  int64         `koanf:"lru_min_hits" help:"repeats that a key needs to be in the ledger; fixed when the store is made"`
}

// GatewayProof says how the server proves its log in the background.
type GatewayProof struct {
	Every time.Duration `koanf:"every" help:"between two full proofs of the gateway's log"`
	// A tenth of what a core proves leaves ingest its processor.
	Pace int `koanf:"pace" help:"records a second that a background proof reads at most"`
}

// GatewayLimits bound what upstreams can make the server hold.
type GatewayLimits struct {
	// Webhooks are KBs; the largest that are sent (GitHub) have up to 25 MB and want max_body of their own source.
	Body int64 `koanf:"body" help:"bytes of a delivery's body, where its source says nothing else; who can't sign is held to the largest of any source"`
	// One holds a goroutine and a body: 1,000 bodies of 1 MiB are 1 GB at the very worst.
	Requests int `koanf:"requests" help:"deliveries in work at once; others get unavailable"`
	// Twice what one source was measured to deliver on two cores: it is there to stop one that runs wild.
	Rate  float64 `koanf:"rate" help:"deliveries a second of one source, where it says nothing else"`
	Burst int     `koanf:"burst" help:"deliveries of one source at once before its rate counts"`
	// A sender whose secret is wrong tries some times a second; more of it is a flood.
	UnsignedRate  float64 `koanf:"unsigned_rate" help:"deliveries a second of one address (an IPv4, or the /64 of an IPv6 one) from which nothing signed came for an hour; loopback has no such bound"`
	UnsignedBurst int     `koanf:"unsigned_burst" help:"such deliveries of one address at once before that rate counts"`
	// A proof of what came since the last one is asked for by a page; as many rows fit one answer.
	Scan int `koanf:"scan" help:"records that one request of the management API reads at most; it answers what it found and where to go on"`
}

// Tenant is one tenant's part.
type Tenant struct {
	Sources map[string]Source `yaml:"sources"`
}

// Source is where a tenant's deliveries come from: how they are verified, read and judged (docs/spec/gateway.md, Sources). What it leaves
// out has the default of the package that does the work.
type Source struct {
	Verify  Verify   `yaml:"verify"`
	Format  string   `yaml:"format,omitempty"` // json, cloudevents or raw
	MaxBody int64    `yaml:"max_body,omitempty"`
	Rate    *Pace    `yaml:"rate,omitempty"`
	Ignore  []string `yaml:"ignore,omitempty"` // JSON pointers that repeats are not compared by

	Key      Parts  `yaml:"key"`
	Scope    From   `yaml:"scope,omitempty"`
	Amount   Amount `yaml:"amount"`
	Currency From   `yaml:"currency,omitempty"`
	State    From   `yaml:"state,omitempty"`
	SeenAt   SeenAt `yaml:"seen_at,omitempty"` // absent: when the record gets its number

	Window       time.Duration `yaml:"window,omitempty"`        // 0: the policy's
	Registry     string        `yaml:"registry"`                // open or required
	RegistryFile string        `yaml:"registry_file,omitempty"` // TSV, entered at start and reload
	KeyScope     string        `yaml:"key_scope,omitempty"`     // of keys that register themselves
	LRUCapacity  int64         `yaml:"lru_capacity,omitempty"`  // likewise
	OnMismatch   string        `yaml:"on_mismatch,omitempty"`   // flag or reject
	RejectStatus int           `yaml:"reject_status,omitempty"` // 422 or 200
	Guard        string        `yaml:"guard,omitempty"`         // off, flag or reject: of a body that comes again under another key
	GuardWindow  time.Duration `yaml:"guard_window,omitempty"`  // within which it is looked for; 0: the window's, or a day

	BodyRetention time.Duration `yaml:"body_retention,omitempty"` // 0: bodies are kept
	Forward       *Forward      `yaml:"forward,omitempty"`
}

// Pace bounds the deliveries of a source: so many a second, and so many at once before that counts.
type Pace struct {
	PerSecond float64 `yaml:"per_second"`
	Burst     int     `yaml:"burst"`
}

// Verify says how a delivery shows whose it is.
type Verify struct {
	Scheme    string        `yaml:"scheme"` // standard-webhooks, stripe, github, hmac-sha256, bearer or none
	Secrets   []Secret      `yaml:"secrets,omitempty"`
	Tolerance time.Duration `yaml:"tolerance,omitempty"` // where the scheme carries a time
	Header    string        `yaml:"header,omitempty"`    // hmac-sha256: where the signature stands
	Encoding  string        `yaml:"encoding,omitempty"`  // hmac-sha256: hex or base64
	Prefix    string        `yaml:"prefix,omitempty"`    // hmac-sha256: what stands before it, like "sha256="
}

// Secret is one of the secrets that are good now. The label is what logs name.
type Secret struct {
	Label string `yaml:"label"`
	File  string `yaml:"file"`
}

// From says where a value stands: in a header, at a JSON pointer, in an attribute of a CloudEvent, or as a constant.
type From struct {
	Header    string `yaml:"header,omitempty"`
	Pointer   string `yaml:"pointer,omitempty"`
	Attribute string `yaml:"attribute,omitempty"`
	Const     string `yaml:"const,omitempty"`
}

// Parts are the parts of a key. One alone may be written without a list.
type Parts []From

// Amount says where an amount stands, and how it is written.
type Amount struct {
	From      `yaml:",inline"`
	Form      string         `yaml:"form,omitempty"`      // decimal or minor (integer minor units)
	Exponents map[string]int `yaml:"exponents,omitempty"` // of currencies, over those of ISO 4217
}

// SeenAt says where an event names its time.
type SeenAt struct {
	From `yaml:",inline"`
	Form string `yaml:"form,omitempty"` // unix, unix_ms or rfc3339
	// MaxBehind is how far before the server's clock it may lie, in whole seconds; 0: ten years.
	MaxBehind time.Duration `yaml:"max_behind,omitempty"`
}

// Forward is the destination of accepted events.
type Forward struct {
	URL         string        `yaml:"url"`
	SecretFiles []string      `yaml:"secret_files"`      // each signs by Standard Webhooks, so that the destination can change over
	Headers     []string      `yaml:"headers,omitempty"` // received headers that are passed on
	Extra       []ExtraHeader `yaml:"extra_headers,omitempty"`
	Timeout     time.Duration `yaml:"timeout,omitempty"`
	InFlight    int           `yaml:"in_flight,omitempty"`
	MaxTries    int           `yaml:"max_tries,omitempty"` // 0: as many as fit into max_age
	MaxAge      time.Duration `yaml:"max_age,omitempty"`
	Allow       []string      `yaml:"allow,omitempty"` // CIDRs of addresses that are allowed though they aren't public
}

// ExtraHeader is a header whose value stands in a file.
type ExtraHeader struct {
	Name string `yaml:"name"`
	File string `yaml:"file"`
}

// Configured tells whether any source is named.
func (g *Gateway) Configured() bool {
	for _, t := range g.Tenants {
		if len(t.Sources) > 0 {
			return true
		}
	}
	return false
}

// UnmarshalYAML takes one part without a list too.
func (p *Parts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		*p = make(Parts, 1)
		return n.Decode(&(*p)[0])
	}
	type plain Parts
	return n.Decode((*plain)(p))
}
