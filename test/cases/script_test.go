package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"hapax/client/transport"
	"hapax/client/transport/memory"
)

// script is the network of a world without a server: what a client dials waits until a step accepts it.
type script struct {
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	refuse  bool
	dials   []dialing
	waiting map[string][]*memory.End // by client: dialled, not yet accepted by a step
	peers   map[string]*peer
	hole    bool // every connection is taken, welcomed, and its commands never answered
}

type dialing struct {
	client string
	at     int64 // ms of the scenario's clock
}

// peer is the server's end of a connection. What comes is read at once, and waits for the steps.
type peer struct {
	end   *memory.End
	mu    sync.Mutex
	came  []any
	bytes int64
	gone  bool
	news  chan struct{} // closed and replaced when something came
}

var errRefused = errors.New("connection refused")

// scriptActor is whom a script's welcome names.
const scriptActor = "ann"

func newScript(ctx context.Context) *script {
	s := &script{waiting: map[string][]*memory.End{}, peers: map[string]*peer{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

func (s *script) close() {
	s.stop()
	for _, list := range s.waiting {
		for _, e := range list {
			_ = e.Close()
		}
	}
	for _, p := range s.peers {
		_ = p.end.Close()
	}
	s.done.Wait()
}

type scriptDialer struct {
	s      *script
	client string
}

func (s *script) dialer(client string) transport.Dialer { return scriptDialer{s, client} }

// Dial implements transport.Dialer.
func (d scriptDialer) Dial(context.Context, string) (transport.Conn, error) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = append(s.dials, dialing{d.client, time.Now().UnixMilli()})
	if s.refuse {
		return nil, errRefused
	}
	ours, theirs := memory.Pipe()
	if s.hole {
		name := fmt.Sprintf("hole %d", len(s.dials))
		s.peers[name] = s.read(ours)
		s.done.Go(func() { s.peers[name].swallow(s.ctx) })
		return theirs, nil
	}
	s.waiting[d.client] = append(s.waiting[d.client], ours)
	return theirs, nil
}

func (s *script) read(end *memory.End) *peer {
	p := &peer{end: end, news: make(chan struct{})}
	s.done.Go(func() {
		for {
			b, err := end.Read(s.ctx)
			p.mu.Lock()
			if err != nil {
				p.gone = true
			} else {
				var f any
				if err := decode(b, &f); err != nil {
					f = fmt.Sprintf("not a frame: %s", b)
				}
				p.came = append(p.came, f)
				p.bytes += int64(len(b))
			}
			close(p.news)
			p.news = make(chan struct{})
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return p
}

// swallow welcomes a client and answers its pings, and nothing else ever.
func (p *peer) swallow(ctx context.Context) {
	for next := 0; ; {
		p.mu.Lock()
		came, gone, news := slices.Clone(p.came[next:]), p.gone, p.news
		p.mu.Unlock()
		for _, f := range came {
			next++
			o, _ := f.(map[string]any)
			switch o["type"] {
			case "hello":
				_ = p.write(ctx, welcomeFrame(o, nil))
			case "ping":
				_ = p.write(ctx, map[string]any{"type": "pong", "ref": o["ref"], "serverTime": time.Now().UnixMilli()})
			}
		}
		if gone {
			return
		}
		if len(came) > 0 {
			continue
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

func (p *peer) write(ctx context.Context, frame any) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return p.end.Write(ctx, [][]byte{b})
}

// welcomeFrame answers a hello; change overrides its members.
func welcomeFrame(hello map[string]any, change map[string]any) map[string]any {
	w := map[string]any{
		"type": "welcome", "ref": hello["ref"], "session": "s", "actor": scriptActor, "server": "srv", "epoch": "e1",
		"serverTime": time.Now().UnixMilli(),
		"limits":     map[string]any{"text": 16384, "data": 65536, "frame": 262144},
		"dedupe":     map[string]any{"retentionMs": 30 * 24 * 3600_000},
	}
	for name, v := range change {
		w[name] = v
	}
	return w
}

// take returns the next frame that isn't of a type passed over, within ms of the scenario's clock; pings are answered by themselves.
func (p *peer) take(ctx context.Context, within int64, skip []string) (any, error) {
	limit := time.NewTimer(time.Duration(within) * time.Millisecond)
	defer limit.Stop()
	for {
		synctest.Wait()
		p.mu.Lock()
		var f any
		if len(p.came) > 0 {
			f, p.came = p.came[0], p.came[1:]
		}
		gone, news := p.gone, p.news
		p.mu.Unlock()
		if o, ok := f.(map[string]any); ok {
			kind, _ := o["type"].(string)
			if kind == "ping" {
				if err := p.write(ctx, map[string]any{"type": "pong", "ref": o["ref"], "serverTime": time.Now().UnixMilli()}); err != nil {
					return nil, err
				}
				continue
			}
			if slices.Contains(skip, kind) {
				continue
			}
		}
		switch {
		case f != nil:
			return f, nil
		case gone:
			return nil, errors.New("the client ended the connection")
		case within == 0:
			return nil, errors.New("no frame")
		}
		select {
		case <-news:
		case <-limit.C:
			return nil, fmt.Errorf("no frame within %d ms", within)
		}
	}
}
