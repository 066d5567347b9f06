package ws

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/gobwas/ws"
)

func newTestReader(in []byte, limit int, control func(ws.OpCode, []byte) error) *reader {
	if control == nil {
		control = func(ws.OpCode, []byte) error { return nil }
	}
	return &reader{in: bufio.NewReader(bytes.NewReader(in)), limit: limit, state: ws.StateServerSide, control: control}
}

// masked is a client's frame.
func masked(op ws.OpCode, fin bool, payload string) []byte {
	f := ws.NewFrame(op, fin, []byte(payload))
	return ws.MustCompileFrame(ws.MaskFrameWith(f, [4]byte{1, 2, 3, 4}))
}

func TestMessagesComeWholeInOrder(t *testing.T) {
	var pings []string
	in := bytes.Join([][]byte{
		masked(ws.OpText, true, "one"),
		masked(ws.OpText, false, "tw"), masked(ws.OpPing, true, "are you there"), masked(ws.OpContinuation, false, ""), masked(ws.OpContinuation, true, "o"),
		masked(ws.OpPong, true, ""), masked(ws.OpText, true, strings.Repeat("x", 70_000)), masked(ws.OpText, true, ""),
	}, nil)
	r := newTestReader(in, 100_000, func(op ws.OpCode, p []byte) error {
		pings = append(pings, string(p))
		return nil
	})
	for i, want := range []string{"one", "two", strings.Repeat("x", 70_000), ""} {
		if got, err := r.next(nil); err != nil || string(got) != want {
			t.Fatalf("message %d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := r.next(nil); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
	if len(pings) != 2 || pings[0] != "are you there" {
		t.Fatalf("control frames: %q", pings)
	}
}

func TestFaultsEndTheReading(t *testing.T) {
	unmasked := ws.MustCompileFrame(ws.NewTextFrame([]byte("hi")))
	reserved := masked(ws.OpText, true, "hi")
	reserved[0] |= 0x40
	for name, c := range map[string]struct {
		in   []byte
		code ws.StatusCode
	}{
		"not masked":             {unmasked, ws.StatusProtocolError},
		"reserved bit":           {reserved, ws.StatusProtocolError},
		"unknown opcode":         {masked(5, true, "x"), ws.StatusProtocolError},
		"binary":                 {masked(ws.OpBinary, true, "x"), ws.StatusUnsupportedData},
		"continuation of none":   {masked(ws.OpContinuation, true, "x"), ws.StatusProtocolError},
		"text within a message":  {append(masked(ws.OpText, false, "x"), masked(ws.OpText, true, "y")...), ws.StatusProtocolError},
		"ping in pieces":         {masked(ws.OpPing, false, "x"), ws.StatusProtocolError},
		"ping too long":          {masked(ws.OpPing, true, strings.Repeat("x", 126)), ws.StatusProtocolError},
		"message too large":      {masked(ws.OpText, true, strings.Repeat("x", 1001)), ws.StatusMessageTooBig},
		"fragments too large":    {append(masked(ws.OpText, false, strings.Repeat("x", 600)), masked(ws.OpContinuation, true, strings.Repeat("x", 600))...), ws.StatusMessageTooBig},
		"length with a sign bit": {[]byte{0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}, ws.StatusProtocolError},
	} {
		var bad *fault
		if _, err := newTestReader(c.in, 1000, nil).next(nil); !errors.As(err, &bad) || bad.close != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The limit is judged by the head, before a byte of the payload is read or a buffer made for it.
func TestTooLargeIsRefusedByItsHead(t *testing.T) {
	head := []byte{0x81, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4} // claims 1 GB
	in := bufio.NewReader(bytes.NewReader(append(head, "rest"...)))
	r := &reader{in: in, limit: 256 << 10, state: ws.StateServerSide, control: func(ws.OpCode, []byte) error { return nil }}
	if _, err := r.next(nil); !errors.Is(err, faultTooLarge) {
		t.Fatal(err)
	}
	if in.Buffered() != 4 {
		t.Fatalf("%d bytes left, want the 4 of the payload", in.Buffered())
	}
}

// A claimed length within the limit costs memory only as its bytes arrive.
func TestAClaimCostsNothing(t *testing.T) {
	head := []byte{0x81, 0xFF, 0, 0, 0, 0, 0, 3, 0xFF, 0xFF, 1, 2, 3, 4} // 256 KiB − 1
	buf, err := newTestReader(append(head, "only this"...), 256<<10, nil).next(nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) || cap(buf) > 2*payloadStep {
		t.Fatalf("%v with a buffer of %d", err, cap(buf))
	}
	runtime.KeepAlive(buf)
}

func TestServerFramesReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 124, 125, 126, 127, 65_534, 65_535, 65_536, 65_537, 300_000} {
		payload := strings.Repeat("p", n)
		out := appendText([]byte("before"), func(b []byte) []byte { return append(b, payload...) })
		if !bytes.HasPrefix(out, []byte("before")) {
			t.Fatalf("%d: what was there is gone", n)
		}
		in := bytes.NewReader(out[6:])
		h, err := ws.ReadHeader(in)
		rest, _ := io.ReadAll(in)
		if err != nil || !h.Fin || h.Masked || h.OpCode != ws.OpText || h.Length != int64(n) || string(rest) != payload {
			t.Fatalf("%d: %+v %v", n, h, err)
		}
		if want := len(ws.MustCompileFrame(ws.NewTextFrame([]byte(payload)))); len(out)-6 != want {
			t.Fatalf("%d: %d bytes, want %d", n, len(out)-6, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(masked(ws.OpText, true, "{}"))
	f.Add(append(masked(ws.OpText, false, "a"), masked(ws.OpContinuation, true, "b")...))
	f.Add(masked(ws.OpClose, true, "\x03\xe8bye"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := newTestReader(in, 1000, nil)
		for {
			got, err := r.next(nil)
			if len(got) > 1000 {
				t.Fatalf("a message of %d bytes", len(got))
			}
			if err != nil {
				return
			}
		}
	})
}
