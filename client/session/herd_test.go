package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// After a reconnect or a restart one row goes first; the window opens by final answers only, never by time.
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
			r.advance(9000)
			if got := r.sends(); len(got) != 1 {
				t.Fatalf("sent %q before the first answer", got)
			}
			open(r, r.sends()[0])
			if got := len(r.sends()); got != 3 {
				t.Fatalf("%d sent after the first answer", got)
			}
		})
	}
}

// F2: the window doubles with each window answered finally, up to 64: six round trips.
func TestTheWindowDoubles(t *testing.T) {
	r := newRig(t, Config{})
	r.fill(100, 4)
	r.connect()
	sent := 0
	for _, want := range []int{1, 2, 4, 8, 16, 32, 64, 64} {
		flying := r.sends()[sent:]
		if sent = len(r.sends()); len(flying) != want {
			t.Fatalf("%d rows in flight, want %d", len(flying), want)
		}
		r.advance(100) // opens nothing
		var in []Input
		for i, id := range flying {
			switch i % 3 { // all of these are final
			case 0:
				in = append(in, r.refusal(id, protocol.IDConflict))
			case 1:
				in = append(in, r.refusal(id, protocol.OutcomeUnknown))
			default:
				in = append(in, r.acked(id))
			}
		}
		r.step(in...)
	}
}

// A retryable answer halves the window, and one that is neither final nor retryable leaves it.
func TestTheWindowHalves(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.warm()
	r.fill(64, 2)
	flying := r.sends()[63:]
	for i, c := range []struct {
		code protocol.Code
		want int
	}{
		{protocol.OutOfOrder, 32}, {protocol.NotSubscribed, 32}, {protocol.Unavailable, 16}, {protocol.RateLimited, 8}, {protocol.InProgress, 4},
		{protocol.Draining, 2}, {protocol.Unavailable, 1}, {protocol.Unavailable, 1}, {protocol.Unavailable, 1},
	} {
		if i == 0 { // without a row ahead of it, it slows the row, which says nothing of the server
			r.refuse(flying[63], protocol.Unavailable)
		}
		r.refuse(flying[i], c.code)
		if r.m.window.size != c.want {
			t.Fatalf("%d. %s: a window of %d, want %d", i, c.code, r.m.window.size, c.want)
		}
	}
	if r.m.window.until != 0 {
		t.Fatal("rows released before the window fell hold back others")
	}
}

// At a window of 1 each further retryable answer, or none, holds back what waits by the delay law; a final one ends that. What the app
// sends just then goes at once.
func TestAtAWindowOfOneTheDelayLawHolds(t *testing.T) {
	r := newRig(t, Config{})
	r.fill(30, 1)
	r.connect()
	r.onFrame = func(f Frame) {
		if f.Command.Type == protocol.TypePing {
			r.again = append(r.again, r.recv(protocol.Event{Type: protocol.TypePong}))
		}
	}
	for _, wait := range []int64{1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000} {
		sent := r.sends()
		r.refuse(sent[len(sent)-1], protocol.Unavailable, 3600_000)
		r.advance(wait - 1)
		if got := len(r.sends()); got != len(sent) {
			t.Fatalf("%d sends within %d ms", got-len(sent), wait)
		}
		r.advance(1)
		if got := len(r.sends()); got != len(sent)+1 {
			t.Fatalf("%d sends after %d ms", got-len(sent), wait)
		}
	}
	last := r.sends()
	r.refuse(last[len(last)-1], protocol.Unavailable, 3600_000)
	r.send("fresh", "now")
	if got := r.sends(); got[len(got)-1] != "now" {
		t.Fatalf("the last send is %q", got[len(got)-1])
	}
	r.ack("now")
	if got := len(r.sends()); got != len(last)+3 {
		t.Fatalf("%d sends after a final answer, want two", got-len(last)-1)
	}
}

// After a retryable answer, or none, a row of another room goes first.
func TestAfterARetryableAnswerAnotherRoomGoesFirst(t *testing.T) {
	r := newRig(t, Config{})
	r.fill(3, 2)
	r.connect()
	r.wantOut("hello", "send 0-0")
	r.refuse("0-0", protocol.Unavailable, 3600_000)
	r.advance(1000)
	r.wantOut("send 1-0")
	r.advance(10_000)
	r.wantOut("ping", "status 1-0")
	r.refuse("1-0", protocol.NotFound)
	r.advance(2000)
	r.wantOut("send 2-0")
	r.lose()
	r.reconnect()
	r.wantOut("hello", "send 1-0") // round and round
}

func TestNothingWaitingHasNoPace(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.warm()
	for i := range 64 { // one after the other, nothing waits
		r.send(fmt.Sprintf("room%d", i%8), fmt.Sprintf("m%d", i))
	}
	if got := len(r.sends()) - 63; got != 64 {
		t.Fatalf("%d sent, 64 in flight allowed", got)
	}
	r.send("r", "over")
	if got := len(r.sends()) - 63; got != 64 {
		t.Fatal("more than 64 in flight")
	}
}

func TestSixteenInFlightInARoom(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.warm()
	for i := range 20 {
		r.send("r", fmt.Sprintf("m%d", i))
	}
	if got := len(r.sends()) - 63; got != 16 {
		t.Fatalf("%d sent", got)
	}
	r.ack("m0")
	if got := r.sends(); len(got) != 63+17 || got[79] != "m16" {
		t.Fatalf("sent %q", got[63:])
	}
}

