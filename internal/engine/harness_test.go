package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hapax/internal/engine"
	"hapax/internal/fanout/local"
	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faults is a store whose commits can be held, failed and counted.
type faults struct {
	store.Store

	mu     sync.Mutex
	before func(*store.Batch) error // called ahead of a commit; an error takes its place
	after  func(*store.Batch) error // called once it is stored, before it is told
	view   func() error             // called ahead of a view
	viewed func()                   // called once a view has been read
	sizes  []int
}

func (f *faults) set(set func(f *faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set(f)
}

func (f *faults) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	f.mu.Lock()
	before, after := f.before, f.after
	f.sizes = append(f.sizes, len(b.Commands))
	f.mu.Unlock()
	if before != nil {
		if err := before(b); err != nil {
			return nil, err
		}
	}
	outcomes, err := f.Store.Commit(ctx, b)
	if err == nil && after != nil {
		err = after(b)
	}
	return outcomes, err
}

func (f *faults) View(ctx context.Context, read func(store.View) error) error {
	f.mu.Lock()
	view, viewed := f.view, f.viewed
	f.mu.Unlock()
	if view != nil {
		if err := view(); err != nil {
			return err
		}
	}
	err := f.Store.View(ctx, read)
	if viewed != nil {
		viewed()
	}
	return err
}

// gate holds whoever comes to it until it is opened.
type gate chan struct{}

func (g gate) hold(*store.Batch) error { <-g; return nil }

// frame is the test's wire form of a row: readable back, and it shows whose copy it is.
func frame(dst []byte, name, epoch string, m *room.Message, own bool) []byte {
	id := ""
	if own {
		id = m.ID
	}
	return fmt.Appendf(dst, "%s|%s|%d|%s|%s|%s|%s", name, epoch, m.Seq, m.MessageID, m.Actor, id, m.Text)
}

func options() engine.Options {
	o := engine.DefaultOptions()
	o.Encode = frame
	return o
}

