package session

import (
	"context"
	"fmt"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/protocol"
)

// rig drives a machine over a real memory store and plays the network, the app and the clock.
type rig struct {
	t      tester
	m      *Machine
	medium *memory.Medium
	st     *memory.Store
	fence  int64
	cfg    Config
	now    Now

	conn    int64
	open    bool // dialled and not closed
	dials   int
	asked   int // AskToken
	wake    int64
	frames  []Frame // all written so far
	read    int     // of them, looked at by the test
	wrote   int64   // number of the last frame written on this connection
	noWrite bool    // frames stay in the writer's queue
	bytes   int
	events  []Event
	answers []Answer
	storing error // fails the next store effect
	addGoes bool  // but not an Add
	ticket  int64
	opens   int
	onFrame func(Frame)           // an automatic server
	feature []string              // of the server's welcome
	change  func(*protocol.Event) // what else differs in it
	again   []Input
}

// tester is what a rig needs of a testing.T and of a rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

const (
	testActor  = "ann"
	testServer = "srv"
	testEpoch  = "e1"
	wallStart  = int64(1_700_000_000_000)
	srvStart   = int64(1_800_000_000_000)
)

// newRig returns a rig whose random source is stuck at u.
func newRig(t tester, cfg Config) *rig {
	t.Helper()
	if cfg.Rand == nil {
		cfg.Rand = func() float64 { return 1 }
	}
	r := &rig{t: t, cfg: cfg, medium: memory.NewMediumOf(ids.Device{1}), now: Now{Wall: wallStart, Mono: 1000}}
	r.restart()
	return r
}

// restart kills the process and starts the next one on the same store.
func (r *rig) restart() {
	r.t.Helper()
	if r.st != nil {
		r.medium.Crash()
	}
	ctx := context.Background()
	r.st = memory.Open(r.medium, memory.Options{Limits: r.cfg.Limits})
	fence, err := r.st.Drain(ctx)
	r.ok(err)
	var load Load
	load.Owner, err = r.st.Owner(ctx)
	r.ok(err)
	load.Rows, load.InDoubt = r.rows(), r.st.InDoubt()
	load.Rooms, err = r.st.Rooms(ctx)
	r.ok(err)
	r.fence, r.m = fence, New(r.cfg, load)
	r.conn, r.open, r.wake, r.read, r.frames = 0, false, 0, 0, nil
	r.step()
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) rows() []store.Row {
	r.t.Helper()
	rows, err := r.st.List(context.Background(), 0, 1<<20)
	r.ok(err)
	return rows
}

func (r *rig) row(room, id string) store.Row {
	r.t.Helper()
	row, ok, err := r.st.Find(context.Background(), store.Key{Room: room, ID: id})
	r.ok(err)
	if !ok {
		r.t.Fatalf("row %s/%s is not in the store", room, id)
	}
	return row
}

func (r *rig) has(room, id string) bool {
	r.t.Helper()
	_, ok, err := r.st.Find(context.Background(), store.Key{Room: room, ID: id})
	r.ok(err)
	return ok
}

// step gives the machine inputs and carries out all effects.
func (r *rig) step(in ...Input) {
	r.t.Helper()
	for {
		effects := r.m.Step(r.now, in...)
		in = nil
		if res := r.run(effects); res != nil {
			in = append(in, res)
		}
		in = append(in, r.again...)
		r.again = nil
		if len(in) == 0 {
			return
		}
	}
}

func (r *rig) run(effects []Effect) Input {
	r.t.Helper()
	var res Stored
	storing := false
	for _, e := range effects {
		switch e := e.(type) {
		case Bind, Add, Apply, Evict:
			storing = true
			if err := r.store(e, &res); err != nil {
				return StoreFailed{Err: err, Added: res.Added}
			}
			continue
		case Write:
			r.write(e)
		case Dial:
			r.conn, r.open, r.wrote = e.Conn, true, 0
			r.dials++
		case Close:
			r.open = false
			r.again = append(r.again, Lost{Conn: e.Conn, Written: r.wrote})
		case AskToken:
			r.asked++
		case Wake:
			r.wake = e.At
		case Emit:
			r.events = append(r.events, e.Event)
		case Answer:
			r.answers = append(r.answers, e)
		case Reread:
			r.again = append(r.again, Rows{Rows: r.rows()})
		}
		if storing {
			r.t.Fatalf("effect %T after a store effect", e)
		}
	}
	if storing {
		return res
	}
	return nil
}

