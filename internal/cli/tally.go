package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store"
)

// reconcile is how often the outbox itself is read while waiting: events are hints and may be missed.
const reconcile = time.Second

// tally knows what became of the messages of one command. It counts by events, and by the outbox where one was missed.
type tally struct {
	c    *client.Client
	give context.CancelCauseFunc
	tell func(client.Event) // of connections that fail
	stop func()
	bell chan struct{} // rung, without blocking, whenever something changed

	mu      sync.Mutex
	open    map[client.Key]bool // expected and not yet known to have ended; true for this command's own
	early   map[client.Key]session.RowConfirmed
	ended   sendSummary
	reasons map[client.Key]string
}

type sendSummary struct {
	First     int    `json:"first"`
	Duplicate int    `json:"duplicate"`
	Parked    int    `json:"parked"`
	Uncertain int    `json:"uncertain"`
	Gone      int    `json:"gone"` // cancelled or discarded meanwhile by somebody else
	Waiting   int    `json:"waiting"`
	Unsent    int    `json:"neverSent"`        // of those that wait: certainly never left
	Reason    string `json:"reason,omitempty"` // of the first row that is parked, uncertain or holds its room
	Store     string `json:"store,omitempty"`
}

func newTally(c *client.Client, give context.CancelCauseFunc, tell func(client.Event)) *tally {
	t := &tally{
		c: c, give: give, tell: tell, bell: make(chan struct{}, 1), open: map[client.Key]bool{},
		early: map[client.Key]session.RowConfirmed{}, reasons: map[client.Key]string{},
	}
	t.stop = c.Listen(t.hear)
	return t
}

// adopt takes in what an earlier command left in the outbox: it is sent too.
func (t *tally) adopt(ctx context.Context) error {
	for row, err := range t.c.Outbox(ctx) {
		if err != nil {
			return err
		}
		if row.State == store.Queued || row.State == store.Sending {
			t.expect(row.Key, false)
		}
	}
	return nil
}

// put counts a message that this command has put into the outbox.
func (t *tally) put(k client.Key) { t.expect(k, true) }

// expect counts a message that is in the outbox now. Its ack may have come already.
func (t *tally) expect(k client.Key, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.early[k]; ok {
		delete(t.early, k)
		t.count(e)
		return
	}
	if _, adopted := t.open[k]; !adopted { // --id may name a row that was there
		t.open[k] = own
	}
}

func (t *tally) hear(e client.Event) {
	t.tell(e)
	if err := hopeless(e); err != nil {
		t.give(err)
	}
	t.mu.Lock()
	switch e := e.(type) {
	case session.RowConfirmed:
		if _, open := t.open[e.Key]; open {
			delete(t.open, e.Key)
			delete(t.reasons, e.Key)
			t.count(e)
		} else {
			t.early[e.Key] = e
		}
	case session.RowChanged:
		t.stands(e.Row)
	}
	t.mu.Unlock()
	select {
	case t.bell <- struct{}{}:
	default:
	}
}

func (t *tally) count(e session.RowConfirmed) {
	if e.Duplicate {
		t.ended.Duplicate++
	} else {
		t.ended.First++
	}
}

// stands notes how a row of the outbox stands. A held row is queued with a reason.
func (t *tally) stands(r client.Row) {
	if _, open := t.open[r.Key]; !open {
		return
	}
	delete(t.reasons, r.Key)
	if r.Reason != "" {
		t.reasons[r.Key] = r.Reason
		if t.ended.Reason == "" {
			t.ended.Reason = r.Reason
		}
	}
	switch r.State {
	case store.Parked:
		delete(t.open, r.Key)
		t.ended.Parked++
	case store.Uncertain:
		delete(t.open, r.Key)
		t.ended.Uncertain++
	}
}

// wait returns once every message has ended, or none of the others can end because their room is held, or ctx ends.
func (t *tally) wait(ctx context.Context, show *progress) {
	tick := time.NewTicker(reconcile)
	defer tick.Stop()
	for !t.settled() {
		show.sent(t)
		select {
		case <-ctx.Done():
			return
		case <-t.bell:
		case <-tick.C:
			t.reread(ctx)
		}
	}
}

// settled tells whether waiting longer is of no use: all that are open stand in rooms whose head is held.
func (t *tally) settled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := map[string]bool{}
	for k := range t.reasons {
		held[k.Room] = true
	}
	for k := range t.open {
		if !held[k.Room] {
			return false
		}
	}
	return true
}

// held tells whether nothing of the outbox can go on by itself: each of its rooms has a row that holds it. why is the first reason.
func (t *tally) held(ctx context.Context) (why string, held bool) {
	waiting, holds := map[string]bool{}, map[string]bool{}
	for row, err := range t.c.Outbox(ctx) {
		if err != nil {
			return "", false
		}
		t.mu.Lock()
		t.stands(row)
		t.mu.Unlock()
		switch {
		case row.Aside():
		case row.Reason != "":
			holds[row.Room] = true
			if why == "" {
				why = row.Reason
			}
			fallthrough
		default:
			waiting[row.Room] = true
		}
	}
	for room := range waiting {
		if !holds[room] {
			return "", false
		}
	}
	return why, why != ""
}