// elsewhere stores rows as another process would. No hint is given.
func (r *rig) elsewhere(cmds ...room.Command) {
	r.t.Helper()
	outcomes, err := r.store.Store.Commit(context.Background(), &store.Batch{
		Now: time.Now().UnixMilli(), RetentionMs: 1 << 40, Commands: cmds,
		Judge: func(f room.Facts, c *room.Command) room.Outcome { return room.Decide(f, c) },
	})
	for _, o := range outcomes {
		if err == nil && o.Kind != room.Accepted {
			err = errors.New(o.Kind.String())
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// rig is an engine on a memory disk with faults.
type rig struct {
	*engine.Engine
	t     testing.TB
	disk  *memory.Disk
	store *faults
	bus   *local.Bus
}

func start(t testing.TB, disk *memory.Disk, o engine.Options) *rig {
	t.Helper()
	if disk == nil {
		disk = memory.NewDisk(memory.Counted("n"))
	}
	st, err := memory.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, disk: disk, store: &faults{Store: st}, bus: local.New()}
	if r.Engine, err = engine.New(r.store, r.bus, o); err != nil {
		t.Fatal(err)
	}
	return r
}

// stop ends engine, bus and store, so that the disk can be opened again.
func (r *rig) stop() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(r.Close(ctx), r.bus.Close(), r.store.Close()); err != nil {
		r.t.Error(err)
	}
}

func fingerprint(text string) (fp idem.Fingerprint) {
	fp[0] = 1
	copy(fp[1:], text)
	return fp
}

func command(actor, name, id, text string) room.Command {
	return room.Command{Key: idem.Key{Actor: actor, Room: name, ID: id}, Fingerprint: fingerprint(text), Text: text}
}

// say sends and waits for the outcome.
func (r *rig) say(actor, name, id, text string) room.Outcome {
	return r.SendWait(context.Background(), command(actor, name, id, text))
}

// must says something that has to be stored.
func (r *rig) must(actor, name, id, text string) room.Outcome {
	r.t.Helper()
	o := r.say(actor, name, id, text)
	if o.Kind != room.Accepted {
		r.t.Fatalf("%s says %q in %s as %s: %v", actor, text, name, id, o.Kind)
	}
	return o
}

// fill stores n rows of an actor.
func (r *rig) fill(actor, name string, n int) {
	r.t.Helper()
	for i := range n {
		r.must(actor, name, fmt.Sprintf("%s-%d", actor, i), fmt.Sprintf("row %d", i))
	}
}

// log reads all rows of a room from the store.
func (r *rig) log(name string) (rows []room.Message) {
	r.t.Helper()
	err := r.store.Store.View(context.Background(), func(v store.View) (err error) {
		s, err := v.Room(name)
		if err == nil {
			rows, _, err = v.After(name, s.Low, 1<<20, 1<<30)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

// reader is a connection that remembers what it was given, in order, and keeps a view as a client does.
type reader struct {
	actor string
	quota int // rows it can take before it is too slow; 0: any number

	mu      sync.Mutex
	events  []string // "ack ID", "answer HEAD", "row SEQ", "flush"
	frames  []string
	epoch   string
	view    []int64
	head    int64
	headID  string
	faults  []string
	agesOut bool       // rows may age out before they are handed on: then it sees that they are missing, and resumes
	lost    [][2]int64 // the seqs of such rows, from and to
	slow    bool
	flushes int
	dirty   bool     // something came since the last flush
	unacked []string // ids of first sends of this connection that have no answer yet
}

func (c *reader) Actor() string { return c.actor }

func (c *reader) Rows(name string, rows []engine.Row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = true
	for _, row := range rows {
		if c.slow = c.slow || c.quota > 0 && len(c.frames) >= c.quota; c.slow {
			return
		}
		own, f := row.Actor == c.actor, row.Others
		if own {
			f = row.Own
		}
		if want := string(frame(nil, name, c.epoch, &row.Message, own)); string(f) != want {
			c.faults = append(c.faults, fmt.Sprintf("frame %q, want %q", f, want))
		}
		c.take(&row.Message)
		c.note("row " + strconv.FormatInt(row.Seq, 10))
		c.frames = append(c.frames, string(f))
	}
}

// note keeps the last events, enough to tell what led to a fault.
func (c *reader) note(event string) {
	if c.events = append(c.events, event); len(c.events) > 100 {
		c.events = slices.Delete(c.events, 0, 50)
	}
}

// take adds a row to the view; it has to be the next.
func (c *reader) take(m *room.Message) {
	switch {
	case m.Seq == c.head+1:
	case c.agesOut && m.Seq > c.head+1:
		c.lost = append(c.lost, [2]int64{c.head + 1, m.Seq - 1})
	default:
		c.faults = append(c.faults, fmt.Sprintf("row %d after %d", m.Seq, c.head))
	}
	if m.Actor == c.actor && slices.Contains(c.unacked, m.ID) {
		c.faults = append(c.faults, fmt.Sprintf("row %d came ahead of its ack", m.Seq))
	}
	c.view, c.head, c.headID = append(c.view, m.Seq), m.Seq, m.MessageID
}

func (c *reader) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = false
	c.flushes++
}

// answer takes a snapshot or delta as a client does.
func (c *reader) answer(a engine.Catchup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("answer " + strconv.FormatInt(a.Head, 10))
	if a.Reset {
		c.view, c.epoch = nil, a.Epoch
		c.head = a.Head - int64(len(a.Messages))
	}
	for i := range a.Messages {
		if !a.Reset && a.Messages[i].Seq <= c.head {
			continue // it came live after the cursor was read and before the subscribe stopped the live rows
		}
		c.take(&a.Messages[i])
	}
	if !a.More && (c.head != a.Head || len(a.Messages) > 0 && c.headID != a.HeadID) {
		c.faults = append(c.faults, fmt.Sprintf("answer up to %d, head %d %s", c.head, a.Head, a.HeadID))
	}
	if !a.More {
		c.headID = a.HeadID
	}
}

func (c *reader) cursor() *engine.Cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &engine.Cursor{Epoch: c.epoch, After: c.head, MessageID: c.headID}
}

// seen is what the reader was given. At rest nothing of it waits to be flushed.
func (c *reader) seen() (view []int64, events, faults []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if faults = slices.Clone(c.faults); c.dirty {
		faults = append(faults, "not flushed")
	}
	return slices.Clone(c.view), slices.Clone(c.events), faults
}

// join subscribes with a cursor and returns the answer.
func (r *rig) join(c *reader, name string, cur *engine.Cursor) (a engine.Catchup) {
	r.t.Helper()
	err := r.Subscribe(context.Background(), c, name, cur, engine.Whole, func(got engine.Catchup) { a = got; c.answer(got) })
	if err != nil {
		r.t.Fatalf("%s joins %s: %v", c.actor, name, err)
	}
	return a
}

// done is a completion on a reader's connection.
type done struct {
	c  *reader
	id string
	ch chan room.Outcome
}

func (d done) Complete(o room.Outcome) {
	if d.c != nil {
		d.c.mu.Lock()
		d.c.dirty = true
		d.c.note("ack " + d.id)
		if i := slices.Index(d.c.unacked, d.id); i >= 0 {
			d.c.unacked = slices.Delete(d.c.unacked, i, i+1)
		}
		d.c.mu.Unlock()
	}
	d.ch <- o
}

func (d done) Flusher() engine.Subscriber {
	if d.c == nil {
		return nil
	}
	return d.c
}

// post sends without waiting, from a connection (nil: none).
func (r *rig) post(c *reader, cmd room.Command) <-chan room.Outcome {
	d := done{c, cmd.Key.ID, make(chan room.Outcome, 1)}
	r.Send(cmd, d)
	return d.ch
}

// sound holds a reader against the log: dense, and up to its end.
func (r *rig) sound(c *reader, name string) {
	r.t.Helper()
	view, events, faults := c.seen()
	if len(faults) > 0 {
		r.t.Fatalf("%s: %s (events %s)", c.actor, strings.Join(faults, "; "), strings.Join(events, ", "))
	}
	log := r.log(name)
	if len(view) > len(log) {
		r.t.Fatalf("%s sees %d rows of %d", c.actor, len(view), len(log))
	}
	for i, m := range log[len(log)-len(view):] {
		if m.Seq != view[i] {
			r.t.Fatalf("%s sees %v, the log ends in %d", c.actor, view, log[len(log)-1].Seq)
		}
	}
	if head := int64(len(log)); c.head != head {
		r.t.Fatalf("%s is at %d, the room at %d", c.actor, c.head, head)
	}
}
