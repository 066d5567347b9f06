//go:build !js

package ws

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"hapax/protocol"
)

// options makes a transport for one connection, whose socket can be corked.
func (d Dialer) options() (*websocket.DialOptions, func(bool) error, func()) {
	opts := &websocket.DialOptions{
		HTTPClient: d.Client, HTTPHeader: d.Header, Subprotocols: []string{protocol.Subprotocol},
		CompressionMode: websocket.CompressionDisabled,
	}
	if d.Client != nil {
		return opts, func(bool) error { return nil }, func() {}
	}
	var k corked
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ForceAttemptHTTP2 = false
	t.TLSNextProto = nil
	t.DisableKeepAlives = true
	if d.Roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: d.Roots}
	}
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return k.wrap(c), nil
	}
	opts.HTTPClient = &http.Client{Transport: t}
	return opts, k.set, t.CloseIdleConnections
}

// maxCorked is how many bytes a cork holds back.
const maxCorked = 256 << 10

// corked is a socket whose small writes can be held back and joined.
type corked struct {
	net.Conn
	mu   sync.Mutex
	hold bool
	buf  []byte
}

func (k *corked) wrap(c net.Conn) net.Conn {
	k.Conn = c
	return k
}

func (k *corked) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.hold {
		return k.Conn.Write(p)
	}
	k.buf = append(k.buf, p...)
	if len(k.buf) >= maxCorked {
		return len(p), k.flush()
	}
	return len(p), nil
}

// set corks or uncorks. Uncorking writes what was held.
func (k *corked) set(hold bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hold = hold
	if hold {
		return nil
	}
	return k.flush()
}

func (k *corked) flush() error {
	if len(k.buf) == 0 {
		return nil
	}
	_, err := k.Conn.Write(k.buf)
	k.buf = k.buf[:0]
	return err
}
