package forward

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"hapax/internal/gateway"
)

// target is a destination ready for requests. Each has connections of its own: what one destination may dial must not serve
// another one.
type target struct {
	spec    Destination
	url     *url.URL
	keys    [][]byte // sign, in the order of the configuration
	headers []gateway.Header
	set     Destination // as it was set
	trips   http.RoundTripper
	hangUp  func() // closes kept connections
}

// The bounds of a target's connections.
const (
	dialTimeout  = 10 * time.Second
	idleTimeout  = 4 * time.Second // shorter than the 5 s after which common servers close: a request on a closing connection costs a try
	maxHeader    = 64 << 10        // bytes of an answer's header
	maxDrain     = 64 << 10        // bytes of an answer's body that are read, so that its connection can go on
	maxDrainTime = time.Second     // and for how long
	h2Stream     = 128 << 10       // bytes that an HTTP/2 destination may send unread: on a stream
	h2Connection = 1 << 20         // and on a connection
)

// newTarget takes a destination that Check found right. Its dials end with life.
func newTarget(d Destination, resolver *net.Resolver, life context.Context) *target {
	t := &target{spec: d, set: d, headers: d.Extra}
	t.url, _ = parseURL(d.URL)
	for _, s := range d.Secrets {
		key, _ := parseSecret(s)
		t.keys = append(t.keys, key)
	}
	if t.spec.Timeout == 0 {
		t.spec.Timeout = DefaultTimeout
	}
	if t.spec.InFlight == 0 {
		t.spec.InFlight = DefaultInFlight
	}
	if t.spec.MaxAge == 0 {
		t.spec.MaxAge = DefaultMaxAge
	}
	door := &dialer{allow: d.Allow, resolver: resolver, life: life}
	transport := &http.Transport{
		Proxy:       nil, // whatever the environment says: a proxy would dial unseen
		DialContext: door.dial, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
		MaxIdleConns: t.spec.InFlight, MaxIdleConnsPerHost: t.spec.InFlight, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: h2Stream, MaxReceiveBufferPerConnection: h2Connection},
	}
	t.trips, t.hangUp = transport, transport.CloseIdleConnections
	return t
}
