package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"hapax/internal/engine"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/protocol"
)

// Pressure is how hard an engine or a log is pressed, without a network.
type Pressure struct {
	Senders int // goroutines, each with a room and an actor of its own
	Window  int // sends of each in flight
	Text    int // bytes of a message's text
	Repeats int // one in so many sends repeats an earlier one; 0: none, 1: all
	Warm    time.Duration
	Measure time.Duration
}

// through presses an engine. run keeps the rooms of one measurement apart from those of others.
func (p Pressure) through(ctx context.Context, e *engine.Engine, run string) (Figure, error) {
	at := newClock(p.Warm, p.Measure)
	tallies := make([]tally, p.Senders)
	group, _ := errgroup.WithContext(ctx)
	for i := range tallies {
		group.Go(func() (err error) {
			s := newSender(e, p, fmt.Sprintf("%s-%d", run, i))
			if p.Repeats == 1 {
				err = s.prepare()
			}
			if err == nil {
				err = s.press(at)
			}
			tallies[i] = s.tally
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Figure{}, err
	}
	return sum(tallies, p.Measure), nil
}

// done is the answer to one send.
type done struct {
	outcome room.Outcome
	repeat  bool
	started time.Time
}

// sender keeps a window of sends in flight in its room.
type sender struct {
	engine *engine.Engine
	p      Pressure
	name   string
	text   string
	fp     idem.Fingerprint
	sent   int
	firsts int
	inbox  chan done
	tally  tally
}

func newSender(e *engine.Engine, p Pressure, name string) *sender {
	s := &sender{engine: e, p: p, name: name, text: strings.Repeat("x", p.Text), inbox: make(chan done, p.Window), tally: tally{took: newHistogram()}}
	s.fp = idem.Fingerprint(protocol.FingerprintOf(s.text, nil))
	return s
}

// answer is the completion of one send.
type answer struct {
	sender  *sender
	repeat  bool
	started time.Time
}

// Complete implements engine.Completion; the inbox has room for the whole window.
func (a *answer) Complete(o room.Outcome) { a.sender.inbox <- done{o, a.repeat, a.started} }

func (s *sender) send() {
	s.sent++
	number, repeat := s.firsts, false
	switch {
	case s.p.Repeats > 0 && s.sent%s.p.Repeats == 0 && s.firsts > 0:
		repeat, number = true, s.sent*31%s.firsts
	default:
		s.firsts++
	}
	cmd := room.Command{Key: idem.Key{Actor: s.name, Room: s.name, ID: "m" + strconv.Itoa(number)}, Fingerprint: s.fp, Text: s.text}
	s.engine.Send(cmd, &answer{s, repeat, time.Now()})
}

// prepare stores what is then repeated.
func (s *sender) prepare() error {
	repeats := s.p.Repeats
	s.p.Repeats = 0
	for range s.p.Window {
		s.send()
	}
	for range s.p.Window {
		if d := <-s.inbox; d.outcome.Kind != room.Accepted {
			return fmt.Errorf("a first send came to %s", d.outcome.Kind)
		}
	}
	s.p.Repeats = repeats
	return nil
}

func (s *sender) press(at clock) error {
	for range s.p.Window {
		s.send()
	}
	for waiting := s.p.Window; waiting > 0; {
		d := <-s.inbox
		if want := map[bool]room.Kind{false: room.Accepted, true: room.Duplicate}[d.repeat]; d.outcome.Kind != want {
			return fmt.Errorf("a send came to %s, not %s", d.outcome.Kind, want)
		}
		now := time.Now()
		if at.counts(now) {
			s.tally.count++
			if err := s.tally.took.RecordValue(max(1, now.Sub(d.started).Microseconds())); err != nil {
				return err
			}
		}
		if waiting--; now.Before(at.until) {
			s.send()
			waiting++
		}
	}
	return nil
}
