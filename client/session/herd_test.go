package session

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"hapax/client/store"
	"hapax/protocol"
)

// sends returns when the rows of a room left, by their order on the wire.
func (r *rig) sends() (ids []string) {
	for _, f := range r.frames {
		if f.Command.Type == protocol.TypeSend {
			ids = append(ids, f.Command.ClientMessageID)
		}
	}
	return ids
}

// fill queues n rows in each of the rooms while offline.
func (r *rig) fill(rooms, n int) {
	r.t.Helper()
	for i := range n {
		for room := range rooms {
			r.send(fmt.Sprintf("r%d", room), fmt.Sprintf("%d-%d", room, i))
		}
	}
}

// acks answers every send at once from now on.
func (r *rig) acks() {
	r.onFrame = func(f Frame) {
		if c := f.Command; c.Type == protocol.TypeSend {
			seqs++
			r.again = append(r.again, r.recv(protocol.Event{
				Type: protocol.TypeAck, Ref: c.Ref, Room: c.Room, ClientMessageID: c.ClientMessageID,
				MessageID: fmt.Sprintf("m%d", seqs), Seq: seqs, Epoch: testEpoch, At: r.serverTime(),
			}))
		}
	}
}

// After a reconnect or a restart one row goes first; any final answer to it opens the rest.
func TestOneRowGoesFirst(t *testing.T) {
	for name, open := range map[string]func(r *rig, id string){
		"ack":         func(r *rig, id string) { r.ack(id) },
		"bad_request": func(r *rig, id string) { r.refuse(id, protocol.BadRequest) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.fill(3, 5)
			r.restart()
			r.connect()
			r.advance(5000)
			if got := r.sends(); len(got) != 1 {
				t.Fatalf("sent %q before the first answer", got)
			}
			open(r, r.sends()[0])
			r.advance(49)
			if got := len(r.sends()); got > 2 {
				t.Fatalf("%d sent at once", got)
			}
			r.advance(1000)
			if got := len(r.sends()); got < 10 {
				t.Fatalf("%d sent after a second", got)
			}
		})
	}
}

// After a retryable answer, or none, a row of another room goes first.
func TestAfterARetryableAnswerAnotherRoomGoesFirst(t *testing.T) {
	r := newRig(t, Config{})
	r.fill(3, 2)
	r.connect()
	r.wantOut("hello", "send 0-0")
	r.refuse("0-0", protocol.Unavailable)
	r.advance(500)
	r.wantOut("send 1-0")
	r.advance(10_000)
	r.wantOut("send 2-0")
	r.lose()
	r.reconnect()
	r.wantOut("hello", "send 0-0") // round and round
}

// Rows due together are never released in one tick: 20 a second at first, twice as many each second while acks come.
func TestPaceDoublesWhileAcksCome(t *testing.T) {
	r := newRig(t, Config{})
	r.fill(40, 100)
	r.acks()
	r.connect()
	var got []int
	for range 5 {
		before := len(r.sends())
		r.advance(1000)
		got = append(got, len(r.sends())-before)
	}
	for i, want := range []int{20, 40, 80, 160, 320} {
		if got[i] < want*8/10 || got[i] > want*12/10 {
			t.Fatalf("released %v a second", got)
		}
	}
	r.advance(10_000)
	if left := len(r.rows()); left != 0 {
		t.Fatalf("%d rows left", left)
	}
}

// A retryable answer halves the pace, at most once a second and never below 1 a second.
func TestPaceHalves(t *testing.T) {
	r := newRig(t, Config{})
	r.fill(500, 1)
	r.connect()
	r.ack(r.sends()[0])
	r.onFrame = func(f Frame) {
		if f.Command.Type == protocol.TypeSend {
			r.again = append(r.again, r.refusal(f.Command.ClientMessageID, protocol.RateLimited, 3600_000))
		}
	}
	r.advance(20_000)
	if r.m.pace.rate != 1 {
		t.Fatalf("pace %v after 20 s of refusals", r.m.pace.rate)
	}
	before := len(r.sends())
	r.advance(10_000)
	if n := len(r.sends()) - before; n < 9 || n > 11 {
		t.Fatalf("%d releases in 10 s", n)
	}
}

