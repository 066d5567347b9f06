//go:build !js

package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/ids"
	"hapax/client/store"
)

// rowColumns are those that scanRow reads, in its order.
const rowColumns = `position, revision, room, id, fingerprint, size, queued_at, attempts, interval, last_attempt_at, first_sent_at, state, reason, aside_at`

// scanRow reads an outbox row. It believes nothing of what it finds: its error says that this row can't be read.
func (s *Store) scanRow(st *sqlite3.Stmt) (r store.Row, err error) {
	var attempts, size, state int64
	r.Position = st.ColumnInt64(0)
	numbers := [...]*int64{
		1: &r.Revision, 5: &size, 6: &r.QueuedAt, 7: &attempts, 8: &r.Interval,
		9: &r.LastAttemptAt, 10: &r.FirstSentAt, 11: &state, 13: &r.AsideAt,
	}
	for i, to := range numbers {
		if to == nil {
			continue
		}
		if *to = st.ColumnInt64(i); st.ColumnType(i) != sqlite3.INTEGER || *to < 0 {
			return r, fmt.Errorf("%s is not a number from 0", st.ColumnName(i))
		}
	}
	for i, to := range [...]*string{2: &r.Room, 3: &r.ID, 12: &r.Reason} {
		if to == nil {
			continue
		}
		if st.ColumnType(i) != sqlite3.TEXT {
			return r, fmt.Errorf("%s is not text", st.ColumnName(i))
		}
		*to = st.ColumnText(i)
	}
	r.Attempts, r.Size, r.State = int(attempts), int(size), store.State(state)
	switch {
	case state < int64(store.Queued) || state > int64(store.Uncertain):
		return r, fmt.Errorf("state %d", state)
	case r.Room == "":
		return r, fmt.Errorf("no room")
	}
	if err := ids.Check(r.ID); err != nil {
		return r, err
	}
	if r.Fingerprint, err = s.seal.openFingerprint(r.Key, column(st, 4)); err == nil && r.Fingerprint == "" {
		err = fmt.Errorf("no fingerprint")
	}
	return r, err
}

// rows reads outbox rows. One that can't be read is damage that came after this opening: the next one sets it aside.
func (s *Store) rows(where string, args ...any) (rows []store.Row, err error) {
	err = s.db.query(func(st *sqlite3.Stmt) error {
		r, err := s.scanRow(st)
		if err != nil {
			return fmt.Errorf("%w: outbox row %d: %w", store.ErrCorrupt, r.Position, err)
		}
		rows = append(rows, r)
		return nil
	}, `SELECT `+rowColumns+` FROM outbox `+where, args...)
	return rows, err
}

// row reads one outbox row, nil where there is none.
func (s *Store) row(where string, args ...any) (*store.Row, error) {
	rows, err := s.rows(where, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func (s *Store) byKey(k store.Key) (*store.Row, error) {
	return s.row(`WHERE room = ? AND id = ?`, k.Room, k.ID)
}

// body reads a row's content; unreadable says that it is there but can't be read.
func (s *Store) body(r store.Row) (b store.Body, unreadable, err error) {
	err = s.db.query(func(st *sqlite3.Stmt) error {
		b, unreadable = s.seal.openText(sealedBody, r.Room, r.ID, column(st, 0), column(st, 1))
		return nil
	}, `SELECT text, data FROM outbox WHERE position = ?`, r.Position)
	return b, unreadable, err
}

func (s *Store) insert(r store.Row, b store.Body) error {
	text, data := s.seal.sealText(sealedBody, r.Room, r.ID, b)
	return s.db.exec(`INSERT INTO outbox (`+rowColumns+`, text, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Position, r.Revision, r.Room, r.ID, s.seal.sealFingerprint(r.Key, r.Fingerprint), r.Size, r.QueuedAt,
		r.Attempts, r.Interval, r.LastAttemptAt, r.FirstSentAt, int(r.State), r.Reason, r.AsideAt, text, data)
}

// update writes what can change of a row. It never creates one.
func (s *Store) update(r store.Row) error {
	return s.db.exec(`UPDATE outbox SET revision = ?, attempts = ?, interval = ?, last_attempt_at = ?, first_sent_at = ?, state = ?, reason = ?, aside_at = ?
		WHERE position = ?`, r.Revision, r.Attempts, r.Interval, r.LastAttemptAt, r.FirstSentAt, int(r.State), r.Reason, r.AsideAt, r.Position)
}

func (s *Store) remove(r store.Row) error {
	return s.db.exec(`DELETE FROM outbox WHERE position = ?`, r.Position)
}
