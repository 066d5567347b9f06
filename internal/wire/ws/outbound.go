package ws

import (
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"hapax/internal/wire/limit"
)

// outbound is a connection's way out: a bounded buffer of finished frames and a writer that lives while there are some.
//
// Frames are appended by the engine and by the connection's own goroutine, none of which ever waits for the network. flush
// starts the writer; it takes all that is there and writes it in one call, then looks again, and ends when nothing is left.
// So acks and rows of a commit leave together, and an idle connection has neither a goroutine nor a buffer here.
//
// Before anybody has signed in a few KiB may wait. After that buffers are charged to the actor's account of a budget that all connections
// share; the emptier it is, the more one connection may have waiting, so that a few slow readers can't take it from the others.
type outbound struct {
	mu      sync.Mutex
	conn    net.Conn
	limit   int            // bytes that may wait
	account *limit.Account // nil: buffers aren't charged
	timeout time.Duration
	wrote   func(bytes int, err error)

	frames  []byte // finished frames that no write has taken
	paid    int64  // what is charged for them
	leaving int    // bytes that a write has taken and that aren't written yet
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
	o.bufferLocked()
	frames := encode(o.frames)
	if len(frames) > o.limit || !o.chargeLocked(frames) {
		return false // the frames before are as they were: what was encoded stands behind them, or in another array
	}
	o.frames = frames
	return true
}

const (
	// bufferFree is what a connection has without a charge.
	bufferFree = 4 << 10
	// bufferFair is what a connection may have waiting as long as there is anything left at all.
	bufferFair = 64 << 10
)

func weight(b []byte) int64 { return int64(max(0, cap(b)-bufferFree)) }

// chargeLocked takes what frames need more than was charged.
func (o *outbound) chargeLocked(frames []byte) bool {
	more := weight(frames) - o.paid
	if o.account == nil || more <= 0 {
		return true
	}
	if len(frames) > bufferFair && int64(len(frames)) > o.account.Free() || !o.account.Take(more) {
		return false
	}
	o.paid += more
	return true
}

// bufferLocked takes a buffer from the pool where there is none, or a small one where the budget has no room for that.
func (o *outbound) bufferLocked() {
	if o.frames != nil {
		return
	}
	b := getBuffer()
	if !o.chargeLocked(b) {
		b = make([]byte, 0, bufferStart)
	}
	o.frames = b
}

// freeLocked gives a buffer back, and what was charged for it.
func (o *outbound) freeLocked(b []byte, paid int64) {
	if o.account != nil {
		o.account.Give(paid)
	}
	putBuffer(b)
}

// signIn lets limit bytes wait from now on, charged to account.
func (o *outbound) signIn(account *limit.Account, limit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.account, o.limit = account, limit
}

// close gives back what is left, once done is closed.
func (o *outbound) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.freeLocked(o.frames, o.paid)
	o.frames, o.paid = nil, 0
	if o.account != nil {
		o.account.Close()
		o.account = nil
	}
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
		o.freeLocked(o.frames, o.paid)
		o.frames, o.paid = nil, 0
	}
	o.bufferLocked()
	o.frames = encode(o.frames) // the last word is short, and gets said whatever the budget
	o.ending = true
	o.flushLocked()
	if !o.writing {
		close(o.done)
	}
	return true
}

func (o *outbound) write() {
	o.mu.Lock()
	for len(o.frames) > 0 && !o.broken {
		frames, paid := o.frames, o.paid
		o.frames, o.paid, o.leaving = nil, 0, len(frames)
		o.mu.Unlock()
		err := o.writeAll(frames)
		if err != nil {
			o.fail()
		}
		o.mu.Lock()
		o.leaving = 0
		o.mu.Unlock()
		o.wrote(len(frames), err)
		o.mu.Lock()
		o.freeLocked(frames, paid)
	}
	o.freeLocked(o.frames, o.paid)
	o.frames, o.paid, o.writing = nil, 0, false
	if o.ending {
		close(o.done)
	}
	o.mu.Unlock()
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