func (r *rig) store(e Effect, res *Stored) (err error) {
	ctx := context.Background()
	if _, add := e.(Add); r.storing != nil && !(add && r.addGoes) {
		err, r.storing = r.storing, nil
		return err
	}
	switch e := e.(type) {
	case Bind:
		err = r.st.Bind(ctx, e.Owner)
	case Add:
		var entries []store.Entry
		for _, n := range e.Rows {
			n.Entry.Text = n.Entry.ID
			entries = append(entries, n.Entry)
		}
		res.Added, err = r.st.Add(ctx, r.fence, entries)
	case Apply:
		res.Results, err = r.st.Apply(ctx, r.fence, e.Changes)
	case Evict:
		res.Evicted, err = r.st.Evict(ctx, r.fence, e.Now)
	}
	return err
}

// write checks what must hold of every frame: its row is stored with the attempt that it is.
func (r *rig) write(w Write) {
	r.t.Helper()
	if w.Conn != r.conn {
		r.t.Fatalf("frames for connection %d, open is %d", w.Conn, r.conn)
	}
	for _, f := range w.Frames {
		if f.Command.Type == protocol.TypeSend {
			row := r.row(f.Command.Room, f.Command.ClientMessageID)
			if row.State != store.Sending || row.FirstSentAt == 0 || row.FirstSentAt != f.Command.SentAt || row.Attempts < 1 || row != f.Row {
				r.t.Fatalf("frame %+v left while its row was %+v", f.Command, row)
			}
		}
		r.bytes += len(protocol.AppendCommand(nil, &f.Command))
		r.frames = append(r.frames, f)
		if r.noWrite {
			continue
		}
		r.wrote = f.N
		if r.onFrame != nil {
			r.onFrame(f)
		}
	}
	if !r.noWrite {
		r.again = append([]Input{Wrote{Conn: w.Conn, N: r.wrote}}, r.again...)
	}
}

// advance lets ms pass, waking the machine whenever it asked for it.
func (r *rig) advance(ms int64) {
	r.t.Helper()
	end := r.now.Mono + ms
	for steps := 0; r.wake != 0 && r.wake <= end; steps++ {
		if steps > 1_000_000 {
			r.t.Fatal("the machine never sleeps")
		}
		at := max(r.wake, r.now.Mono)
		r.now.Wall += at - r.now.Mono
		r.now.Mono = at
		before := r.wake
		r.step()
		if r.wake == before {
			r.t.Fatalf("woken at %d for nothing", before)
		}
	}
	r.now.Wall += end - r.now.Mono
	r.now.Mono = end
}

// connect goes through a whole connect with a token.
func (r *rig) connect() {
	r.t.Helper()
	r.step(Connect{})
	r.greet("tok")
}

// greet answers the token question, the dial and the hello.
func (r *rig) greet(token string) {
	r.t.Helper()
	r.step(Token{Token: token})
	r.step(Connected{Conn: r.conn})
	r.step(r.recv(r.welcome()))
	if r.m.State() != Online {
		r.t.Fatalf("state %s after a welcome", r.m.State())
	}
	r.opens++
}

func (r *rig) welcome() protocol.Event {
	hello := ""
	for _, f := range r.frames {
		if f.Command.Type == protocol.TypeHello {
			hello = f.Command.Ref
		}
	}
	e := protocol.Event{
		Type: protocol.TypeWelcome, Ref: hello, Session: "s", Actor: testActor, Server: testServer, Epoch: testEpoch,
		ServerTime: r.serverTime(), Retention: 30 * 24 * 3600_000, Limits: &protocol.DefaultLimits, Features: r.feature,
	}
	if r.change != nil {
		r.change(&e)
	}
	return e
}

func (r *rig) serverTime() int64 { return srvStart + r.now.Mono }

func (r *rig) recv(e protocol.Event) Input { return Received{Conn: r.conn, Event: e} }

// lose cuts the connection after what was written.
func (r *rig) lose() {
	r.t.Helper()
	r.open = false
	r.step(Lost{Conn: r.conn, Written: r.wrote})
}

// warm opens the window as wide as it goes.
func (r *rig) warm() {
	r.t.Helper()
	for i := range 63 {
		id := fmt.Sprintf("warm%d", i)
		r.send("warm", id)
		r.ack(id)
	}
	r.out()
}

