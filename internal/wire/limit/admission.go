package limit

import (
	"math"
	"net/http"
	"time"
)

// Limits are all that admission is bounded by; zero is without bound. Package config has the defaults and their reasons.
type Limits struct {
	Connections ConnLimits

	Requests      int           // HTTP requests in work at once: authorised, their bodies read, their answers not yet made
	ActorWork     int           // of them, of one actor
	BodyBytes     int64         // of HTTP bodies in memory
	BodyTime      time.Duration // for a whole body
	OutboundBytes int64         // bytes of answers and rows that wait for their readers
	Pages         int           // pages, deltas and snapshots that are made at once
	PageRate      float64       // of them a second, of one actor
	PageBurst     int
	SocketRate    float64 // new WebSockets a second, of one address
	SocketBurst   int
	ActorRooms    int // rooms that all connections of one actor are subscribed to
}

// Admission is what a server's listeners and transports share of limits.
type Admission struct {
	Limits
	Proxies   *Proxies
	Gate      *Gate
	Tell      *Teller
	Bodies    *Budget
	Outbound  *Budget
	Work      *Slots // HTTP requests
	Strangers *Slots // HTTP requests that nobody has authorised yet, for those behind a proxy
	Rooms     *Slots // subscriptions
	PageRates *Buckets[string]
	Sockets   AddressBuckets

	Pages *Turns // pages that are made
}

// knownActors bounds the actors whose rates are remembered: 16,384 buckets are some 4 MB.
const knownActors = 16 << 10

// New returns an admission that has let nobody in. p and t may be nil: no proxy is named, nothing is told.
func New(l Limits, p *Proxies, t *Teller) *Admission {
	for _, n := range []*int{
		&l.Connections.Total, &l.Connections.PerAddress, &l.Connections.PerActor, &l.Requests, &l.ActorWork, &l.ActorRooms,
	} {
		if *n == 0 {
			*n = math.MaxInt
		}
	}
	for _, n := range []*int64{&l.BodyBytes, &l.OutboundBytes} {
		if *n == 0 {
			*n = math.MaxInt64 / 2 // sums of it don't overflow
		}
	}
	if p == nil {
		p = NewProxies(nil, XForwardedFor, nil)
	}
	a := &Admission{
		Limits: l, Proxies: p, Tell: t, Gate: NewGate(l.Connections, p, t), Bodies: NewBudget(l.BodyBytes), Outbound: NewBudget(l.OutboundBytes),
		Work: NewSlots(l.Requests, l.ActorWork), Strangers: NewSlots(math.MaxInt, l.Connections.PerAddress),
		Rooms: NewSlots(math.MaxInt, l.ActorRooms), PageRates: NewBuckets[string](l.PageRate, l.PageBurst, knownActors),
		Sockets: NewAddressBuckets(l.SocketRate, l.SocketBurst), Pages: NewTurns(l.Pages),
	}
	return a
}

// Body reads a request's body of at most most bytes, charged to its holder: the client, or the actor once it is known. release gives the
// memory back and must be called, also after an error.
func (a *Admission) Body(w http.ResponseWriter, r *http.Request, most int64, h Holder) (body []byte, release func(), err error) {
	account := a.Bodies.Open(h)
	var until time.Time
	if a.BodyTime > 0 {
		until = time.Now().Add(a.BodyTime)
	}
	body, give, err := ReadBody(w, r, most, account, until)
	if err == ErrBodySlow {
		a.Tell.Tell("body_rate", "a request was given up", a.Proxies.Of(r), "error", err)
	}
	return body, func() { give(); account.Close() }, err
}
