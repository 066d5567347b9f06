package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/protocol"
)

// Medium is what a store lives on: a file, or memory in place of one.
type Medium interface {
	// Open opens another handle, with the given limits. The test closes it.
	Open(limits store.Limits) (store.Store, error)
	// Crashed returns what a kill -9 of all processes leaves, in other words a copy made at this moment.
	Crashed() Medium
	// SetMark puts raw bytes in place of a device's mark; nil removes it. No handle is open.
	SetMark(d ids.Device, mark []byte)
}

// suite is one subtest's view.
type suite struct {
	*testing.T
	empty  func(testing.TB) Medium
	medium Medium
	ctx    context.Context
}

// Run checks a store. empty makes a new medium.
func Run(t *testing.T, empty func(testing.TB) Medium) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"C01 ids differ over openings", (*suite).idsDiffer},
		{"C02 the mark is never lowered", (*suite).markNeverLowered},
		{"C05 a copied store gives other ids", (*suite).copyGivesOtherIDs},
		{"reservations at once", (*suite).reservationsAtOnce},
		{"devices that share their low bits", (*suite).devicesApart},
		{"a damaged mark gives no ids", (*suite).damagedMark},
		{"ordinals run out", (*suite).ordinalsRunOut},
		{"one owner", (*suite).oneOwner},
		{"C03 rows outlive a crash", (*suite).rowsOutliveCrash},
		{"C04 id zero is refused", (*suite).zeroRefused},
		{"adding the same again", (*suite).addingAgain},
		{"a full outbox", (*suite).fullOutbox},
		{"pages and positions", (*suite).pagesAndPositions},
		{"export", (*suite).export},
		{"cancel, retry, discard", (*suite).outsideChanges},
		{"one drains", (*suite).oneDrains},
		{"sending is not believed", (*suite).sendingNotBelieved},
		{"steps are guarded", (*suite).stepsGuarded},
		{"impossible changes", (*suite).impossibleChanges},
		{"C09 a crash at every step", (*suite).crashAtEveryStep},
		{"C21 two processes", (*suite).twoProcesses},
		{"eviction", (*suite).eviction},
		{"the cursor moves with its rows", (*suite).cursorMovesWithRows},
		{"an ack ahead of the cursor", (*suite).ackAhead},
		{"a snapshot replaces", (*suite).snapshotReplaces},
		{"C19 own rows settle", (*suite).ownRowsSettle},
		{"forget", (*suite).forget},
		{"receipts", (*suite).receipts},
		{"wishes of other handles", (*suite).wishes},
		{"a room's bound", (*suite).roomBound},
		{"a room that is only sent to has the same bound", (*suite).roomBoundOfAcks},
		{"changes of others", (*suite).changesOfOthers},
		{"closed", (*suite).closed},
		{"random histories", (*suite).randomHistories},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(&suite{T: t, empty: empty, medium: empty(t), ctx: t.Context()})
		})
	}
}

// open opens a handle that is closed with the test.
func (s *suite) open() store.Store { return s.openOn(s.medium, store.Limits{}) }

func (s *suite) openOn(m Medium, l store.Limits) store.Store {
	s.Helper()
	st, err := m.Open(l)
	s.ok(err)
	s.Cleanup(func() { st.Close() })
	return st
}

func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("error %v, want %v", err, want)
	}
}

func equal[T comparable](s *suite, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

// entry makes a queued row with a content of its own.
func entry(room string, n int) store.Entry {
	id := ids.Make(ids.Device{1}, ids.Ordinal{Lo: uint64(n)}).String()
	return store.Entry{
		Key: store.Key{Room: room, ID: id}, Body: store.Body{Text: fmt.Sprintf("text %d", n), Data: fmt.Appendf(nil, `{"n":%d}`, n)},
		Fingerprint: fmt.Sprintf("v1:%d", n), QueuedAt: int64(1000 + n), State: store.Queued,
	}
}

// add adds entries and returns their rows.
func (s *suite) add(st store.Store, entries ...store.Entry) []store.Row {
	s.Helper()
	added, err := st.Add(s.ctx, 0, entries)
	s.ok(err)
	rows := make([]store.Row, len(added))
	for i, a := range added {
		equal(s, "outcome", a.Outcome, store.Inserted)
		rows[i] = a.Row
	}
	return rows
}

func (s *suite) list(st store.Store) []store.Row {
	s.Helper()
	rows, err := st.List(s.ctx, 0, 1<<20)
	s.ok(err)
	return rows
}

func (s *suite) drain(st store.Store) int64 {
	s.Helper()
	fence, err := st.Drain(s.ctx)
	s.ok(err)
	return fence
}

// apply applies one change and returns its result.
func (s *suite) apply(st store.Store, fence int64, c store.Change) store.Result {
	s.Helper()
	res, err := st.Apply(s.ctx, fence, []store.Change{c})
	s.ok(err)
	return res[0]
}

// sending is the step that a first attempt takes.
func sending(r store.Row) store.Step {
	return store.Step{
		Position: r.Position, Revision: r.Revision, To: store.Sending, FirstSentAt: 5000,
		Schedule: store.Schedule{Attempts: r.Attempts + 1, Interval: 700, LastAttemptAt: 6000},
	}
}

// confirm is the ack of a row.
func confirm(r store.Row, seq int64) store.Confirm {
	return store.Confirm{Key: r.Key, Epoch: "e", Seq: seq, MessageID: messageID(seq), At: 9000}
}

func messageID(seq int64) string { return fmt.Sprintf("m%d", seq) }

func cursor(after int64) protocol.Cursor {
	if after == 0 {
		return protocol.Cursor{Epoch: "e"}
	}
	return protocol.Cursor{Epoch: "e", After: after, MessageID: messageID(after)}
}

// foreign makes rows of another actor, from a seq to another.
func foreign(room string, from, to int64) (rows []store.Arrived) {
	for seq := from; seq <= to; seq++ {
		rows = append(rows, store.Arrived{Message: protocol.Message{
			Room: room, Epoch: "e", Seq: seq, MessageID: messageID(seq), Actor: "b", Text: fmt.Sprint("row ", seq), At: 7000 + seq,
		}})
	}
	return rows
}

// own makes the row by which this actor's own entry arrives.
func own(e store.Entry, seq int64) store.Arrived {
	return store.Arrived{Fingerprint: e.Fingerprint, Message: protocol.Message{
		Room: e.Room, Epoch: "e", Seq: seq, MessageID: messageID(seq), Actor: "a", ClientMessageID: e.ID, Text: e.Text, Data: e.Data, At: 9000,
	}}
}

// seqs tells messages by their seqs and positions.
func seqs(msgs []store.Message) string {
	s := ""
	for _, m := range msgs {
		s += fmt.Sprintf("%d@%d ", m.Seq, m.Position)
	}
	return s
}

func (s *suite) feed(st store.Store, room string, after int64) string {
	s.Helper()
	msgs, _, err := st.Feed(s.ctx, room, after, 1000)
	s.ok(err)
	return seqs(msgs)
}

func (s *suite) view(st store.Store, room string) string {
	s.Helper()
	msgs, err := st.View(s.ctx, room, 0, 1000)
	s.ok(err)
	return seqs(msgs)
}

// ended returns a context that has ended, and its error.
func (s *suite) ended() (context.Context, error) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	return ctx, ctx.Err()
}
