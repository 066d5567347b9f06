//go:build !js

package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/ids"
	"hapax/client/store"
)

func open(tb testing.TB, path string, o Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// TestMigrate is C11: all rows, same ids, same order, from every kind of file that an earlier version left.
func TestMigrate(t *testing.T) {
	if *rewriteV1 {
		writeV1(t)
	}
	want := asJSONText(t, readWanted(t))
	for _, c := range []struct {
		version int
		name    string
		key     []byte
	}{
		{1, "plain.db", nil}, {1, "killed.db", nil}, {1, "sealed.db", v1Key}, {1, "plain.db", v1Key},
		{2, "plain.db", nil}, {2, "killed.db", nil}, {2, "sealed.db", v1Key}, {2, "plain.db", v1Key},
	} {
		path := oldFile(t, c.version, c.name)
		s := open(t, path, Options{Key: c.key, Encrypt: c.name == "plain.db" && c.key != nil})
		if got := asJSONText(t, wantedOf(t, s)); got != want {
			t.Errorf("%s: %s\nwant %s", c.name, got, want)
		}
		if r := s.Report(); r != (store.Report{From: c.version, To: store.Version}) {
			t.Errorf("%s: report %+v", c.name, r)
		}
		owner, err := s.Owner(t.Context())
		if err != nil || owner != (store.Owner{Actor: "anna", Server: "server-1"}) {
			t.Errorf("%s: owner %v, %v", c.name, owner, err)
		}
		l, err := s.Reserve(t.Context(), s.Device(), 8, 0)
		if err != nil || l.Start != (ids.Ordinal{Lo: 1}) || s.Device() == (ids.Device{}) {
			t.Errorf("%s: lease %+v, %v", c.name, l, err)
		}
		e := store.Entry{Key: store.Key{Room: "r", ID: "new"}, Fingerprint: "v1:n", State: store.Queued}
		added, err := s.Add(t.Context(), 0, []store.Entry{e})
		if err != nil || added[0].Row.Position != 13 {
			t.Errorf("%s: the next row: %+v, %v", c.name, added, err)
		}
		device := s.Device()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path, Options{Key: c.key})
		if r := s.Report(); r != (store.Report{From: store.Version, To: store.Version}) || s.Device() != device {
			t.Errorf("%s: opened again: %+v", c.name, r)
		}
	}
}

