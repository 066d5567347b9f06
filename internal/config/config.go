package config

import "time"

// Config is all that a server can be told. The tags: koanf is the key, help the line in --help, secret is masked when printed.
type Config struct {
	Data    string   `koanf:"data" help:"folder of the store, the dev key and the admin socket"`
	Listen  string   `koanf:"listen" help:"address for clients, host:port"`
	Store   string   `koanf:"store" help:"what keeps the rows: pebble (on disk) or memory (nothing survives a restart)"`
	Dev     bool     `koanf:"dev" help:"sign-in by a local key in the data folder; loopback only; the default where no auth is configured"`
	Origins []string `koanf:"origins" help:"origins whose pages may connect, like https://chat.example; the page's own host is always allowed"`

	Proxies   Proxies   `koanf:"proxies"`
	TLS       TLS       `koanf:"tls"`
	Auth      Auth      `koanf:"auth"`
	Admin     Admin     `koanf:"admin"`
	Log       Log       `koanf:"log"`
	Retention Retention `koanf:"retention"`
	Rate      Rate      `koanf:"rate"`
	Limits    Limits    `koanf:"limits"`
	Timeouts  Timeouts  `koanf:"timeouts"`
	Drain     Drain     `koanf:"drain"`
	Gateway   Gateway   `koanf:"gateway"`
}

// Proxies are the reverse proxies in front. Only theirs is the word for whom a request comes.
type Proxies struct {
	Trusted []string `koanf:"trusted" help:"addresses or networks (like 10.0.0.0/8) of proxies in front: their header tells for whom they speak, and they are bounded in sum only"`
	Header  string   `koanf:"header" help:"the header by which they tell: X-Forwarded-For or Forwarded; they must overwrite or append to what a client sent"`
}

// TLS serves clients over TLS from files; without them a proxy in front does it.
type TLS struct {
	Cert string `koanf:"cert" help:"PEM file of the certificate chain"`
	Key  string `koanf:"key" help:"PEM file of the private key"`
}

// Auth says whose tokens are believed.
type Auth struct {
	Secret     string   `koanf:"secret" secret:"true" help:"shared key for HS256, 32 bytes at least; as a flag @FILE, which is read"`
	KeyFile    string   `koanf:"key_file" help:"file that holds the shared key for HS256"`
	JWKSFile   string   `koanf:"jwks_file" help:"file with a JSON Web Key Set"`
	JWKSURL    string   `koanf:"jwks_url" secret:"url" help:"address of a JSON Web Key Set, fetched again as it rotates"`
	Issuer     string   `koanf:"issuer" help:"the iss that tokens must carry"`
	Audience   string   `koanf:"audience" help:"the aud that tokens must carry"`
	Algorithms []string `koanf:"algorithms" help:"signature algorithms that are accepted"`
}

// Configured tells whether any source of keys is named. Without one the server signs for itself (dev).
func (a Auth) Configured() bool {
	return a.Secret != "" || a.KeyFile != "" || a.JWKSFile != "" || a.JWKSURL != ""
}

// Admin is the listener for operators.
type Admin struct {
	Listen    string `koanf:"listen" help:"address for /livez, /readyz, /metrics; empty: none"`
	Pprof     bool   `koanf:"pprof" help:"serve /debug/pprof on the admin address, which must be of this machine alone"`
	TokenFile string `koanf:"token_file" help:"file with the bearer token, 16 bytes at least, that every request to the admin address must carry"`
	ClientCA  string `koanf:"client_ca" help:"PEM file of the authorities one of which must have signed the client's certificate; the admin address then speaks TLS with the certificate under tls"`
}

// Log says what is told of the server's work. Bodies of messages are never logged.
type Log struct {
	Level  string `koanf:"level" help:"debug, info, warn or error"`
	Format string `koanf:"format" help:"json or text"`
}

// Retention bounds what is kept. Zero is without bound.
type Retention struct {
	Results     time.Duration `koanf:"results" help:"how long a key is promised to be recognised"`
	ResultRows  int64         `koanf:"result_rows" help:"keep at most the last so many results of a room; 0: no such bound"`
	JournalAge  time.Duration `koanf:"journal_age" help:"age messages out of the journal; 0: keep all"`
	JournalRows int64         `koanf:"journal_rows" help:"keep at most the last so many messages of a room; 0: all"`
	Every       time.Duration `koanf:"every" help:"how often to drop what is no longer kept"`
}

