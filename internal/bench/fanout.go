package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hapax/protocol"
)

// Spread is one sender and many readers in a room.
type Spread struct {
	Readers  int
	InFlight int // of the sender
	Text     int
	Warm     time.Duration
	Measure  time.Duration
}

// fanOut measures deliveries: rows that reached readers, each in order.
func fanOut(ctx context.Context, s *Target, f Spread, run string) (Figure, error) {
	readers := make([]*client, f.Readers)
	opening, _ := errgroup.WithContext(ctx)
	opening.SetLimit(16)
	for i := range readers {
		opening.Go(func() error {
			token, err := s.Token(fmt.Sprintf("%s-r%d", run, i))
			if err != nil {
				return err
			}
			if readers[i], err = dial(ctx, s.URL, token, 8<<10); err != nil {
				return err
			}
			return readers[i].subscribe(run)
		})
	}
	if err := opening.Wait(); err != nil {
		return Figure{}, err
	}
	w, err := openWindow(ctx, s, Load{InFlight: f.InFlight, Text: f.Text}, run)
	if err != nil {
		return Figure{}, err
	}
	at := newClock(f.Warm, f.Measure)
	tallies := make([]tally, f.Readers)
	var last atomic.Int64 // rows that the sender sent in all, once it has ended
	reading, _ := errgroup.WithContext(ctx)
	for i, c := range readers {
		reading.Go(func() (err error) {
			tallies[i], err = c.readRows(at, &last)
			return errors.Join(err, c.conn.Close())
		})
	}
	reading.Go(func() error {
		if err := w.stamp(at); err != nil {
			return err
		}
		last.Store(int64(w.sent))
		return w.finish()
	})
	if err := reading.Wait(); err != nil {
		return Figure{}, err
	}
	return sum(tallies, f.Measure), nil
}

// stamped is a text that carries when it was sent, in ns.
func stamped(size int) string {
	stamp := "t" + strconv.FormatInt(time.Now().UnixNano(), 10) + " "
	return stamp + strings.Repeat("x", max(0, size-len(stamp)))
}

var stampName = []byte(`"text":"t`)

// stamp sends stamped messages until the clock ends.
func (w *window) stamp(at clock) error {
	send := func() {
		w.command(&protocol.Command{Type: protocol.TypeSend, Room: w.room, ClientMessageID: "m" + strconv.Itoa(w.sent), Text: stamped(len(w.text))})
		w.sent++
	}
	for range w.size {
		send()
	}
	for time.Now().Before(at.until) {
		frame, err := w.next()
		if err != nil {
			return fmt.Errorf("the sender: %w", err)
		}
		switch {
		case bytes.HasPrefix(frame, ackStart):
			w.acked++
			send()
		case bytes.HasPrefix(frame, messageStart):
			w.rows++
		default:
			return fmt.Errorf("unexpected frame %s", frame)
		}
	}
	return nil
}

// finish sends one last row, by which readers know the end, and takes what is still to come.
func (w *window) finish() error {
	w.command(&protocol.Command{Type: protocol.TypeSend, Room: w.room, ClientMessageID: "last", Text: lastText})
	w.sent++
	for w.rows < int64(w.sent) || w.acked < w.sent {
		frame, err := w.next()
		if err != nil {
			return fmt.Errorf("the sender, at the end: %w", err)
		}
		switch {
		case bytes.HasPrefix(frame, ackStart):
			w.acked++
		case bytes.HasPrefix(frame, messageStart):
			w.rows++
		default:
			return fmt.Errorf("unexpected frame %s", frame)
		}
	}
	return w.conn.Close()
}

const lastText = "the last row"

// readRows counts rows until the last one, which must be the one after all that were sent.
func (c *client) readRows(at clock, last *atomic.Int64) (tally, error) {
	t := tally{took: newHistogram()}
	for seq := int64(1); ; seq++ {
		frame, err := c.next()
		if err != nil {
			return t, fmt.Errorf("a reader, after row %d: %w", seq-1, err)
		}
		if !bytes.HasPrefix(frame, messageStart) || seqOf(frame) != seq {
			return t, fmt.Errorf("a reader got for row %d: %s", seq, frame)
		}
		if bytes.Contains(frame, []byte(lastText)) {
			if want := last.Load() + 1; seq != want {
				return t, fmt.Errorf("a reader ended at row %d of %d", seq, want)
			}
			return t, nil
		}
		if now := time.Now(); at.counts(now) {
			t.count++
			if err := t.took.RecordValue(max(1, (now.UnixNano()-numberAfter(frame, stampName))/1000)); err != nil {
				return t, err
			}
		}
	}
}
