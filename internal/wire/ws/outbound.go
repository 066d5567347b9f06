package ws

import (
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"
)

// outbound is a connection's way out: a bounded buffer of finished frames and a writer that lives while there are some.
//
// Frames are appended by the engine and by the connection's own goroutine, none of which ever waits for the network. flush
// starts the writer; it takes all that is there and writes it in one call, then looks again, and ends when nothing is left.
// So acks and rows of a commit leave together, and an idle connection has neither a goroutine nor a buffer here.
type outbound struct {
	mu      sync.Mutex
	conn    net.Conn
	limit   int // bytes that may wait
	timeout time.Duration
	wrote   func(bytes int, err error)

	frames  []byte // finished frames that no write has taken
	writing bool
	ending  bool // the last frames are in: nothing is appended any more
	broken  bool // a write failed: nothing is written any more
	done    chan struct{}
}

// append adds frames by encode, which appends them to the buffer. It tells whether they fit: where they don't, nothing was
// added, and the connection is to be cut. After the end frames are dropped and said to fit.
func (o *outbound) append(encode func([]byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.appendLocked(encode)
}

func (o *outbound) appendLocked(encode func([]byte) []byte) bool {
	if o.ending || o.broken {
		return true
	}
	if o.frames == nil {
		o.frames = getBuffer()
	}
	before := len(o.frames)
	o.frames = encode(o.frames)
	if len(o.frames) > o.limit {
		o.frames = o.frames[:before]
		return false
	}
	return true
}

// flush sees to it that what was appended gets written.
func (o *outbound) flush() {
	o.mu.Lock()
	o.flushLocked()
	o.mu.Unlock()
}

func (o *outbound) flushLocked() {
	if !o.writing && !o.broken && len(o.frames) > 0 {
		o.writing = true
		go o.write()
	}
}

// end appends the last frames and closes done once they are written, or can't be. drop forgets what still waits: the reader
// is too slow for it. Only the first end counts; it tells whether this was it.
func (o *outbound) end(drop bool, encode func([]byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending {
		return false
	}
	if drop {
		putBuffer(o.frames)
		o.frames = nil
	}
	if o.frames == nil {
		o.frames = getBuffer()
	}
	o.frames = encode(o.frames)
	o.ending = true
	o.flushLocked()
	if !o.writing {
		close(o.done)
	}
	return true
}

func (o *outbound) write() {
	for {
		o.mu.Lock()
		frames := o.frames
		o.frames = nil
		if len(frames) == 0 || o.broken {
			o.writing = false
			if o.ending {
				close(o.done)
			}
			o.mu.Unlock()
			putBuffer(frames)
			return
		}
		o.mu.Unlock()
		err := o.writeAll(frames)
		if err != nil {
			o.fail()
		}
		o.wrote(len(frames), err)
		putBuffer(frames)
	}
}

// writeStep is what has to get through within the timeout: a reader on a thin line may take long over a long page, as
// long as it goes on.
const writeStep = 256 << 10

func (o *outbound) writeAll(frames []byte) error {
	for len(frames) > 0 {
		step := frames[:min(len(frames), writeStep)]
		if err := o.conn.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
			return err
		}
		if _, err := o.conn.Write(step); err != nil {
			return err
		}
		frames = frames[len(step):]
	}
	return nil
}

// fail gives the connection up; the reading goroutine notices by the closed socket and does the rest.
func (o *outbound) fail() {
	o.mu.Lock()
	o.broken = true
	o.mu.Unlock()
	// The peer is gone or too slow for the deadline: what the close itself says changes nothing.
	_ = o.conn.Close()
}

// appendClose appends a close frame.
func appendClose(dst []byte, code ws.StatusCode, reason string) []byte {
	body := ws.NewCloseFrameBody(code, reason[:min(len(reason), ws.MaxControlFramePayloadSize-2)])
	return append(appendHead(dst, ws.OpClose, len(body)), body...)
}

// Buffers come from a pool, so that ten thousand connections that speak now and then need only as many as speak at once.
// Larger ones than a burst usually needs are left to the garbage collector: the pool must not keep the largest of all.
const (
	bufferStart = 2 << 10
	bufferKept  = 64 << 10
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, bufferStart); return &b }}

func getBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

func putBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= bufferKept {
		b = b[:0]
		buffers.Put(&b)
	}
}
