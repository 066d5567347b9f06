//go:build js

package ws

import (
	"github.com/coder/websocket"

	"hapax/protocol"
)

// options: the browser writes by itself, and batches as it likes.
func (d Dialer) options() (*websocket.DialOptions, func(bool) error, func()) {
	return &websocket.DialOptions{Subprotocols: []string{protocol.Subprotocol}}, func(bool) error { return nil }, func() {}
}