// reread asks the outbox about the rows of which no event came, also those that another process sends.
func (t *tally) reread(ctx context.Context) {
	t.mu.Lock()
	keys := slices.Collect(maps.Keys(t.open))
	t.mu.Unlock()
	for _, k := range keys {
		row, err := t.c.Row(ctx, k.Room, k.ID)
		if err == nil {
			t.mu.Lock()
			t.stands(row)
			t.mu.Unlock()
			continue
		}
		if !errors.Is(err, client.ErrNoRow) {
			return
		}
		r, err := t.c.WaitAck(ctx, k.Room, k.ID) // the row is gone, so this doesn't wait
		switch {
		case err == nil:
			t.hear(session.RowConfirmed{Key: k, MessageID: r.MessageID, Seq: r.Seq, Epoch: r.Epoch, At: r.At, Duplicate: r.Duplicate})
		case errors.Is(err, client.ErrNoRow), errors.Is(err, client.ErrGone):
			t.mu.Lock()
			delete(t.open, k)
			t.ended.Gone++
			t.mu.Unlock()
		}
	}
}

// takeBack removes what this command put into a store that turned out to be another actor's: it would go out under that name.
// Nothing of it was sent, since nothing ever is from another's store.
func (t *tally) takeBack(ctx context.Context) error {
	t.mu.Lock()
	var own []client.Key
	for k, mine := range t.open {
		if mine {
			own = append(own, k)
		}
	}
	t.mu.Unlock()
	for _, k := range own {
		if err := t.c.Cancel(ctx, k.Room, k.ID); errors.Is(err, client.ErrNoRow) || errors.Is(err, client.ErrMayHaveBeenSent) {
			continue // it was there before, and stays
		} else if err != nil {
			return fmt.Errorf("taking back %s: %w", k.ID, err)
		}
		t.mu.Lock()
		delete(t.open, k)
		t.ended.Gone++
		t.mu.Unlock()
	}
	return nil
}

// now is the summary as it stands.
func (t *tally) now() sendSummary {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.ended
	s.Waiting = len(t.open)
	return s
}

// summary ends the sending and tells what came of all.
func (t *tally) summary(ctx context.Context) sendSummary {
	t.c.Disconnect()
	for range 2 { // the second is answered when what came with the first is done: from here on nothing leaves
		t.c.Stats()
	}
	s := t.now()
	if s.Waiting == 0 {
		return s
	}
	for row, err := range t.c.Outbox(ctx) {
		if err != nil {
			break // what can't be read isn't claimed
		}
		t.mu.Lock()
		if _, open := t.open[row.Key]; open && row.FirstSentAt == 0 {
			s.Unsent++
		}
		t.mu.Unlock()
	}
	return s
}

// kept says what is known of messages that still wait when the command ends.
func (s sendSummary) kept() string {
	var text string
	switch {
	case s.Waiting == 0:
		return ""
	case s.Unsent == s.Waiting:
		text = fmt.Sprintf("; nothing of the %d that waited has left", s.Waiting)
	case s.Unsent > 0:
		text = fmt.Sprintf("; of the %d that waited %d never left, the others may have been stored or not", s.Waiting, s.Unsent)
	default:
		text = fmt.Sprintf("; the %d that waited may have been stored or not", s.Waiting)
	}
	if s.Store == "" {
		return text + "; without --store they are gone with this command"
	}
	return text + "; they wait in " + s.Store
}

func (s sendSummary) print(w io.Writer, asJSON, offline bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	if offline {
		_, err := fmt.Fprintf(w, "%d stored in %s, waiting to be sent\n", s.Waiting, s.Store)
		return err
	}
	text := fmt.Sprintf("%d first, %d duplicate, %d parked", s.First, s.Duplicate, s.Parked)
	if s.Uncertain > 0 {
		text += fmt.Sprintf(", %d uncertain", s.Uncertain)
	}
	if s.Gone > 0 {
		text += fmt.Sprintf(", %d cancelled", s.Gone)
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf(", %d waiting", s.Waiting)
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, atLeast int) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions(max(atLeast, 1),
		progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionSetDescription("stored"),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())}
}

func (p *progress) sent(t *tally) {
	if p.bar == nil {
		return
	}
	s := t.now()
	done := s.First + s.Duplicate + s.Parked + s.Uncertain
	p.bar.ChangeMax(max(done+s.Waiting, 1))
	// A bar that can't be drawn is no reason to stop sending.
	_ = p.bar.Set(done)
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
