//go:build !js

package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/protocol"
)

// The files of version 1 in testdata were written once, by `go test -run TestMigrate ./client/store/sqlite -write-v1` with the schema of
// version 1, and are kept: what a migration must read is what was really written.
//
//	plain.db     rows in every state, messages, cursors
//	killed.db    the same, with its log, as a kill -9 left it
//	sealed.db    the same, bodies sealed with v1Key
//	damaged.db   the same, with three rows that can't be read
//
// Those of version 2 hold the same, and were written by the last release that had it; there is no damaged one.

var v1Key = []byte("v1 key v1 key v1 key v1 key v1 k")

// wanted is what v1.json says that each file holds.
type wanted struct {
	Rows     []store.Row
	Bodies   []store.Body
	Messages []store.Message
}

func v1Path(name string) string { return filepath.Join("testdata", "v1", name) }

// writeV1 makes the files anew.
func writeV1(tb testing.TB) {
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	must(os.MkdirAll(v1Path(""), 0o755))
	for name, key := range map[string][]byte{"plain.db": nil, "sealed.db": v1Key} {
		os.Remove(v1Path(name))
		s, err := Open(tb.Context(), v1Path(name), Options{Key: key, last: 1})
		must(err)
		fillV1(tb, s)
		if name == "plain.db" {
			w := wantedOf(tb, s)
			raw, err := json.MarshalIndent(w, "", "  ")
			must(err)
			must(os.WriteFile(v1Path("v1.json"), append(raw, '\n'), 0o644))
			for _, suffix := range []string{"", "-wal"} {
				copyFile(tb, v1Path(name)+suffix, v1Path("killed.db"+suffix))
			}
		}
		must(s.Close())
		os.Remove(v1Path(name) + ".lock")
	}
	copyFile(tb, v1Path("plain.db"), v1Path("damaged.db"))
	raw(tb, v1Path("damaged.db"), `
		UPDATE outbox SET state = 77 WHERE position = 2;
		UPDATE outbox SET attempts = 'many' WHERE position = 5;
		UPDATE outbox SET id = x'00ff' WHERE position = 9;`)
}

// fillV1 puts rows of every kind into a store.
func fillV1(tb testing.TB, s store.Store) {
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	ctx := tb.Context()
	must(s.Bind(ctx, store.Owner{Actor: "anna", Server: "server-1"}))
	fence, err := s.Drain(ctx)
	must(err)
	room := []string{"harbour", "a_b", "Ἅπαξ λεγόμενον"}
	var entries []store.Entry
	for n := range 12 {
		e := store.Entry{
			Key:  store.Key{Room: room[n%3], ID: ids.Make(ids.Device{1}, ids.Ordinal{Lo: uint64(n)}).String()},
			Body: store.Body{Text: fmt.Sprintf("message %d – ναῦς", n)}, Fingerprint: fmt.Sprintf("v1:%064x", n),
			QueuedAt: 1_790_000_000_000 + int64(n), State: store.Queued,
		}
		if n%2 == 0 {
			e.Data = fmt.Appendf(nil, `{"n":%d}`, n)
		}
		entries = append(entries, e)
	}
	entries[4].ID = "order-7/№"[:8] // an id from elsewhere
	_, err = s.Add(ctx, 0, entries)
	must(err)
	sched := store.Schedule{Attempts: 2, Interval: 1700, LastAttemptAt: 1_790_000_100_000}
	var own []store.Arrived
	for seq := int64(1); seq <= 3; seq++ {
		own = append(own, store.Arrived{Message: protocol.Message{
			Room: "harbour", Epoch: "e1", Seq: seq, MessageID: fmt.Sprint("m", seq), Actor: "bert", Text: fmt.Sprint("row ", seq), Data: []byte("[1]"), At: 1_790_000_000_500,
		}})
	}
	_, err = s.Apply(ctx, fence, []store.Change{
		store.Snapshot{Room: "harbour", Cursor: protocol.Cursor{Epoch: "e1", After: 3, MessageID: "m3"}, Messages: own},
		store.Snapshot{Room: "a_b", Cursor: protocol.Cursor{Epoch: "e1"}},
		store.Step{Position: 1, Revision: 1, To: store.Sending, Schedule: sched, FirstSentAt: 1_790_000_099_000},
		store.Step{Position: 3, Revision: 1, To: store.Parked, Schedule: sched, Reason: "too_large", AsideAt: 1_790_000_200_000},
		store.Step{Position: 6, Revision: 1, To: store.Uncertain, Schedule: sched, AsideAt: 1_790_000_300_000},
		store.Step{Position: 7, Revision: 1, To: store.Queued, Schedule: sched, Reason: "forbidden"},
		store.Confirm{Key: entries[9].Key, Epoch: "e1", Seq: 5, MessageID: "m5", At: 1_790_000_400_000},
	})
	must(err)
	_, err = s.Discard(ctx, entries[11].Key) // the last position: it must never be given again
	must(err)
}

func wantedOf(tb testing.TB, s *Store) (w wanted) {
	tb.Helper()
	ctx := tb.Context()
	err := s.Export(ctx, func(r store.Row, b store.Body) error {
		w.Rows, w.Bodies = append(w.Rows, r), append(w.Bodies, b)
		return nil
	})
	msgs, viewErr := s.View(ctx, "harbour", 0, 100)
	w.Messages = msgs
	if err := errors.Join(err, viewErr); err != nil {
		tb.Fatal(err)
	}
	return w
}

// v1File copies a file of version 1 to where it may be changed.
func v1File(tb testing.TB, name string) string {
	tb.Helper()
	return oldFile(tb, 1, name)
}

// oldFile does so for a version.
func oldFile(tb testing.TB, version int, name string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	for _, suffix := range []string{"", "-wal"} {
		copyFile(tb, filepath.Join("testdata", fmt.Sprint("v", version), name)+suffix, path+suffix)
	}
	return path
}

// asJSONText compares what holds slices.
func asJSONText(tb testing.TB, v any) string {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

func readWanted(tb testing.TB) (w wanted) {
	tb.Helper()
	raw, err := os.ReadFile(v1Path("v1.json"))
	if err == nil {
		err = json.Unmarshal(raw, &w)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if len(w.Rows) != 10 || len(w.Messages) != 4 {
		tb.Fatalf("v1.json holds %d rows, %d messages", len(w.Rows), len(w.Messages))
	}
	return w
}