// F2: 2,000 clients of 50 rows each come to a server that says unavailable, or takes frames and never answers: what reaches it stays
// small, and once it works again everything is sent.
func TestHerd(t *testing.T) {
	const clients, rows, trouble = 2000, 50, 120 // seconds
	for name, answers := range map[string]bool{"unavailable": true, "stalls": false} {
		t.Run(name, func(t *testing.T) {
			perSecond := make([]int, trouble)
			for i := range clients {
				rnd := rand.New(rand.NewPCG(uint64(i), 25))
				r := newRig(t, Config{Rand: rnd.Float64})
				r.fill(10, rows/10)
				from := r.now.Mono
				works := false
				r.onFrame = func(f Frame) {
					switch {
					case works && f.Command.Type == protocol.TypeSend:
						r.again = append(r.again, r.acked(f.Command.ClientMessageID))
					case works && f.Command.Type == protocol.TypeStatus:
						r.again = append(r.again, r.refusal(f.Command.ClientMessageID, protocol.NotFound))
					case f.Command.Type == protocol.TypePing:
						r.again = append(r.again, r.recv(protocol.Event{Type: protocol.TypePong}))
					case f.Command.ClientMessageID == "":
					case answers:
						r.again = append(r.again, r.refusal(f.Command.ClientMessageID, protocol.Unavailable))
						fallthrough
					default:
						perSecond[min((r.now.Mono-from)/1000, trouble-1)]++
					}
				}
				r.connect()
				r.advance(trouble*1000 - 1)
				if i >= 20 {
					continue // a few are enough to see that all is sent in the end
				}
				works = true
				r.advance(660_000)
				if left := len(r.rows()); left != 0 {
					t.Fatalf("%d rows left", left)
				}
			}
			sum := 0
			for s, n := range perSecond {
				most := clients
				switch {
				case s == 0:
					most = 2 * clients
				case s >= trouble/2:
					most = clients / 5
				}
				if sum += n; n > most {
					t.Errorf("%d frames in second %d, %d at most", n, s, most)
				}
			}
			if most := clients * 25; sum > most { // a client that heeded nothing would send 50 at once
				t.Errorf("%d frames in two minutes, %d at most", sum, most)
			}
		})
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
	if most := 2*sends*200 + (pings+2*sends+2)*40; r.bytes > most { // a status with each send
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
		r.wantOut("hello", "status A")
		r.refuse("A", protocol.NotFound)
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
	asked []Frame        // questions without an answer
	taken map[string]int // room → rows taken
	size  int            // of the window, by the rule
	final int            // answers since it changed
}

func newWire(r *rig) *wire {
	w := &wire{r: r, taken: map[string]int{}, size: 1}
	r.onFrame = w.frame
	return w
}

func (w *wire) frame(f Frame) {
	w.forget()
	switch c := f.Command; c.Type {
	case protocol.TypeHello:
		w.size, w.final = 1, 0
	case protocol.TypeStatus:
		w.asked = append(w.asked, f)
	case protocol.TypeSend:
		if flying := slices.DeleteFunc(slices.Clone(w.open), func(o Frame) bool { return !w.flying(o) }); len(flying) >= w.size {
			w.r.t.Fatalf("a row more than the %d of the window", w.size)
		}
		for _, o := range w.open {
			if o.Command.Room == c.Room && number(o) > number(f) && w.flying(o) {
				w.r.t.Fatalf("row %s of %s leaves behind %s", c.ClientMessageID, c.Room, o.Command.ClientMessageID)
			}
		}
		w.open = append(w.open, f)
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
		w.open, w.asked = nil, nil
		r.greet("tok")
	}
	for len(w.asked) > 0 { // what became of a row that was in flight
		f := w.asked[0]
		w.asked = w.asked[1:]
		if !w.flying(f) {
			continue
		}
		code := protocol.NotFound
		if slices.ContainsFunc(w.open, func(o Frame) bool { return o.Command.ClientMessageID == f.Command.ClientMessageID }) {
			code = protocol.InProgress
			w.size, w.final = max(1, w.size/2), 0
		}
		r.step(r.recv(protocol.Event{
			Type: protocol.TypeError, Ref: f.Command.Ref, Room: f.Command.Room, ClientMessageID: f.Command.ClientMessageID, Code: code,
		}))
	}
	w.forget()
}

func (w *wire) forget() {
	var still []Frame
	for _, f := range w.open {
		if number(f)/3 >= w.taken[f.Command.Room] { // also one that the client gave up: the server has it nevertheless
			still = append(still, f)
		}
	}
	w.open = still
}

func (w *wire) row(f Frame) *row {
	return w.r.m.rows[store.Key{Room: f.Command.Room, ID: f.Command.ClientMessageID}]
}

func (w *wire) flying(f Frame) bool {
	row := w.row(f)
	return row != nil && row.flight != nil && row.flight.ref == f.Command.Ref
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
	if w.final++; w.final >= w.size {
		w.size, w.final = min(2*w.size, 64), 0
	}
	w.r.ack(f.Command.ClientMessageID)
	w.forget()
}

func (w *wire) refuse(code protocol.Code) bool {
	w.forget()
	if len(w.open) == 0 {
		return false
	}
	f := w.open[0]
	if (code == protocol.Unavailable || code == protocol.RateLimited) && w.flying(f) {
		w.size, w.final = max(1, w.size/2), 0
	}
	w.open = slices.DeleteFunc(w.open, func(o Frame) bool { return o.Command.Room == f.Command.Room }) // those behind it are out of order
	w.r.step(w.r.recv(protocol.Event{
		Type: protocol.TypeError, Ref: f.Command.Ref, Room: f.Command.Room, ClientMessageID: f.Command.ClientMessageID, Code: code,
		Retryable: code.Rule().Retryable,
	}))
	w.forget()
	return true
}