func TestNothingWaitingHasNoPace(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "first")
	r.ack("first")
	for i := range 64 { // one after the other, nothing waits
		r.send(fmt.Sprintf("room%d", i%8), fmt.Sprintf("m%d", i))
	}
	if got := len(r.sends()); got != 65 {
		t.Fatalf("%d sent, 64 in flight allowed", got)
	}
	r.send("r", "over")
	if got := len(r.sends()); got != 65 {
		t.Fatal("more than 64 in flight")
	}
}

func TestSixteenInFlightInARoom(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "first")
	r.ack("first")
	for i := range 20 {
		r.send("r", fmt.Sprintf("m%d", i))
	}
	if got := len(r.sends()); got != 17 {
		t.Fatalf("%d sent", got)
	}
	r.ack("m0")
	r.advance(50)
	if got := r.sends(); len(got) != 18 || got[17] != "m16" {
		t.Fatalf("sent %q", got)
	}
}

// C14: 24 virtual hours with a server that takes the frames and never answers.
func TestDayWithADeadServer(t *testing.T) {
	r := newRig(t, Config{})
	r.send("r", "A", "B", "C")
	r.connect()
	r.onFrame = func(f Frame) {
		if f.Command.Type == protocol.TypePing {
			r.again = append(r.again, r.recv(protocol.Event{Type: protocol.TypePong}))
		}
	}
	r.advance(24 * 3600_000)
	sends := len(r.sends())
	if sends != 12 {
		t.Fatalf("%d sends in a day, the schedule allows 12", sends)
	}
	row := r.wantRow("r", "A", store.Parked, 12, ReasonAttempts)
	r.wantRow("r", "B", store.Queued, 0, "")
	if row.LastAttemptAt-wallStart > 3600_000 {
		t.Fatalf("last attempt after %d ms", row.LastAttemptAt-wallStart)
	}
	pings := 24 * 3600 / 25
	if most := sends*200 + (pings+2)*40; r.bytes > most {
		t.Fatalf("%d bytes in a day, at most %d by the schedule", r.bytes, most)
	}
}

// C14: nobody answers the dial.
func TestDayWithoutAServer(t *testing.T) {
	r := newRig(t, Config{})
	r.send("r", "A")
	r.step(Connect{})
	for end := r.now.Mono + 24*3600_000; r.now.Mono < end; {
		if r.asked > r.dials {
			r.step(Token{Token: "tok"})
			r.step(Lost{Conn: r.conn})
		}
		r.advance(max(1, r.wake-r.now.Mono))
	}
	if most := 24*3600/60 + 10; r.dials > most {
		t.Fatalf("%d dials in a day, at most %d", r.dials, most)
	}
	r.wantRow("r", "A", store.Queued, 0, "")
}

// C12: killed in flight, many times: attempts and delay as scheduled, nothing held back for having been in flight.
func TestKilledInFlight(t *testing.T) {
	r := newRig(t, Config{MaxAttempts: 100})
	r.send("r", "A")
	for n := 1; n <= 10; n++ {
		r.connect()
		r.wantOut("hello", "send A")
		row := r.wantRow("r", "A", store.Sending, n, "")
		r.restart()
		r.wantRow("r", "A", store.Queued, n, "")
		r.connect()
		r.quiet(row.Interval - 1000)
		for _, f := range r.out() {
			if f == "send A" {
				t.Fatal("sent before its time")
			}
		}
		r.restart()
		r.advance(1000)
	}
}

