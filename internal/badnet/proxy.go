package badnet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
)

// maxHandshake bounds the head of an HTTP request or response that passes through; maxFrame a frame. Both are
// above what either side allows, so that the proxy is never the one who refuses.
const (
	maxHandshake = 64 << 10
	maxFrame     = 8 << 20
)

// Faults says what the network does. Chances are from 0 to 1 a frame; the zero value is a good network.
type Faults struct {
	DropAck  float64       // an ack disappears
	Cut      float64       // the connection breaks instead of carrying a frame, in either direction
	MaxDelay time.Duration // each frame is late by up to this; order within a connection stays
}

// Counts are what the network did so far.
type Counts struct {
	Connections, Frames, AcksDropped, Cuts int64
}

// Proxy is a misbehaving network to one upstream. Its methods may be called from several goroutines.
type Proxy struct {
	listener net.Listener
	stop     context.CancelFunc
	stopped  context.Context
	running  sync.WaitGroup

	mu       sync.Mutex
	random   *rand.Rand
	faults   Faults
	upstream string
	links    map[*link]struct{}

	connections, frames, acks, cuts atomic.Int64
}

// Listen opens a proxy on a free port of the loopback address that carries to upstream (host:port).
func Listen(upstream string, faults Faults, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Proxy{listener: l, stop: stop, stopped: ctx, random: rand.New(rand.NewPCG(seed, seed)), faults: faults, upstream: upstream, links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes what the network does from the next frame on.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// CutAll breaks every connection that is open now.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Counts tells what the network did so far.
func (p *Proxy) Counts() Counts {
	return Counts{Connections: p.connections.Load(), Frames: p.frames.Load(), AcksDropped: p.acks.Load(), Cuts: p.cuts.Load()}
}

// Close breaks everything and waits until no goroutine is left.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.CutAll()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.carry(c) })
	}
}

// link is one connection through the proxy.
type link struct{ client, server net.Conn }

func (l *link) close() { l.client.Close(); l.server.Close() }

func (p *Proxy) carry(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(p.stopped, "tcp", p.upstream)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client, server}
	defer l.close()
	if !p.enter(l) {
		return
	}
	defer p.leave(l)
	up, down := bufio.NewReader(client), bufio.NewReader(server)
	if head(up, server) != nil || head(down, client) != nil {
		return
	}
	p.connections.Add(1)
	var both sync.WaitGroup
	both.Go(func() { defer l.close(); p.pump(up, server, false) })
	both.Go(func() { defer l.close(); p.pump(down, client, true) })
	both.Wait()
}

func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped.Err() != nil {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// head carries the head of an HTTP message, up to its empty line.
func head(from *bufio.Reader, to io.Writer) error {
	var all []byte
	for len(all) < maxHandshake {
		line, err := from.ReadBytes('\n')
		all = append(all, line...)
		if err != nil {
			return err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			_, err := to.Write(all)
			return err
		}
	}
	return errors.New("badnet: the head of a message is too long")
}

// pump carries frames until the connection ends or is cut.
func (p *Proxy) pump(from io.Reader, to io.Writer, fromServer bool) {
	for {
		h, err := ws.ReadHeader(from)
		if err != nil || h.Length > maxFrame {
			return
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(from, payload); err != nil {
			return
		}
		drop, cut, delay := p.fate(fromServer && isAck(payload))
		if cut {
			p.cuts.Add(1)
			return
		}
		if !p.wait(delay) {
			return
		}
		if drop {
			p.acks.Add(1)
			continue
		}
		p.frames.Add(1)
		if ws.WriteFrame(to, ws.Frame{Header: h, Payload: payload}) != nil {
			return
		}
	}
}

func (p *Proxy) fate(ack bool) (drop, cut bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.faults
	drop = ack && p.random.Float64() < f.DropAck
	cut = p.random.Float64() < f.Cut
	if f.MaxDelay > 0 {
		delay = time.Duration(p.random.Int64N(int64(f.MaxDelay)))
	}
	return drop, cut, delay
}

func (p *Proxy) wait(d time.Duration) bool {
	if d == 0 {
		return p.stopped.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.stopped.Done():
		return false
	}
}

// isAck tells an ack by the first member of its frame, as the server writes it.
func isAck(payload []byte) bool { return bytes.HasPrefix(payload, []byte(`{"type":"ack"`)) }
