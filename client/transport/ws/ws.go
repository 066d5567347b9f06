// Package ws carries frames over WebSocket with the subprotocol hapax.v1, natively and in the browser (GOOS=js).
//
// Invariant: one frame is one text message, and no frame larger than the limit is read.
package ws

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"hapax/client/transport"
	"hapax/protocol"
)

// Dialer dials WebSocket servers. The zero Dialer works.
type Dialer struct {
	Header    http.Header    // sent with the request; ignored in the browser
	Roots     *x509.CertPool // who may sign the server's certificate, in the place of those the system trusts; ignored with Client and in the browser
	ReadLimit int64          // bytes that a frame may have, whatever the server announces; 0 means protocol.MaxServerFrame
	Client    *http.Client
}

// Dial implements transport.Dialer. url may have the scheme ws, wss, http or https. What it fails with is a *transport.DialError.
func (d Dialer) Dial(ctx context.Context, url string) (transport.Conn, error) {
	if err := d.Check(url); err != nil {
		return nil, err
	}
	opts, cork, done := d.options()
	c, resp, err := websocket.Dial(ctx, url, opts)
	if err != nil {
		done()
		return nil, dialFailed(url, resp, err)
	}
	if c.Subprotocol() != protocol.Subprotocol {
		_ = c.Close(websocket.StatusProtocolError, "subprotocol "+protocol.Subprotocol+" wanted")
		done()
		return nil, &transport.DialError{
			URL: redact(url), Cause: transport.Subprotocol, Err: errors.New("the server doesn't speak " + protocol.Subprotocol),
			Advice: "is this a Hapax server, and one of this version?",
		}
	}
	most := d.ReadLimit
	if most == 0 {
		most = protocol.MaxServerFrame
	}
	opened := &conn{ws: c, cork: cork, done: done, most: most}
	opened.SetReadLimit(protocol.WelcomeFrame)
	return opened, nil
}

// answerHead is how many bytes of a refusal are read: it only tells a TLS port apart.
const answerHead = 512

// dialFailed tells a refusal from a dial that led to no answer.
func dialFailed(url string, resp *http.Response, err error) error {
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return unopened(url, err)
	}
	var head []byte
	if resp.Body != nil { // the library keeps the first KiB of it
		head, _ = io.ReadAll(io.LimitReader(resp.Body, answerHead))
	}
	if plainRefused(resp, string(head)) {
		return &transport.DialError{
			URL: redact(url), Cause: transport.TLSWanted, Status: resp.StatusCode, Err: fmt.Errorf("the server answered %s", resp.Status),
			Advice: "the port speaks TLS; is it wss:// or https://?",
		}
	}
	return refused(url, resp)
}

// redact leaves out what may be secret: a query, and a name with its password.
func redact(url string) string {
	bare, _, _ := strings.Cut(url, "?")
	scheme, rest, found := strings.Cut(bare, "://")
	if !found {
		return bare
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return strings.TrimSuffix(scheme+"://"+host[at+1:]+"/"+path, "/")
	}
	return bare
}

type conn struct {
	ws   *websocket.Conn
	cork func(bool) error
	done func()
	most int64
}

// SetReadLimit implements transport.Limited.
func (c *conn) SetReadLimit(bytes int64) { c.ws.SetReadLimit(min(bytes, c.most)) }

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