// Whatever a server answers, and whatever is cut or killed: rows of a room leave in their order, at most 16 and 64 are
// in flight, and never a burst.
func TestOrderAndPaceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "u")
		r := newRig(t, Config{Rand: func() float64 { return u }, MaxAttempts: 1000})
		w := newWire(r)
		codes := []protocol.Code{protocol.Unavailable, protocol.RateLimited, protocol.OutOfOrder, protocol.NotSubscribed}
		for i := range rapid.IntRange(5, 60).Draw(t, "rows") {
			r.send(fmt.Sprintf("r%d", i%3), fmt.Sprintf("%d", i))
		}
		for range rapid.IntRange(5, 80).Draw(t, "moves") {
			switch rapid.IntRange(0, 6).Draw(t, "move") {
			case 0:
				if r.open && r.m.State() == Online {
					r.lose()
				}
			case 1:
				r.restart()
			case 2, 3:
				if w.refuse(rapid.SampledFrom(codes).Draw(t, "code")) {
					break
				}
				fallthrough
			default:
				w.ackFirst()
			}
			w.keepUp()
			r.advance(rapid.Int64Range(1, 3000).Draw(t, "ms"))
		}
		for i := 0; len(r.rows()) > 0; i++ {
			if i > 20_000 {
				t.Fatalf("%d rows are never sent", len(r.rows()))
			}
			w.ackFirst()
			w.keepUp()
			r.advance(200)
		}
	})
}

// wire is a server of the order: it takes a row only if the one before it in its room was taken.
type wire struct {
	r     *rig
	open  []Frame
	taken map[string]int // room → rows taken
	last  int64          // mono of the last release
	burst int            // releases in that very ms
}

func newWire(r *rig) *wire {
	w := &wire{r: r, taken: map[string]int{}}
	r.onFrame = w.frame
	return w
}

func (w *wire) frame(f Frame) {
	w.forget()
	switch c := f.Command; c.Type {
	case protocol.TypeSend:
		if w.r.now.Mono == w.last {
			w.burst++
		} else {
			w.last, w.burst = w.r.now.Mono, 1
		}
		if w.burst > 2 { // one of a backlog, and one that another's answer frees
			w.r.t.Fatalf("%d rows released in one ms", w.burst)
		}
		for _, o := range w.open {
			if o.Command.Room == c.Room && number(o) > number(f) {
				w.r.t.Fatalf("row %s of %s leaves behind %s", c.ClientMessageID, c.Room, o.Command.ClientMessageID)
			}
		}
		w.open = append(w.open, f)
		if len(w.open) > 64 {
			w.r.t.Fatalf("%d in flight", len(w.open))
		}
	case protocol.TypeSubscribe:
		w.r.again = append(w.r.again, w.r.recv(protocol.Event{
			Type: protocol.TypeSnapshot, Ref: c.Ref, Room: c.Room, Epoch: testEpoch,
		}))
	case protocol.TypePing:
		w.r.again = append(w.r.again, w.r.recv(protocol.Event{Type: protocol.TypePong}))
	}
}

func number(f Frame) (n int) {
	_, _ = fmt.Sscan(f.Command.ClientMessageID, &n)
	return n
}

// keepUp connects where nothing is connected, and forgets what is no longer in flight.
func (w *wire) keepUp() {
	r := w.r
	if r.m.State() != Online {
		r.step(Connect{})
		w.open = nil
		r.greet("tok")
	}
	w.forget()
}

func (w *wire) forget() {
	var still []Frame
	for _, f := range w.open {
		if row := w.r.m.rows[store.Key{Room: f.Command.Room, ID: f.Command.ClientMessageID}]; row != nil && row.flight != nil && row.flight.ref == f.Command.Ref {
			still = append(still, f)
		}
	}
	w.open = still
}

func (w *wire) ackFirst() {
	w.forget()
	if len(w.open) == 0 {
		return
	}
	f := w.open[0]
	w.open = w.open[1:]
	if n := number(f); n/3 != w.taken[f.Command.Room] {
		w.r.t.Fatalf("%s takes row %d as its %d.", f.Command.Room, n, w.taken[f.Command.Room])
	}
	w.taken[f.Command.Room]++
	w.r.ack(f.Command.ClientMessageID)
	w.forget()
}

func (w *wire) refuse(code protocol.Code) bool {
	w.forget()
	if len(w.open) == 0 {
		return false
	}
	f := w.open[0]
	w.r.refuse(f.Command.ClientMessageID, code)
	w.forget()
	return true
}
