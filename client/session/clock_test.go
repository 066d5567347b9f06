package session

import (
	"fmt"
	"testing"

	"hapax/client/store"
	"hapax/protocol"
)

// waitingRow returns a rig whose row A is due in ten minutes.
func waitingRow(t *testing.T) *rig {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	r.refuse("A", protocol.RateLimited, 600_000)
	r.out()
	return r
}

// C16: due in ten minutes, then a restart: not early, and not late.
func TestRestartKeepsTheSchedule(t *testing.T) {
	r := waitingRow(t)
	r.restart()
	r.advance(300_000)
	r.connect()
	r.quiet(299_000)
	for _, f := range r.out() {
		if f == "send A" {
			t.Fatal("sent early")
		}
	}
	r.quiet(2000)
	r.wantRow("r", "A", store.Sending, 2, "")
}

// C16: the clock goes back by 12 hours, in a running process and over a restart: within half to all of the interval, stored at
// once, mended once.
func TestClockGoesBack(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			r := waitingRow(t)
			r.advance(60_000)
			r.step(r.recv(protocol.Event{Type: protocol.TypePong}))
			r.now.Wall -= 12 * 3600_000
			if restart {
				r.restart()
				r.connect()
			} else {
				r.step()
			}
			row := r.row("r", "A")
			if row.LastAttemptAt != r.now.Wall || row.Interval < 300_000 || row.Interval > 600_000 {
				t.Fatalf("mended to last %d (now %d), interval %d", row.LastAttemptAt, r.now.Wall, row.Interval)
			}
			if r.m.Stats().ClockBacks != 1 {
				t.Fatalf("mended %d times", r.m.Stats().ClockBacks)
			}
			r.step()
			r.restart()
			if again := r.row("r", "A"); again.Interval != row.Interval || again.LastAttemptAt != row.LastAttemptAt {
				t.Fatal("mended twice")
			}
			r.connect()
			r.quiet(row.Interval - 1000)
			r.wantRow("r", "A", store.Queued, 1, "")
			r.quiet(2000)
			r.wantRow("r", "A", store.Sending, 2, "")
		})
	}
}

// C16: a clock a year ahead means now, as the window lets; back again, what was tried in that year waits within the cap.
func TestClockAYearAheadAndBack(t *testing.T) {
	const year = 365 * 24 * 3600_000
	r := newRig(t, Config{})
	r.fill(100, 1)
	r.connect()
	r.ack(r.sends()[0])
	r.onFrame = func(f Frame) {
		if f.Command.Type == protocol.TypeSend {
			r.again = append(r.again, r.refusal(f.Command.ClientMessageID, protocol.Unavailable, 3600_000))
		}
		if f.Command.Type == protocol.TypePing {
			r.again = append(r.again, r.recv(protocol.Event{Type: protocol.TypePong}))
		}
	}
	r.advance(200_000)
	before := len(r.sends())
	r.now.Wall += year
	r.step()
	if n := len(r.sends()) - before; n > 1 {
		t.Fatalf("%d rows in one tick", n)
	}
	r.advance(120_000)
	if n := len(r.sends()) - before; n < 1 || n > 5 {
		t.Fatalf("%d rows in 2 min, a minute between two at that time", n)
	}
	r.now.Wall -= year
	r.step()
	for _, row := range r.rows() {
		if left := Remaining(row.Schedule, r.now.Wall); left > 3600_000+1000 || row.LastAttemptAt > r.now.Wall {
			t.Fatalf("row waits %d ms", left)
		}
	}
}

// The whole outbox is mended in one transaction at the start, and goes as the window lets.
func TestRestartWithAClockBehindIsNoBurst(t *testing.T) {
	r := newRig(t, Config{Rand: func() float64 { return 0 }})
	r.connect()
	for i := range 60 {
		r.send(fmt.Sprintf("r%d", i), "x")
		if i == 0 {
			r.ack("x")
		}
	}
	r.restart()
	r.now.Wall -= 3600_000
	r.restart()
	r.connect()
	before := len(r.sends())
	r.acks()
	r.advance(700)
	if n := len(r.sends()) - before; n > 59 {
		t.Fatalf("%d rows in 0.7 s", n)
	}
}

