package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/gobwas/ws"

	"hapax/protocol"
)

// client is a raw connection: it frames and counts, and decodes only what a measurement needs. One goroutine uses it.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // frames that wait for flush
	buf  []byte
	head [ws.MaxHeaderSize]byte
}

// mask is what RFC 6455 asks of a client against caching proxies. There is none on loopback, so one for all is enough.
var mask = [4]byte{0x68, 0x61, 0x70, 0x78}

// dial connects, says hello and takes the welcome.
func dial(ctx context.Context, url, token string, readBuffer int) (*client, error) {
	dialer := ws.Dialer{Protocols: []string{protocol.Subprotocol}, ReadBufferSize: 1024, WriteBufferSize: 1024}
	conn, early, _, err := dialer.Dial(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", url, err)
	}
	c := &client{conn: conn}
	var from io.Reader = conn
	if early != nil {
		got, err := early.Peek(early.Buffered())
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		from = io.MultiReader(bytes.NewReader(bytes.Clone(got)), conn)
		ws.PutReader(early)
	}
	c.in = bufio.NewReaderSize(from, readBuffer)
	c.command(&protocol.Command{Type: protocol.TypeHello, Token: token, Client: "hapax bench"})
	if _, err := c.await(protocol.TypeWelcome); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// subscribe joins a room without its rows so far.
func (c *client) subscribe(room string) error {
	c.command(&protocol.Command{Type: protocol.TypeSubscribe, Room: room, Limit: 0})
	_, err := c.await(protocol.TypeSnapshot)
	return err
}

// command appends a command's frame, masked.
func (c *client) command(cmd *protocol.Command) {
	start := len(c.out)
	c.out = append(c.out, 0, 0, 0, 0, 0, 0, 0, 0)
	c.out = protocol.AppendCommand(c.out, cmd)
	payload := c.out[start+8:]
	n := len(payload)
	ws.Cipher(payload, mask, 0)
	head := append(c.head[:0], 0x81)
	if n < 126 {
		head = append(head, 0x80|byte(n))
	} else { // commands of a measurement are below 64 KiB
		head = append(head, 0x80|126, byte(n>>8), byte(n))
	}
	head = append(head, mask[:]...)
	shift := 8 - len(head)
	copy(c.out[start+len(head):], payload)
	copy(c.out[start:], head)
	c.out = c.out[:len(c.out)-shift]
}

// flush writes what waits, in one call.
func (c *client) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// next returns the next frame. It is valid until the following call. What waits is written before it would block.
func (c *client) next() ([]byte, error) {
	if c.in.Buffered() < 2 {
		if err := c.flush(); err != nil {
			return nil, err
		}
	}
	h, err := ws.ReadHeaderBuffer(c.in, c.head[:])
	if err != nil {
		return nil, err
	}
	if h.OpCode != ws.OpText {
		return nil, fmt.Errorf("the server sent a frame of kind %d", h.OpCode)
	}
	n := int(h.Length)
	if cap(c.buf) < n {
		c.buf = make([]byte, n, 2*n)
	}
	_, err = io.ReadFull(c.in, c.buf[:n])
	return c.buf[:n], err
}

// await skips to the next frame of a type; an error frame is an error.
func (c *client) await(kind string) (protocol.Event, error) {
	for {
		frame, err := c.next()
		if err != nil {
			return protocol.Event{}, fmt.Errorf("waiting for %s: %w", kind, err)
		}
		e, problem := protocol.DecodeEvent(frame)
		if problem != nil {
			return e, problem
		}
		if e.Type == protocol.TypeError {
			return e, fmt.Errorf("the server answered %s: %s", e.Code, e.Text)
		}
		if e.Type == kind {
			return e, nil
		}
	}
}

// Frames are told by how they begin; the codec writes the type first.
var (
	ackStart     = []byte(`{"type":"ack"`)
	messageStart = []byte(`{"type":"message"`)
	firstSend    = []byte(`"duplicate":false`)
	seqName      = []byte(`"seq":`)
	idName       = []byte(`"clientMessageId":"`)
)

// seqOf reads the seq of an ack or a message; 0 where there is none. Texts of a measurement hold no quotes.
func seqOf(frame []byte) int64 { return numberAfter(frame, seqName) }

func numberAfter(frame, name []byte) int64 {
	i := bytes.Index(frame, name)
	if i < 0 {
		return 0
	}
	digits := frame[i+len(name):]
	n := 0
	for n < len(digits) && digits[n] >= '0' && digits[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(string(digits[:n]), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
