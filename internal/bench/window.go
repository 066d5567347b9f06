package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"hapax/protocol"
)

// Load is how hard a server is pressed.
type Load struct {
	Connections int           // each with an actor and a room of its own
	InFlight    int           // sends of each that wait for their ack
	Text        int           // bytes of a message's text
	Warm        time.Duration // before the count begins
	Measure     time.Duration
}

// newHistogram holds 1 µs to 1 min, within 1 %.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 2) }

// clock says when the count begins and ends.
type clock struct{ from, until time.Time }

func newClock(warm, measure time.Duration) clock {
	from := time.Now().Add(warm)
	return clock{from, from.Add(measure)}
}

func (c clock) counts(t time.Time) bool { return !t.Before(c.from) && t.Before(c.until) }

// tally is what one worker counted.
type tally struct {
	count int64
	took  *hdrhistogram.Histogram // µs
}

func sum(tallies []tally, measure time.Duration) Figure {
	all, count := newHistogram(), int64(0)
	for _, t := range tallies {
		count += t.count
		if t.took != nil {
			all.Merge(t.took)
		}
	}
	return Figure{PerSecond: float64(count) / measure.Seconds(), P50ms: float64(all.ValueAtQuantile(50)) / 1000, P99ms: float64(all.ValueAtQuantile(99)) / 1000}
}

// throughWebSocket presses a server by connections with rooms of their own, each of which gets its own rows too.
func throughWebSocket(ctx context.Context, s *Target, l Load, run string) (Figure, error) {
	windows := make([]*window, l.Connections)
	opening, _ := errgroup.WithContext(ctx)
	opening.SetLimit(16)
	for i := range windows {
		opening.Go(func() error {
			w, err := openWindow(ctx, s, l, fmt.Sprintf("%s-%d", run, i))
			windows[i] = w
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		return Figure{}, err
	}
	at := newClock(l.Warm, l.Measure)
	tallies := make([]tally, len(windows))
	pressing, _ := errgroup.WithContext(ctx)
	for i, w := range windows {
		pressing.Go(func() (err error) {
			tallies[i], err = w.press(at)
			return errors.Join(err, w.conn.Close())
		})
	}
	if err := pressing.Wait(); err != nil {
		return Figure{}, err
	}
	return sum(tallies, l.Measure), nil
}

// window keeps a number of sends in flight on one connection.
type window struct {
	*client
	room, text string
	size       int
	started    []time.Time // of those in flight, by number modulo size
	sent       int         // numbers from 0
	acked      int
	rows       int64
	tally      tally
}

func openWindow(ctx context.Context, s *Target, l Load, name string) (*window, error) {
	token, err := s.Token(name)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, s.URL, token, 32<<10)
	if err != nil {
		return nil, err
	}
	w := &window{client: c, room: name, text: strings.Repeat("x", l.Text), size: l.InFlight, started: make([]time.Time, l.InFlight), tally: tally{took: newHistogram()}}
	return w, c.subscribe(name)
}

func (w *window) send() {
	w.started[w.sent%w.size] = time.Now()
	w.command(&protocol.Command{Type: protocol.TypeSend, Room: w.room, ClientMessageID: "m" + strconv.Itoa(w.sent), Text: w.text})
	w.sent++
}

// press sends until the clock ends, then takes the answers and rows that are still to come.
func (w *window) press(at clock) (tally, error) {
	for range w.size {
		w.send()
	}
	for w.acked < w.sent || w.rows < int64(w.sent) {
		frame, err := w.next()
		if err != nil {
			return w.tally, fmt.Errorf("after %d acks: %w", w.acked, err)
		}
		switch {
		case bytes.HasPrefix(frame, ackStart):
			if err := w.ack(frame, at); err != nil {
				return w.tally, err
			}
		case bytes.HasPrefix(frame, messageStart):
			if w.rows++; seqOf(frame) != w.rows {
				return w.tally, fmt.Errorf("row %d came as %s", w.rows, frame)
			}
		default:
			return w.tally, fmt.Errorf("unexpected frame %s", frame)
		}
	}
	return w.tally, nil
}

// ack checks that the acks of a room come in the order of its sends, each a first one.
func (w *window) ack(frame []byte, at clock) error {
	i := bytes.Index(frame, idName)
	if i < 0 || numberAfter(frame[i:], []byte(`"m`)) != int64(w.acked) || !bytes.Contains(frame, firstSend) || seqOf(frame) != int64(w.acked)+1 {
		return fmt.Errorf("ack %d came as %s", w.acked, frame)
	}
	now := time.Now()
	if at.counts(now) {
		w.tally.count++
		if err := w.tally.took.RecordValue(max(1, now.Sub(w.started[w.acked%w.size]).Microseconds())); err != nil {
			return err
		}
	}
	w.acked++
	if now.Before(at.until) {
		w.send()
	}
	return nil
}
