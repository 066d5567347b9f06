package serve

import (
	"hapax/internal/config"
	"hapax/internal/forward"
)

// ownDescriptors is what a server holds beside store and connections of clients: listeners, log, lock, a checkpoint under way, operators.
const ownDescriptors = 64 + adminConnections + socketConnections

// outboundDescriptors is what a gateway's forwarder holds besides: a connection for each request under way.
const outboundDescriptors = forward.DefaultPool

// storeDescriptors is how many tables the store holds open where there are enough; see pebble.Options.OpenFiles.
const storeDescriptors = 1000

// descriptors is how a process's file descriptors are shared out, so that strangers who open connections can't take those
// that the store needs: a store that can't open a file is a store that failed.
type descriptors struct {
	store    int // tables held open
	sockets  int // WebSocket connections
	requests int // connections that are no WebSocket, or not yet
}

// shareDescriptors divides limit (0: unknown, no bound). Each part is at least 1 and never more than configured.
func shareDescriptors(limit int, c *config.Config) descriptors {
	l, own := c.Limits, ownDescriptors
	if c.Gateway.Configured() {
		own += outboundDescriptors
	}
	d := descriptors{store: storeDescriptors, sockets: l.Connections, requests: l.Connections + l.Requests}
	if limit <= 0 || d.store+d.sockets+d.requests+own <= limit {
		return d
	}
	d.store = max(1, min(d.store, limit/4))
	left := max(2, limit-d.store-own)
	d.sockets = max(1, min(d.sockets, left*3/4))
	d.requests = max(1, min(d.requests, left-d.sockets))
	return d
}