// TestUnreadableRows: they are set aside with their bytes, counted and told of once; the others stay in their order.
func TestUnreadableRows(t *testing.T) {
	path := v1File(t, "damaged.db")
	s := open(t, path, Options{})
	if r := s.Report(); r.SetAside != 3 {
		t.Errorf("report %+v", r)
	}
	w := readWanted(t)
	var left []store.Row
	for _, r := range w.Rows {
		if r.Position != 2 && r.Position != 5 && r.Position != 9 {
			left = append(left, r)
		}
	}
	if got, want := asJSONText(t, wantedOf(t, s).Rows), asJSONText(t, left); got != want {
		t.Errorf("rows %s\nwant %s", got, want)
	}
	var all strings.Builder
	err := s.SetAside(t.Context(), func(a store.Aside) error {
		all.WriteString(a.Table + ": " + a.Why + ": " + string(a.Row) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"state 77", "attempts is not a number", "id is not text", `"many"`, `"message 1 – ναῦς"`, `"message 4 – ναῦς"`, `"message 8 – ναῦς"`, `{"base64":"AP8="}`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s isn't in\n%s", want, &all)
		}
	}
	s.Close()
	s = open(t, path, Options{})
	c, err := s.Counts(t.Context())
	if err != nil || c.SetAside != 3 || s.Report().SetAside != 0 {
		t.Errorf("opened again: %+v, %+v, %v", c, s.Report(), err)
	}
}

// TestStepsAreFrozen: what the first step makes is what lies in the files.
func TestStepsAreFrozen(t *testing.T) {
	schema := func(path string) (all string) {
		conn, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		d := &db{conn: conn, stmts: map[string]*sqlite3.Stmt{}}
		err = d.query(func(s *sqlite3.Stmt) error {
			all += s.ColumnText(0) + "\n"
			return nil
		}, `SELECT sql FROM sqlite_schema ORDER BY name`)
		if err := errors.Join(err, d.close()); err != nil {
			t.Fatal(err)
		}
		return all
	}
	fresh := newFile(t).path
	if err := open(t, fresh, Options{last: 1}).Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := schema(fresh), schema(v1File(t, "plain.db")); got != want {
		t.Errorf("version 1 changed:\n%s\nwas\n%s", got, want)
	}
	// A store that was migrated is one that was made.
	made, migrated, later := newFile(t).path, v1File(t, "plain.db"), oldFile(t, 2, "plain.db")
	for _, path := range []string{made, migrated, later} {
		if err := open(t, path, Options{}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{migrated, later} {
		if got, want := schema(path), schema(made); got != want {
			t.Errorf("migrated:\n%s\nmade:\n%s", got, want)
		}
	}
}

// newer makes a file of a later version, whose schema this SDK doesn't know.
func newer(tb testing.TB) (path string, device ids.Device, mark ids.Lease) {
	tb.Helper()
	path = v1File(tb, "plain.db")
	s := open(tb, path, Options{})
	l, err := s.Reserve(tb.Context(), s.Device(), 8, 5)
	if err := errors.Join(err, s.Close()); err != nil {
		tb.Fatal(err)
	}
	raw(tb, path, fmt.Sprintf(`
		PRAGMA user_version = %d;
		ALTER TABLE outbox ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
		UPDATE outbox SET state = 9 WHERE position = 4;
		ALTER TABLE messages RENAME COLUMN text TO body;
		CREATE TABLE reactions (room TEXT, emoji TEXT);
		INSERT INTO reactions VALUES ('harbour', '⚓');
		CREATE VIEW v AS SELECT * FROM reactions;
		CREATE TRIGGER t AFTER DELETE ON outbox BEGIN DELETE FROM reactions; END;
		INSERT INTO meta VALUES ('zstd', 1);`, store.Version+1))
	return path, s.Device(), l
}

// TestIncompatible: nothing changes until Reset, which carries over what matters.
func TestIncompatible(t *testing.T) {
	path, device, lease := newer(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrIncompatible) {
			t.Fatalf("opened: %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Fatal("opening changed the file")
	}
	r, err := Reset(t.Context(), path, Options{})
	if err != nil || r != (store.Report{From: store.Version + 1, To: store.Version, SetAside: 1}) {
		t.Fatalf("reset: %+v, %v", r, err)
	}
	s := open(t, path, Options{})
	want, got := readWanted(t), wantedOf(t, s)
	var left []store.Row
	for _, r := range want.Rows {
		if r.Position != 4 {
			left = append(left, r)
		}
	}
	if asJSONText(t, got.Rows) != asJSONText(t, left) || len(got.Messages) != 0 {
		t.Errorf("carried over %s, want %s", asJSONText(t, got), asJSONText(t, left))
	}
	rooms, err := s.Rooms(t.Context())
	if err != nil || len(rooms) != 0 {
		t.Errorf("cursors %v, %v", rooms, err)
	}
	next, err := s.Reserve(t.Context(), device, 8, 0)
	last, _ := lease.Last()
	if err != nil || s.Device() != device || next.Start.Cmp(last) <= 0 {
		t.Errorf("mark lowered: %+v after %+v, %v", next, lease, err)
	}
	added, err := s.Add(t.Context(), 0, []store.Entry{{Key: store.Key{Room: "r", ID: "new"}, Fingerprint: "f", State: store.Queued}})
	if err != nil || added[0].Row.Position != 13 {
		t.Errorf("the next row: %+v, %v", added, err)
	}
	owner, err := s.Owner(t.Context())
	if err != nil || owner.Actor != "anna" {
		t.Errorf("owner %v, %v", owner, err)
	}
}

// TestResetRefuses: each refusal leaves every byte.
func TestResetRefuses(t *testing.T) {
	busy, _, _ := newer(t)
	holder := open(t, v1File(t, "plain.db"), Options{})
	if _, err := holder.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same lock file, held for the file of the newer version.
	if err := os.Link(holder.path+".lock", busy+".lock"); err != nil {
		t.Fatal(err)
	}
	noOutbox, _, _ := newer(t)
	raw(t, noOutbox, `ALTER TABLE outbox RENAME TO outgoing`)
	for _, c := range []struct {
		path string
		want error
	}{{busy, store.ErrDraining}, {noOutbox, store.ErrCorrupt}, {newFile(t).path, store.ErrCorrupt}, {v1File(t, "sealed.db"), store.ErrWrongKey}} {
		before, _ := os.ReadFile(c.path)
		if _, err := Reset(t.Context(), c.path, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("%s: changed", c.path)
		}
	}
}

// TestResetLosesNoMark: a file whose marks can't be found gives ids of another device, one whose mark is damaged gives none.
func TestResetLosesNoMark(t *testing.T) {
	path, device, _ := newer(t)
	raw(t, path, `ALTER TABLE marks RENAME TO high_water`)
	if _, err := Reset(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, Options{})
	if _, err := s.Reserve(t.Context(), s.Device(), 8, 0); err != nil || s.Device() == device {
		t.Errorf("device kept without its mark: %v", err)
	}
	for _, damage := range []string{`UPDATE marks SET mark = x'00'`, `DELETE FROM marks`} {
		path, device, _ := newer(t)
		raw(t, path, damage)
		if _, err := Reset(t.Context(), path, Options{}); err != nil {
			t.Fatal(err)
		}
		s := open(t, path, Options{})
		if _, err := s.Reserve(t.Context(), device, 8, 0); !errors.Is(err, store.ErrCorrupt) || s.Device() != device {
			t.Errorf("%s: a lease: %v", damage, err)
		}
	}
}

// TestNewerProcess: another process brings the store to a newer version while this one has it open.
func TestNewerProcess(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	raw(t, path, fmt.Sprint(`PRAGMA user_version = `, store.Version+1))
	e := store.Entry{Key: store.Key{Room: "r", ID: "new"}, Fingerprint: "f", State: store.Queued}
	if _, err := s.Add(t.Context(), 0, []store.Entry{e}); !errors.Is(err, store.ErrIncompatible) {
		t.Error(err)
	}
	if _, err := s.Reserve(t.Context(), s.Device(), 8, 0); !errors.Is(err, store.ErrIncompatible) {
		t.Error(err)
	}
}
