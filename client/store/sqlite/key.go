//go:build !js

package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// keyCheck is sealed with the key and kept in the store, so that a wrong key is told from a damaged row.
const keyCheck = "hapax"

// checkKey answers ErrWrongKey where the store was sealed with a key that this handle doesn't have. A handle with a key on
// a plain store is fine while opening; enableKey seals the store before anything else happens.
func (s *Store) checkKey() error {
	v, err := s.db.meta("key_check")
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		if s.seal != nil && s.sealed {
			return store.ErrNotEncrypted // it was when this handle opened it
		}
		return nil
	case []byte:
		if s.seal == nil {
			return store.ErrWrongKey
		}
		if plain, err := s.seal.open(sealedCheck, "", "", v); err != nil || string(plain) != keyCheck {
			return store.ErrWrongKey
		}
		return nil
	}
	return store.ErrCorrupt
}

// checkEncrypted answers ErrNotEncrypted where this handle has a key and the store holds bodies but no sign of being sealed.
func (s *Store) checkEncrypted() error {
	if s.seal == nil || s.encrypt {
		return nil
	}
	v, err := s.db.meta("key_check")
	if err != nil || v != nil {
		return err
	}
	n, err := s.db.int(`SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM messages)`)
	if err == nil && n != 0 {
		err = store.ErrNotEncrypted
	}
	return err
}

// enableKey seals a store that is empty, or that Options.Encrypt allows to: all rows in one transaction, so that none is left in the clear
// and none is lost. Values that can't be read as plain ones stay, to be set aside.
func (s *Store) enableKey() error {
	if s.seal == nil {
		return nil
	}
	err := s.db.write(func() error {
		if err := s.checkKey(); err != nil {
			return err
		}
		if v, err := s.db.meta("key_check"); err != nil || v != nil {
			return err
		}
		if err := s.checkEncrypted(); err != nil {
			return err
		}
		if err := s.sealOutbox(); err != nil {
			return err
		}
		if err := s.sealMessages(); err != nil {
			return err
		}
		return s.db.setMeta("key_check", s.seal.seal(sealedCheck, "", "", []byte(keyCheck)))
	})
	s.sealed = err == nil
	return err
}

// sealOutbox goes by the primary key, a row at a time, as it changes what it reads.
func (s *Store) sealOutbox() error {
	var plain *sealer
	for position, more := int64(0), true; more; {
		more = false
		var k store.Key
		var body store.Body
		var fingerprint string
		var unreadable error
		err := s.db.query(func(st *sqlite3.Stmt) error {
			more, position = true, st.ColumnInt64(0)
			k = store.Key{Room: st.ColumnText(1), ID: st.ColumnText(2)}
			if fingerprint, unreadable = plain.openFingerprint(k, column(st, 3)); unreadable != nil {
				return nil
			}
			body, unreadable = plain.openText(sealedBody, k.Room, k.ID, column(st, 4), column(st, 5))
			return nil
		}, `SELECT position, room, id, fingerprint, text, data FROM outbox WHERE position > ? ORDER BY position LIMIT 1`, position)
		if err != nil {
			return err
		}
		if !more || unreadable != nil {
			continue
		}
		text, data := s.seal.sealText(sealedBody, k.Room, k.ID, body)
		if err := s.db.exec(`UPDATE outbox SET fingerprint = ?, text = ?, data = ? WHERE position = ?`,
			s.seal.sealFingerprint(k, fingerprint), text, data, position); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) sealMessages() error {
	var plain *sealer
	for row, more := int64(0), true; more; {
		more = false
		var room, id string
		var body store.Body
		var unreadable error
		err := s.db.query(func(st *sqlite3.Stmt) error {
			more, row = true, st.ColumnInt64(0)
			room, id = st.ColumnText(1), st.ColumnText(2)
			body, unreadable = plain.openText(sealedMessage, room, id, column(st, 3), column(st, 4))
			return nil
		}, `SELECT rowid, room, message_id, text, data FROM messages WHERE rowid > ? ORDER BY rowid LIMIT 1`, row)
		if err != nil {
			return err
		}
		if !more || unreadable != nil {
			continue
		}
		text, data := s.seal.sealText(sealedMessage, room, id, body)
		if err := s.db.exec(`UPDATE messages SET text = ?, data = ? WHERE rowid = ?`, text, data, row); err != nil {
			return err
		}
	}
	return nil
}
