// Package ws carries frames over WebSocket with the subprotocol hapax.v1, natively and in the browser (GOOS=js).
//
// Invariant: one frame is one text message, and no frame larger than the limit is read.
package ws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"hapax/client/transport"
	"hapax/protocol"
)

// DefaultReadLimit bounds a frame from the server, in bytes: the rows of a delta and what they are wrapped in.
const DefaultReadLimit = 4 << 20

// Dialer dials WebSocket servers. The zero Dialer works.
type Dialer struct {
	Header    http.Header // sent with the request; ignored in the browser
	ReadLimit int64       // bytes; 0 means DefaultReadLimit
	Client    *http.Client
}

// Dial implements transport.Dialer. url may have the scheme ws, wss, http or https.
func (d Dialer) Dial(ctx context.Context, url string) (transport.Conn, error) {
	opts, cork, done := d.options()
	c, resp, err := websocket.Dial(ctx, url, opts)
	if err != nil {
		done()
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, fmt.Errorf("dial %s: the server answered %s", redact(url), resp.Status)
		}
		return nil, fmt.Errorf("dial %s: %w", redact(url), err)
	}
	if c.Subprotocol() != protocol.Subprotocol {
		err := c.Close(websocket.StatusProtocolError, "subprotocol "+protocol.Subprotocol+" wanted")
		done()
		return nil, errors.Join(fmt.Errorf("dial %s: the server doesn't speak %s", redact(url), protocol.Subprotocol), err)
	}
	limit := d.ReadLimit
	if limit == 0 {
		limit = DefaultReadLimit
	}
	c.SetReadLimit(limit)
	return &conn{ws: c, cork: cork, done: done}, nil
}

// redact leaves out what a query may hold.
func redact(url string) string {
	bare, _, _ := strings.Cut(url, "?")
	return bare
}

type conn struct {
	ws   *websocket.Conn
	cork func(bool) error
	done func()
}

func (c *conn) Read(ctx context.Context) ([]byte, error) {
	kind, b, err := c.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errors.New("a binary message, where frames are text")
	}
	return b, nil
}

// Write holds the bytes back until the last frame, so that a batch is one write to the network.
func (c *conn) Write(ctx context.Context, frames [][]byte) error {
	if len(frames) > 1 {
		if err := c.cork(true); err != nil {
			return err
		}
	}
	for _, f := range frames {
		if err := c.ws.Write(ctx, websocket.MessageText, f); err != nil {
			return err
		}
	}
	return c.cork(false)
}

func (c *conn) Close() error {
	err := c.ws.CloseNow()
	c.done()
	return err
}
