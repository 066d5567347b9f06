package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// rowOverhead is what a stored message carries beside its text: names of room and actor, ids of client and server, fingerprint,
// seq and time. The plain log writes as many bytes, so that both carry the same.
const rowOverhead = 3*12 + 26 + 33 + 8 + 8

var errLogFailed = errors.New("the plain log failed")

// plainLog appends each group of entries to a file and syncs it before it answers: the least that anything durable must do. It
// groups like the engine: what came while a sync was under way is the next group.
type plainLog struct {
	file  *os.File
	queue chan chan<- struct{}
	entry []byte
	group int // at most

	failed chan struct{} // closed when it can't go on
}

// through presses a plain log in dir with as many entries in flight as p.
func (p Pressure) throughLog(ctx context.Context, dir string) (Figure, error) {
	file, err := os.Create(filepath.Join(dir, "plain.log"))
	if err != nil {
		return Figure{}, fmt.Errorf("plain log: %w", err)
	}
	l := &plainLog{file: file, queue: make(chan chan<- struct{}, p.Senders*p.Window), entry: make([]byte, p.Text+rowOverhead), group: 1024, failed: make(chan struct{})}
	writer := make(chan error, 1)
	go func() { writer <- l.write() }()
	at := newClock(p.Warm, p.Measure)
	tallies := make([]tally, p.Senders)
	group, _ := errgroup.WithContext(ctx)
	for i := range tallies {
		group.Go(func() (err error) {
			tallies[i], err = l.press(p.Window, at)
			return err
		})
	}
	err = group.Wait()
	close(l.queue)
	err = errors.Join(err, <-writer, file.Close(), os.Remove(file.Name()))
	return sum(tallies, p.Measure), err
}

func (l *plainLog) write() (err error) {
	defer func() {
		if err != nil {
			close(l.failed)
		}
	}()
	var buf []byte
	var waiting []chan<- struct{}
	for first := range l.queue {
		buf, waiting = append(buf[:0], l.entry...), append(waiting[:0], first)
		for more := true; more && len(waiting) < l.group; {
			select {
			case next, open := <-l.queue:
				if more = open; open {
					buf, waiting = append(buf, l.entry...), append(waiting, next)
				}
			default:
				more = false
			}
		}
		if _, err := l.file.Write(buf); err != nil {
			return fmt.Errorf("plain log: %w", err)
		}
		if err := l.file.Sync(); err != nil {
			return fmt.Errorf("plain log: %w", err)
		}
		for _, w := range waiting {
			w <- struct{}{}
		}
	}
	return nil
}

func (l *plainLog) press(window int, at clock) (tally, error) {
	t, inbox := tally{took: newHistogram()}, make(chan struct{}, window)
	started := make([]time.Time, window)
	sent := 0
	send := func() {
		started[sent%window] = time.Now()
		sent++
		l.queue <- inbox // has room for all that can be in flight
	}
	for range window {
		send()
	}
	for acked := 0; acked < sent; acked++ {
		select {
		case <-inbox: // the log answers in order
		case <-l.failed:
			return t, errLogFailed
		}
		now := time.Now()
		if at.counts(now) {
			t.count++
			if err := t.took.RecordValue(max(1, now.Sub(started[acked%window]).Microseconds())); err != nil {
				return t, err
			}
		}
		if now.Before(at.until) {
			send()
		}
	}
	return t, nil
}