// Rate bounds what one actor may send. A repeat of a stored message costs nothing of it.
// Half of what two cores store is the default: no actor takes the server for itself, and no person notices.
type Rate struct {
	Sends float64 `koanf:"sends" help:"new messages a second of one actor"`
	Burst int     `koanf:"burst" help:"messages that an actor may send at once before the rate counts"`
	// A client that comes back asks once for each of its rooms, 1,000 at most, and for a few pages of those that moved.
	Pages      float64 `koanf:"pages" help:"pages, deltas and snapshots a second of one actor"`
	PagesBurst int     `koanf:"pages_burst" help:"of them at once before that rate counts"`
}

// Limits bound memory and work. Sizes are bytes.
type Limits struct {
	// One connection costs up to 20 KB idle, and a file descriptor: 20,000 are 400 MB.
	Connections int `koanf:"connections" help:"WebSocket connections at once"`
	// A household or a small office behind one address comes to some dozens; a page opens six connections before its first token.
	AddressConnections int `koanf:"address_connections" help:"connections of one address (an IPv4, or the /64 of an IPv6 one) on which nobody has signed in; loopback and proxies.trusted have no such bound"`
	// A person has a few devices with a few tabs each; a service that sends for many wants one connection, or an actor each.
	ActorConnections int `koanf:"actor_connections" help:"connections of one actor"`
	// Four times what one connection may: more rooms than that are a service's, which can have an actor for each of its parts.
	ActorSubscriptions int `koanf:"actor_subscriptions" help:"rooms that all connections of one actor may be subscribed to"`
	// A herd that comes back after a restart would spend all processors on tokens (docs/spec/cases.md, R25).
	ConnectionsPerSecond int `koanf:"connections_per_second" help:"new WebSocket connections a second; others are told when to come back"`
	// A process that opens a thousand readers at its start is no herd; ten seconds of the rate is a fair first second.
	ConnectionsBurst int `koanf:"connections_burst" help:"new WebSocket connections at once before that rate counts"`
	// A tenth of the rate of all, so that no single address turns the others away.
	AddressConnectionsPerSecond int `koanf:"address_connections_per_second" help:"new WebSocket connections a second of one address; as many at once as address_connections"`
	// Each subscribed room is an entry here and in the engine's feed; a person's client holds tens.
	Subscriptions int `koanf:"subscriptions" help:"rooms that one connection may read live"`
	// Each is an entry of its name here, 200 bytes, and nothing in the engine; an SDK lets the least recently used go.
	SendRooms int `koanf:"send_rooms" help:"rooms that one connection may be subscribed to for sending only"`
	// An SDK has 64 in flight; four times that leaves room for others. At the limit the connection isn't read on.
	InFlight int `koanf:"in_flight" help:"sends of one connection that may wait for their answer; then it is not read on"`
	// Two of the longest deltas with every byte escaped; a reader that far behind catches up by its cursor for less.
	Outbound int `koanf:"outbound" help:"bytes that may wait for a slow reader before it is cut off"`
	// Four times the most of one connection, so that it takes several actors who don't read, each held to a quarter, before others notice.
	OutboundTotal int64 `koanf:"outbound_total" help:"bytes of answers and rows that may wait for all readers together; a quarter of it for one actor"`
	// Eight of the largest bodies of the management API; with the garbage that goes with them it stays below 200 MB.
	Bodies int64 `koanf:"bodies" help:"bytes of HTTP bodies in memory, by what has arrived; a quarter of it for one address or actor"`
	// Each is up to 1 MiB of rows, once read and once encoded; more at once only wait for the same processors.
	Pages int `koanf:"pages" help:"pages, deltas and snapshots that are made at once; others wait"`
	// Tokens are at most a few KB; more is an attack on the parser.
	Header int `koanf:"header" help:"bytes of an HTTP request's head"`
	// Each holds a goroutine; what it has in memory is bounded by bodies and outbound_total.
	Requests int `koanf:"requests" help:"HTTP requests in work at once, their token good and their body read; others get unavailable"`
	// A quarter of all.
	ActorRequests int `koanf:"actor_requests" help:"of them, of one actor; others get rate_limited"`
	// A store that writes until the disk is full can't even be opened again. Below what its next log and tables need (five times a log, and
	// a log is a 64th of the disk, 64 MB at most) the mark can't lie.
	DiskFree int64 `koanf:"disk_free" help:"bytes free on the disk below which sends and deliveries get unavailable; 0, or too few: what the store needs to go on"`
}