// R02: past the server's retention a row is asked about, never sent by itself.
func TestRetention(t *testing.T) {
	const month = 30 * 24 * 3600_000
	for code, want := range map[protocol.Code]store.State{protocol.NotFound: store.Uncertain, protocol.OutcomeUnknown: store.Uncertain} {
		t.Run(string(code), func(t *testing.T) {
			r := newRig(t, Config{})
			r.connect()
			r.send("r", "A", "B")
			r.lose()
			first := r.row("r", "A").FirstSentAt
			r.step(Disconnect{})
			r.advance(month + 1000)
			r.out()
			r.connect()
			r.wantOut("hello", "status A")
			if c := r.last("A").Command; c.SentAt != first {
				t.Fatalf("asked with sentAt %d, first sent at %d", c.SentAt, first)
			}
			r.refuse("A", protocol.Unavailable) // asked again by the delay law
			r.advance(900)
			r.wantOut()
			r.advance(200)
			r.wantOut("status A")
			r.refuse("A", code)
			row := r.row("r", "A")
			if row.State != want || row.Attempts != 1 {
				t.Fatalf("row %+v", row)
			}
			r.advance(100)
			r.wantOut("send B") // never sent before: a first send, and the row before it has stepped aside
			r.retry("r", "A")   // the app accepts a possible second copy
			if row := r.row("r", "A"); row.FirstSentAt < first+month || row.Attempts > 1 {
				t.Fatalf("retried as %+v", row)
			}
			r.ack("B")
			r.wantOut("send A")
		})
	}
	t.Run("ack", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.send("r", "A")
		r.restart()
		r.advance(month + 1000)
		r.connect()
		r.wantOut("hello", "status A")
		r.ack("A")
		if r.has("r", "A") {
			t.Fatal("still in the outbox")
		}
	})
}

func TestTryNowLiftsOneRoom(t *testing.T) {
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	r.refuse("A", protocol.Unavailable, 100_000)
	r.send("q", "X")
	r.refuse("X", protocol.Unavailable, 100_000)
	r.out()
	r.step(TryNow{Room: "r"})
	r.advance(2000)
	r.wantOut("send A")
	r.wantRow("r", "A", store.Sending, 2, "") // attempts stay
	r.wantRow("q", "X", store.Queued, 1, "")
}

// Rows aside live for seven days of server time, and number 1,000; without a welcome nothing expires.
func TestEviction(t *testing.T) {
	r := newRig(t, Config{Limits: store.Limits{Aside: 3}})
	r.connect()
	for i := range 5 {
		id := fmt.Sprintf("p%d", i)
		r.send("r", id)
		r.refuse(id, protocol.BadRequest)
		r.advance(100)
	}
	gone := eventsOf[RowEvicted](r)
	if len(gone) != 2 || gone[0].Row.ID != "p0" || gone[1].Row.ID != "p1" || r.m.Stats().Parked != 3 {
		t.Fatalf("evicted %+v", gone)
	}
	r.restart()
	r.advance(8 * 24 * 3600_000)
	r.step()
	if len(r.rows()) != 3 {
		t.Fatal("expired without a welcome")
	}
	r.connect()
	if len(r.rows()) != 0 || len(eventsOf[RowEvicted](r)) != 5 {
		t.Fatalf("%d rows left after 8 days", len(r.rows()))
	}
}

// C16: the clock jumps ahead by a year between an attempt and a "come back later", and then back: within what the server asked for.
func TestClockJumpsBetweenAttemptAndAnswer(t *testing.T) {
	const year = 365 * 24 * 3600_000
	r := newRig(t, Config{})
	r.connect()
	r.send("r", "A")
	r.out()
	r.now.Wall += year
	r.refuse("A", protocol.RateLimited, 600_000)
	if row := r.row("r", "A"); row.Interval > 600_000 {
		t.Fatalf("interval %d of a wait of 600000", row.Interval)
	}
	r.quiet(599_000)
	for _, f := range r.out() {
		if f == "send A" {
			t.Fatal("sent early")
		}
	}
	r.now.Wall -= year
	r.step()
	r.quiet(601_000)
	r.wantRow("r", "A", store.Sending, 2, "")
}
