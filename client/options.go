package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/transport"
	"hapax/client/transport/ws"
)

// The client's words for what its store keeps.
type (
	ID    = ids.ID
	Key   = store.Key
	Row   = store.Row
	Body  = store.Body
	State = session.State
	Stats = session.Stats
	// Message is a row of a room with its position in the store's feed.
	Message = store.Message
	// Moment is a reading of the clock: Unix time that may jump, and a time that only rises, both in ms.
	Moment = session.Now
)

// Options of a client. URL, Token and Store are required.
type Options struct {
	// URL of the server's WebSocket, as ws://host:port/v1/ws. One that can't be dialled is refused by Open, with a *transport.DialError.
	URL string
	// Token gives a token to sign in with. It is asked before each connection and before the present token expires, so that it may
	// fetch a new one. A token that the server refused is offered again by itself, and another asked for at most every five minutes,
	// or by NewToken. ErrSignedOut ends the asking until NewToken or Connect. It is never called while a call of it is out, and has
	// 20 s (Session.TokenWithin) before the app is told that it is overdue; its late answer is taken. Its context ends with the client.
	Token func(ctx context.Context) (string, error)
	// Store keeps outbox, rooms and marks: package client/store/sqlite or client/store/memory. The client owns it from
	// Open on, also where Open fails, and closes it.
	Store store.Store

	// Name tells the server's logs which program this is.
	Name string
	// Offline opens the client without connecting; Connect does.
	Offline bool
	// Transport carries frames; WebSocket by default.
	Transport transport.Dialer
	// Session bounds attempts, delays and what is in flight; zero fields are the defaults of docs/spec/client.md.
	Session session.Config
	// Lease is how many ids are reserved at once; 2^40 by default.
	Lease uint64
	// Now reads the clock; the machine's by default.
	Now func() Moment
	// Poll is how often the store is looked at for what other processes did, and for its lock; 250 ms by default.
	Poll time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil {
		return o, errors.New("client: no store")
	}
	if o.Token == nil {
		return o, errors.New("client: no token function")
	}
	if o.Transport == nil {
		o.Transport = ws.Dialer{}
	}
	if c, ok := o.Transport.(transport.Checker); ok {
		if err := c.Check(o.URL); err != nil {
			return o, fmt.Errorf("client: %w", err)
		}
	}
	if o.Lease == 0 {
		o.Lease = ids.DefaultLease
	}
	if o.Poll <= 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.Now == nil {
		start := time.Now()
		o.Now = func() Moment {
			now := time.Now()
			return Moment{Wall: now.UnixMilli(), Mono: 1 + now.Sub(start).Milliseconds()}
		}
	}
	if o.Session.Rand == nil {
		o.Session.Rand = rand.Float64
	}
	if o.Session.Client == "" {
		o.Session.Client = o.Name
	}
	return o, nil
}