// reconnect waits for the next try and lets it succeed.
func (r *rig) reconnect() {
	r.t.Helper()
	before := r.asked
	for r.asked == before {
		if r.wake == 0 {
			r.t.Fatal("no try to connect is planned")
		}
		r.advance(r.wake - r.now.Mono)
	}
	r.greet("tok")
}

// send sends messages, each with its id as text.
func (r *rig) send(room string, idents ...string) {
	r.t.Helper()
	for _, id := range idents {
		r.step(r.sending(room, id))
	}
}

func (r *rig) sending(room, id string) Send {
	r.ticket++
	return Send{Ticket: r.ticket, Key: store.Key{Room: room, ID: id}, Fingerprint: fp(id)}
}

func fp(text string) string { return protocol.FingerprintOf(text, nil).String() }

// out returns the frames written since the last call, as words: send A, send B>A, status A, subscribe R …
func (r *rig) out() []string {
	var words []string
	for _, f := range r.frames[r.read:] {
		c := f.Command
		switch c.Type {
		case protocol.TypeSend:
			w := "send " + c.ClientMessageID
			if c.Follows != "" {
				w += ">" + c.Follows
			}
			words = append(words, w)
		case protocol.TypeStatus:
			words = append(words, "status "+c.ClientMessageID)
		case protocol.TypeHello, protocol.TypePing:
			words = append(words, c.Type)
		case protocol.TypeSubscribe:
			w := "subscribe " + c.Room
			if c.SendOnly {
				w = "place " + c.Room
			}
			if c.Cursor != nil {
				w += fmt.Sprintf("@%d", c.Cursor.After)
			}
			if c.Limit >= 0 {
				w += fmt.Sprintf(" limit %d", c.Limit)
			}
			if c.MaxBytes != 0 {
				w += fmt.Sprintf(" bytes %d", c.MaxBytes)
			}
			words = append(words, w)
		default:
			words = append(words, c.Type+" "+c.Room)
		}
	}
	r.read = len(r.frames)
	return words
}

// last returns the last frame about a row.
func (r *rig) last(id string) Frame {
	r.t.Helper()
	for i := len(r.frames) - 1; i >= 0; i-- {
		if r.frames[i].Command.ClientMessageID == id {
			return r.frames[i]
		}
	}
	r.t.Fatalf("no frame about %s", id)
	return Frame{}
}

var seqs int64

func (r *rig) ack(id string) {
	r.t.Helper()
	r.step(r.acked(id))
}

// acked is the ack of the last frame about a row.
func (r *rig) acked(id string) Input {
	r.t.Helper()
	c := r.last(id).Command
	seqs++
	return r.recv(protocol.Event{
		Type: protocol.TypeAck, Ref: c.Ref, Room: c.Room, ClientMessageID: id, MessageID: fmt.Sprintf("m%d", seqs),
		Seq: seqs, Epoch: testEpoch, At: r.serverTime(), Duplicate: c.Type == protocol.TypeStatus,
	})
}

func (r *rig) refuse(id string, code protocol.Code, after ...int64) {
	r.t.Helper()
	r.step(r.refusal(id, code, after...))
}

func (r *rig) refusal(id string, code protocol.Code, after ...int64) Input {
	c := r.last(id).Command
	e := protocol.Event{Type: protocol.TypeError, Ref: c.Ref, Room: c.Room, ClientMessageID: id, Code: code, Retryable: code.Rule().Retryable}
	if len(after) > 0 {
		e.RetryAfterMs = after[0]
	}
	return r.recv(e)
}

func (r *rig) wantOut(want ...string) {
	r.t.Helper()
	if got := r.out(); fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("frames %q, want %q", got, want)
	}
}

func (r *rig) wantRow(room, id string, state store.State, attempts int, reason string) store.Row {
	r.t.Helper()
	row := r.row(room, id)
	if row.State != state || row.Attempts != attempts || row.Reason != reason {
		r.t.Fatalf("row %s is %v, attempts %d, reason %q; want %v, %d, %q", id, row.State, row.Attempts, row.Reason, state, attempts, reason)
	}
	return row
}

// eventsOf returns the events of a type.
func eventsOf[E Event](r *rig) (out []E) {
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}
