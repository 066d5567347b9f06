//go:build !js

package sqlite

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"pgregory.net/rapid"

	"hapax/client/store"
)

var otherKey = []byte("other keyother keyother keyother")

// bytesOf returns everything that lies on disk.
func bytesOf(tb testing.TB, path string) (all []byte) {
	tb.Helper()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil && !os.IsNotExist(err) {
			tb.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// TestSealed: neither text, data nor fingerprint lies on disk in the clear; rooms and ids do, as the doc says.
func TestSealed(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{Key: v1Key})
	fillV1(t, s)
	check := func(all []byte) {
		t.Helper()
		for _, secret := range []string{"message 3", "ναῦς", "row 2", `{"n":`, "v1:00000"} {
			if bytes.Contains(all, []byte(secret)) {
				t.Errorf("%q lies on disk", secret)
			}
		}
		if !bytes.Contains(all, []byte("harbour")) {
			t.Error("the test doesn't look at the rows")
		}
	}
	check(bytesOf(t, path))
	s.Close()
	check(bytesOf(t, path))
}

// TestSealingAPlainStore: opening with a key seals what is there, and leaves none of it in the clear once the log is gone.
func TestSealingAPlainStore(t *testing.T) {
	path := v1File(t, "plain.db")
	if !bytes.Contains(bytesOf(t, path), []byte("message 3")) {
		t.Fatal("nothing to seal")
	}
	plain := open(t, path, Options{})
	s := open(t, path, Options{Key: v1Key, Encrypt: true})
	if got, want := asJSONText(t, wantedOf(t, s)), asJSONText(t, readWanted(t)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// The handle that knows no key neither reads nor writes any more.
	e := store.Entry{Key: store.Key{Room: "r", ID: "new"}, Fingerprint: "f", State: store.Queued}
	if _, err := plain.Add(t.Context(), 0, []store.Entry{e}); !errors.Is(err, store.ErrWrongKey) {
		t.Error(err)
	}
	if _, err := plain.List(t.Context(), 0, 10); !errors.Is(err, store.ErrWrongKey) {
		t.Error(err)
	}
	plain.Close()
	s.Close()
	for _, secret := range []string{"message 3", "v1:00000"} {
		if bytes.Contains(bytesOf(t, path), []byte(secret)) {
			t.Errorf("%q lies on disk", secret)
		}
	}
}

// TestAKeyTakesNothingUnsealed: who can write the file, but has no key, can't have the store take bodies of his own: not by taking the check
// of the key away, nor by rows in the clear beside sealed ones, nor by a whole file in the clear.
func TestAKeyTakesNothingUnsealed(t *testing.T) {
	const forged = `UPDATE outbox SET text = 'forged', data = NULL, fingerprint = 'v1:f' WHERE position = 4;`
	for name, tampered := range map[string]string{
		"no check":                   `DELETE FROM meta WHERE name = 'key_check';`,
		"no check, a forged row":     `DELETE FROM meta WHERE name = 'key_check';` + forged,
		"no check, messages alone":   `DELETE FROM meta WHERE name = 'key_check'; DELETE FROM outbox;`,
		"no check, all in the clear": `DELETE FROM meta WHERE name = 'key_check'; UPDATE outbox SET text = 'forged', data = NULL, fingerprint = 'v1:f'; DELETE FROM messages;`,
	} {
		path := v1File(t, "sealed.db")
		raw(t, path, tampered)
		before := bytesOf(t, path)
		if _, err := Open(t.Context(), path, Options{Key: v1Key}); !errors.Is(err, store.ErrNotEncrypted) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Reset(t.Context(), path, Options{Key: v1Key}); !errors.Is(err, store.ErrNotEncrypted) {
			t.Errorf("%s: reset: %v", name, err)
		}
		if !bytes.Equal(before, bytesOf(t, path)) {
			t.Errorf("%s: the file changed", name)
		}
	}

	path := v1File(t, "sealed.db")
	raw(t, path, forged)
	s := open(t, path, Options{Key: v1Key})
	if s.Report().SetAside != 1 {
		t.Errorf("a row in the clear among sealed ones: %+v", s.Report())
	}
	raw(t, path, `UPDATE outbox SET text = 'forged', data = NULL WHERE position = 5; UPDATE messages SET text = 'forged', data = NULL`)
	if _, err := s.Body(t.Context(), 5); !errors.Is(err, store.ErrUnreadable) {
		t.Errorf("a body in the clear: %v", err)
	}
	if msgs, err := s.View(t.Context(), "harbour", 0, 100); err != nil || len(msgs) != 0 {
		t.Errorf("%d messages in the clear, %v", len(msgs), err)
	}
	raw(t, path, `DELETE FROM meta WHERE name = 'key_check'`)
	if _, err := s.List(t.Context(), 0, 10); !errors.Is(err, store.ErrNotEncrypted) {
		t.Errorf("the check taken away under an open handle: %v", err)
	}
	if _, err := Open(t.Context(), v1File(t, "plain.db"), Options{Key: v1Key}); !errors.Is(err, store.ErrNotEncrypted) {
		t.Errorf("a file in the clear: %v", err)
	}
	empty := open(t, newFile(t).path, Options{})
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	sealed := open(t, empty.path, Options{Key: v1Key}) // nothing is taken that wasn't sealed
	if n, err := sealed.db.int(`SELECT count(*) FROM meta WHERE name = 'key_check'`); err != nil || n != 1 {
		t.Errorf("an empty store isn't sealed by its first key: %v", err)
	}
}

// TestWrongKey: a clear error, nothing lost.
func TestWrongKey(t *testing.T) {
	path := v1File(t, "sealed.db")
	before := bytesOf(t, path)
	for _, key := range [][]byte{nil, otherKey} {
		if _, err := Open(t.Context(), path, Options{Key: key}); !errors.Is(err, store.ErrWrongKey) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if !bytes.Equal(before, bytesOf(t, path)) {
		t.Error("the file changed")
	}
	s := open(t, path, Options{Key: v1Key})
	if got, want := asJSONText(t, wantedOf(t, s)), asJSONText(t, readWanted(t)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestBoundToItsRow: a sealed body moved to another row doesn't open; the row is set aside with its bytes, others go on.
func TestBoundToItsRow(t *testing.T) {
	path := v1File(t, "sealed.db")
	raw(t, path, `UPDATE outbox SET text = (SELECT text FROM outbox WHERE position = 1) WHERE position = 4;
		UPDATE outbox SET fingerprint = (SELECT fingerprint FROM outbox WHERE position = 1) WHERE position = 5;
		UPDATE messages SET text = x'00' WHERE seq = 2`)
	s := open(t, path, Options{Key: v1Key})
	if s.Report().SetAside != 1 {
		t.Errorf("report %+v", s.Report())
	}
	if _, err := s.Body(t.Context(), 4); !errors.Is(err, store.ErrUnreadable) {
		t.Error(err)
	}
	raw(t, path, `UPDATE outbox SET text = x'0102' WHERE position = 8`)
	if _, err := s.Body(t.Context(), 4); !errors.Is(err, store.ErrNoRow) {
		t.Error(err)
	}
	msgs, err := s.View(t.Context(), "harbour", 0, 100)
	if err != nil || len(msgs) != 3 {
		t.Errorf("%d messages, %v", len(msgs), err)
	}
	if n := len(wantedOf(t, s).Rows); n != 7 { // exporting goes on past the one that doesn't open
		t.Errorf("%d rows left", n)
	}
	c, err := s.Counts(t.Context())
	if err != nil || c.SetAside != 4 || c.Queued+c.Parked+c.Uncertain != 7 {
		t.Errorf("counts %+v, %v", c, err)
	}
}

// TestDeletedBodiesAreWiped: a body that was removed doesn't stay in free pages.
func TestDeletedBodiesAreWiped(t *testing.T) {
	path := newFile(t).path
	s := open(t, path, Options{})
	big := bytes.Repeat([]byte("a secret of some length. "), 2000)
	_, err := s.Add(t.Context(), 0, []store.Entry{{
		Key: store.Key{Room: "r", ID: "x"}, Body: store.Body{Text: string(big)}, Fingerprint: "f", State: store.Queued,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Discard(t.Context(), store.Key{Room: "r", ID: "x"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if bytes.Contains(bytesOf(t, path), []byte("a secret")) {
		t.Error("it lies on disk")
	}
}

func TestSealAnything(t *testing.T) {
	s, err := newSealer(v1Key)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := store.Body{Text: rapid.String().Draw(t, "text"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		room, id := rapid.String().Draw(t, "room"), rapid.String().Draw(t, "id")
		text, data := s.sealText(sealedBody, room, id, b)
		got, err := s.openText(sealedBody, room, id, text, data)
		if err != nil || got.Text != b.Text || !bytes.Equal(got.Data, b.Data) {
			t.Fatalf("%+v, %v", got, err)
		}
		moved := room + id
		if _, err := s.openText(sealedBody, moved, "", text, data); id != "" && err == nil {
			t.Fatal("room and id run together")
		}
		if _, err := s.openText(sealedMessage, room, id, text, data); err == nil {
			t.Fatal("opened as another kind")
		}
	})
}
