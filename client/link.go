package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hapax/client/session"
	"hapax/client/transport"
	"hapax/protocol"
)

// link is one connection: a goroutine that dials and reads, one that writes. It tells the loop Connected at most once,
// and Lost exactly once.
type link struct {
	n, gen int64
	stop   context.CancelFunc // gives up a dial, ends reading and writing

	mu     sync.Mutex
	out    []outFrame
	signal chan struct{}

	written atomic.Int64 // number of the last frame handed to the network, wholly or in part
	ended   chan struct{}
}

// outFrame is an encoded frame and its number.
type outFrame struct {
	n     int64
	bytes []byte
}

// fromLink is an input that only counts while its machine is there.
type fromLink struct {
	session.Input
	gen int64
}

// fromConn takes an input of a connection, unless that was an earlier machine's.
func (d *driver) fromConn(in []session.Input, i session.Input) []session.Input {
	if t, ok := i.(answered); ok {
		d.calling = false
		return append(in, t.Token)
	}
	f := i.(fromLink)
	if f.gen != d.gen {
		return in
	}
	if l, lost := f.Input.(session.Lost); lost {
		delete(d.conns, l.Conn)
	}
	return append(in, f.Input)
}

// dial starts a connection.
func (d *driver) dial(n int64) {
	ctx, stop := context.WithCancel(d.ctx)
	l := &link{n: n, gen: d.gen, stop: stop, signal: make(chan struct{}, 1), ended: make(chan struct{})}
	d.conns[n] = l
	go l.run(ctx, d.c, d.frames)
}

// close ends the connection at once.
func (l *link) close() { l.stop() }

// send hands frames to the writer.
func (l *link) send(frames []outFrame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, frames...)
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// tell gives the loop an input, and waits where the loop is behind.
func (l *link) tell(c *Client, to chan<- session.Input, in session.Input) {
	select {
	case to <- fromLink{in, l.gen}:
	case <-c.ctx.Done():
	}
}

func (l *link) run(ctx context.Context, c *Client, to chan<- session.Input) {
	defer close(l.ended)
	defer l.stop()
	conn, err := c.opts.Transport.Dial(ctx, c.opts.URL)
	if err == nil {
		l.tell(c, to, session.Connected{Conn: l.n})
		err = l.talk(ctx, conn, c, to)
	}
	l.tell(c, to, session.Lost{Conn: l.n, Written: l.written.Load(), Err: err})
}

// talk reads until the connection ends, beside a writer.
func (l *link) talk(ctx context.Context, conn transport.Conn, c *Client, to chan<- session.Input) error {
	ctx, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	var writeErr error
	writer.Go(func() {
		defer stop()
		writeErr = l.writeAll(ctx, conn, c, to)
	})
	// A cancelled context alone wouldn't end a Read of every transport.
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	readErr := l.readAll(ctx, conn, c, to)
	stop()
	if unhook() {
		_ = conn.Close()
	}
	writer.Wait()
	if writeErr != nil {
		return writeErr // it ended the reading
	}
	return readErr
}

func (l *link) readAll(ctx context.Context, conn transport.Conn, c *Client, to chan<- session.Input) error {
	for {
		b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		e, problem := protocol.DecodeEvent(b)
		if problem != nil {
			l.tell(c, to, session.Garbled{Conn: l.n, Err: problem})
			continue
		}
		if limited, ok := conn.(transport.Limited); ok && e.Limits != nil {
			limited.SetReadLimit(int64(min(max(e.Limits.ServerFrame, protocol.WelcomeFrame), protocol.MaxServerFrame)))
		}
		l.tell(c, to, session.Received{Conn: l.n, Event: e})
	}
}

// writeAll writes what the loop hands over, as much at once as there is.
func (l *link) writeAll(ctx context.Context, conn transport.Conn, c *Client, to chan<- session.Input) error {
	for {
		select {
		case <-ctx.Done():
			return nil // the reader knows why
		case <-l.signal:
		}
		l.mu.Lock()
		out := l.out
		l.out = nil
		l.mu.Unlock()
		if len(out) == 0 {
			continue
		}
		frames := make([][]byte, len(out))
		for i, f := range out {
			frames[i] = f.bytes
		}
		// Noted before the write: a failed write may have sent any part of it.
		last := out[len(out)-1].n
		l.written.Store(last)
		if err := conn.Write(ctx, frames); err != nil {
			return err
		}
		l.tell(c, to, session.Wrote{Conn: l.n, N: last})
	}
}

// hangUpWithin bounds the wait for connections to end, so that Close ends within a second.
const hangUpWithin = 500 * time.Millisecond

// hangUp ends all connections and waits for their goroutines, for a while.
func (d *driver) hangUp() {
	if d.stop != nil {
		d.stop()
	}
	limit := time.NewTimer(hangUpWithin)
	defer limit.Stop()
	for n, l := range d.conns {
		for waiting := true; waiting; {
			select {
			case <-l.ended:
				waiting = false
			case in := <-d.frames: // of no use to anybody; its sender may wait for it
				if _, token := in.(answered); token {
					d.calling = false
				}
			case <-limit.C:
				return
			}
		}
		delete(d.conns, n)
	}
}

// askToken asks the app, which may take its time: as long as a call is out there is no second one beside it, and whichever machine
// there is by then gets its answer.
func (d *driver) askToken() {
	if d.calling {
		return
	}
	d.calling = true
	c := d.c
	go func() {
		token, err := c.opts.Token(c.ctx)
		select {
		case d.frames <- answered{session.Token{Token: token, Err: err}}:
		case <-c.ctx.Done():
		}
	}()
}

// answered is the app's token, or why there is none.
type answered struct{ session.Token }
