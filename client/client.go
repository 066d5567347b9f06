package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// Client is an open client. All methods may be called from several goroutines.
type Client struct {
	opts   Options
	store  store.Store
	issuer *ids.Issuer
	lease  chan struct{} // asks for a further lease

	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	done   chan struct{} // closed when the loop has ended
	shut   chan struct{} // closed when the store is closed, too
	closed sync.Once
	ended  error // of closing the store

	box     mailbox
	tickets atomic.Int64
	hub     hub
	waits   waits
	shared  shared
}

// shared is what the loop tells the app's goroutines.
type shared struct {
	mu       sync.Mutex
	state    session.ConnectionChanged
	drains   bool // this client drains the store
	limits   protocol.Limits
	offset   int64 // server time − monotonic time
	welcomed bool
	broken   error
}

// Open opens a client: it reserves ids, takes over the store if no other process drains it, and starts to connect
// unless Options.Offline. It doesn't wait for the connection. Where it fails the store is closed.
func Open(ctx context.Context, o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		if o.Store != nil {
			err = errors.Join(err, o.Store.Close())
		}
		return nil, err
	}
	c := &Client{
		opts: o, store: o.Store, issuer: ids.NewIssuer(), lease: make(chan struct{}, 1), done: make(chan struct{}),
		shut: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.box.init()
	c.hub.init()
	c.waits.init()
	c.shared.state.State = session.Offline
	c.shared.limits = protocol.DefaultLimits
	d := newDriver(c)
	if err = c.reserve(ctx); err == nil {
		err = d.takeOver(ctx)
	}
	if err != nil {
		c.stop()
		return nil, errors.Join(fmt.Errorf("client: open: %w", err), c.store.Close())
	}
	d.connect = !o.Offline
	go c.renewLeases()
	go d.loop(d.wishes())
	return c, nil
}

// reserve takes a lease of ids from the store.
func (c *Client) reserve(ctx context.Context) error {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	jump := binary.BigEndian.Uint64(b[:]) >> (64 - ids.JumpBits)
	l, err := c.store.Reserve(ctx, c.store.Device(), c.opts.Lease, jump)
	if err != nil {
		return fmt.Errorf("reserve ids: %w", err)
	}
	return c.issuer.AddLease(l)
}

// renewLeases reserves ahead, in the background, when NextMessageID finds it time.
func (c *Client) renewLeases() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.lease:
			if !c.issuer.NeedsLease() {
				continue
			}
			if err := c.reserve(c.ctx); err != nil && c.ctx.Err() == nil {
				c.hub.emit(session.Failed{Err: err})
			}
		}
	}
}

// NextMessageID issues an id for Send. It needs neither disk nor network. It returns 0, the invalid id, where none
// can be had: 256 are issued and neither used nor released, the next lease isn't reserved yet, or the client is closed.
func (c *Client) NextMessageID() ID {
	if c.ctx.Err() != nil {
		return ID{}
	}
	id := c.issuer.Next()
	if c.issuer.NeedsLease() {
		select {
		case c.lease <- struct{}{}:
		default:
		}
	}
	return id
}

// Release gives up an issued id that will not be sent, so that it no longer counts as unused.
func (c *Client) Release(id ID) error { return c.issuer.Release(id) }

// Device returns the 128 random bits made with the store: another one means another store, in which no position of the first holds.
func (c *Client) Device() ids.Device { return c.store.Device() }

// closeWithin bounds Close, whatever the store does.
const closeWithin = 900 * time.Millisecond

// Close ends the client within a second, whatever it is doing, and closes the store. What Send accepted stays there. ErrClosing: the
// store has not answered yet; it is closed once it does.
func (c *Client) Close() error {
	c.closed.Do(func() {
		c.stop()
		go c.shutDown()
	})
	limit := time.NewTimer(closeWithin)
	defer limit.Stop()
	select {
	case <-c.shut:
		return c.ended
	case <-limit.C:
		return ErrClosing
	}
}

// shutDown closes the store when the loop has ended; before, where the loop waits for the store.
func (c *Client) shutDown() {
	defer close(c.shut)
	limit := time.NewTimer(hangUpWithin + 100*time.Millisecond)
	defer limit.Stop()
	select {
	case <-c.done:
	case <-limit.C:
	}
	c.ended = c.store.Close()
	<-c.done
}

// ticket numbers a request to the loop.
func (c *Client) ticket() int64 { return c.tickets.Add(1) }

// State returns the connection's state, its cause where there is one, and the ms to the next try.
func (c *Client) State() session.ConnectionChanged {
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	return c.shared.state
}

// Drains reports whether this client sends what the store holds. Another process that does is taken over when it ends.
func (c *Client) Drains() bool {
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	return c.shared.drains
}

// Limits returns what the server lets through, the protocol's own limits before the first welcome.
func (c *Client) Limits() protocol.Limits {
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	return c.shared.limits
}

// Stats returns what this client has counted since it took over the store.
// They are zero while another process drains the store, and after Close.
func (c *Client) Stats() Stats {
	i := inspect{done: make(chan Stats, 1)}
	if !c.box.put(i) {
		return Stats{}
	}
	return <-i.done
}

// serverTime returns the server's time, or the wall clock's before the first welcome.
func (c *Client) serverTime() int64 {
	now := c.opts.Now()
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	if c.shared.welcomed {
		return max(1, c.shared.offset+now.Mono)
	}
	return max(1, now.Wall)
}