// Timeouts bound how long anybody may keep the server waiting.
type Timeouts struct {
	Hello  time.Duration `koanf:"hello" help:"from the connection to its first accepted hello"`
	Header time.Duration `koanf:"header" help:"for the head of an HTTP request (slowloris)"`
	Body   time.Duration `koanf:"body" help:"for a whole HTTP request"`
	Write  time.Duration `koanf:"write" help:"for one write to a client before it counts as a slow reader"`
	// A browser opens a connection ahead of its need and uses it soon, or opens another.
	StrangerIdle time.Duration `koanf:"stranger_idle" help:"that a connection may be idle before its first request with a good token or signature"`
	Idle         time.Duration `koanf:"idle" help:"without any frame from a client (they ping every 25 s) before it counts as gone"`
	Send         time.Duration `koanf:"send" help:"an HTTP send waits so long for its answer, then in_progress"`
}

// Drain is how the server stops.
type Drain struct {
	// A balancer takes a server out once some of its probes failed; one that isn't asked needs no notice.
	Notice time.Duration `koanf:"notice" help:"that the server is unready but serves on, so that a balancer sees it, before clients are told; 5s behind one"`
	Spread time.Duration `koanf:"spread" help:"clients are told to come back spread over this time"`
	Wait   time.Duration `koanf:"wait" help:"for commits and last writes before connections are closed"`
	Grace  time.Duration `koanf:"grace" help:"between a failed sync and the end of the process, so that everyone hears unavailable"`
}

// Default is a server on this machine, for its user alone.
func Default() Config {
	return Config{
		Data: "data", Listen: "127.0.0.1:7480", Store: "pebble", Origins: []string{},
		Proxies:   Proxies{Trusted: []string{}, Header: "X-Forwarded-For"},
		Auth:      Auth{Algorithms: []string{"HS256", "RS256", "ES256", "EdDSA"}},
		Admin:     Admin{Listen: "127.0.0.1:7481"},
		Log:       Log{Level: "info", Format: "json"},
		Retention: Retention{Results: 30 * 24 * time.Hour, Every: time.Minute},
		Rate:      Rate{Sends: 10_000, Burst: 20_000, Pages: 200, PagesBurst: 4000},
		Limits: Limits{
			Connections: 20_000, AddressConnections: 256, ActorConnections: 256, ActorSubscriptions: 4000,
			ConnectionsPerSecond: 200, ConnectionsBurst: 1000, AddressConnectionsPerSecond: 20, Subscriptions: 1000, SendRooms: 1000, InFlight: 256,
			Outbound: 16 << 20, OutboundTotal: 64 << 20, Bodies: 64 << 20, Pages: 12, Header: 16 << 10, Requests: 4000, ActorRequests: 1000,
		},
		Timeouts: Timeouts{
			Hello: 10 * time.Second, Header: 5 * time.Second, Body: 30 * time.Second, Write: 10 * time.Second,
			StrangerIdle: 10 * time.Second, Idle: 90 * time.Second, Send: 10 * time.Second,
		},
		Drain: Drain{Spread: 10 * time.Second, Wait: 10 * time.Second, Grace: 2 * time.Second},
		Gateway: Gateway{
			Policy: GatewayPolicy{BlockWindow: 72 * time.Hour, LRUMinHits: 2},
			Proof:  GatewayProof{Every: 6 * time.Hour, Pace: 50_000},
			Limits: GatewayLimits{Body: 1 << 20, Requests: 1000, Rate: 20_000, Burst: 40_000, UnsignedRate: 50, UnsignedBurst: 500, Scan: 10_000},
		},
	}
}
