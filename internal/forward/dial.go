package forward

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// errUnanswered is a dial of which the allowed addresses failed, where others were refused.
var errUnanswered = errors.New("forward: no address that may be dialled answers")

// dialer opens connections to addresses that may be dialled. The address is judged where the socket is about to connect, after all
// resolving: no answer of a name server, nor a later one, leads around it.
type dialer struct {
	allow    []netip.Prefix
	resolver *net.Resolver // nil: the system's
	life     context.Context
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if oddAddress(host) {
		return nil, errAddress
	}
	if err := d.life.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	var refused, tried atomic.Int32 // several addresses of a name are dialled at once
	n := net.Dialer{
		Timeout: dialTimeout, Resolver: d.resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !mayDial(to.Addr(), d.allow) {
				refused.Add(1)
				return errAddress
			}
			tried.Add(1)
			return nil
		},
	}
	conn, err := n.DialContext(ctx, network, address)
	switch {
	case err == nil:
		return &counted{Conn: conn}, nil
	case refused.Load() == 0:
		return nil, err
	case tried.Load() == 0:
		return nil, errAddress
	}
	return nil, errUnanswered
}

// counted is a connection that knows whether anything was written to it.
type counted struct {
	net.Conn
	written atomic.Int64 // calls of Write
}

func (c *counted) Write(p []byte) (int, error) {
	c.written.Add(1)
	return c.Conn.Write(p)
}

// writes counts what was written to a connection, also under TLS; −1 where it can't be told.
func writes(conn net.Conn) int64 {
	if under, is := conn.(interface{ NetConn() net.Conn }); is {
		conn = under.NetConn()
	}
	if c, is := conn.(*counted); is {
		return c.written.Load()
	}
	return -1
}
