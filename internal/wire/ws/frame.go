package ws

import (
	"bufio"
	"errors"
	"io"

	"github.com/gobwas/ws"
)

// fault is a frame that ends the connection: the close code says why by RFC 6455, and event is the error frame before it.
type fault struct {
	close  ws.StatusCode
	reason string
}

func (f *fault) Error() string { return f.reason }

var (
	faultTooLarge = &fault{ws.StatusMessageTooBig, "the frame is larger than the limit"}
	faultBinary   = &fault{ws.StatusUnsupportedData, "frames are JSON in text, not binary"}
	faultUTF8     = &fault{ws.StatusInvalidFramePayloadData, "the frame isn't UTF-8"}
)

// payloadStep bounds what is allocated on a length that the peer only claims: a buffer grows as its bytes arrive.
const payloadStep = 16 << 10

// reader takes messages from a client's bytes. It keeps no payload.
type reader struct {
	in    *bufio.Reader
	limit int // of a whole message
	state ws.State
	head  [ws.MaxHeaderSize]byte
	// control gets the payload of a ping or a close; an error ends the reading.
	control func(op ws.OpCode, payload []byte) error
}

// next returns the next whole message, its fragments joined, appended to buf. A nil buf is taken from the pool once there is
// something to read: a connection that waits for its client holds none. Pings are answered and pongs passed over on the way.
// A *fault says that the client broke the rules; io.EOF and others that the connection ended.
func (r *reader) next(buf []byte) ([]byte, error) {
	for {
		h, err := ws.ReadHeaderBuffer(r.in, r.head[:])
		if err != nil {
			return buf, readError(err)
		}
		if err := ws.CheckHeader(h, r.state); err != nil {
			return buf, &fault{ws.StatusProtocolError, err.Error()}
		}
		if h.OpCode.IsControl() {
			if err := r.takeControl(h); err != nil {
				return buf, err
			}
			continue
		}
		if h.OpCode == ws.OpBinary {
			return buf, faultBinary
		}
		if h.Length > int64(r.limit-len(buf)) {
			return buf, faultTooLarge
		}
		if buf, err = r.take(buf, h); err != nil {
			return buf, err
		}
		if h.Fin {
			r.state = r.state.Clear(ws.StateFragmented)
			return buf, nil
		}
		r.state = r.state.Set(ws.StateFragmented)
	}
}

// take appends a frame's payload, unmasked.
func (r *reader) take(buf []byte, h ws.Header) ([]byte, error) {
	if buf == nil {
		buf = getBuffer()
	}
	start, left := len(buf), int(h.Length)
	for left > 0 {
		step := min(left, payloadStep)
		at := len(buf)
		if cap(buf)-at < step {
			grown := make([]byte, at, max(2*cap(buf), at+step))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:at+step]
		if _, err := io.ReadFull(r.in, buf[at:]); err != nil {
			return buf[:at], err
		}
		left -= step
	}
	ws.Cipher(buf[start:], h.Mask, 0)
	return buf, nil
}

func (r *reader) takeControl(h ws.Header) error {
	var room [ws.MaxControlFramePayloadSize]byte
	payload := room[:h.Length]
	if _, err := io.ReadFull(r.in, payload); err != nil {
		return err
	}
	ws.Cipher(payload, h.Mask, 0)
	return r.control(h.OpCode, payload)
}

// readError makes a broken header a fault; what the network said stays as it is.
func readError(err error) error {
	if errors.Is(err, ws.ErrHeaderLengthMSB) || errors.Is(err, ws.ErrHeaderLengthUnexpected) {
		return &fault{ws.StatusProtocolError, err.Error()}
	}
	return err
}

// appendHead appends the head of a whole server frame; server frames are neither masked nor fragmented.
func appendHead(dst []byte, op ws.OpCode, length int) []byte {
	first := byte(0x80) | byte(op)
	switch {
	case length < 126:
		return append(dst, first, byte(length))
	case length <= 0xFFFF:
		return append(dst, first, 126, byte(length>>8), byte(length))
	default:
		return append(dst, first, 127, 0, 0, 0, 0, byte(length>>24), byte(length>>16), byte(length>>8), byte(length))
	}
}

// appendText appends a text frame whose payload encode appends. The head is put in once the length is known.
func appendText(dst []byte, encode func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0) // room for the head of most
	dst = encode(dst)
	length := len(dst) - start - 4
	var room [10]byte
	head := appendHead(room[:0], ws.OpText, length)
	switch {
	case len(head) < 4:
		copy(dst[start+len(head):], dst[start+4:])
		dst = dst[:start+len(head)+length]
	case len(head) > 4:
		dst = append(dst, room[:len(head)-4]...)
		copy(dst[start+len(head):], dst[start+4:start+4+length])
	}
	copy(dst[start:], head)
	return dst
}
