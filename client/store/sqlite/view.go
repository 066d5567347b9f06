//go:build !js

package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
	"hapax/protocol"
)

// cursorColumns are those that scanRoom reads, in its order.
const cursorColumns = `room, epoch, after, message_id, replaced, trimmed, trimmed_from, trimmed_to`

// cursor reads a room's view, nil where none is held.
func (s *Store) cursor(room string) (v *store.Room, err error) {
	err = s.db.query(func(st *sqlite3.Stmt) error {
		v = scanRoom(st)
		return nil
	}, `SELECT `+cursorColumns+` FROM cursors WHERE room = ?`, room)
	return v, err
}

func scanRoom(st *sqlite3.Stmt) *store.Room {
	r := &store.Room{
		Room:     st.ColumnText(0),
		Cursor:   protocol.Cursor{Epoch: st.ColumnText(1), After: st.ColumnInt64(2), MessageID: st.ColumnText(3)},
		Replaced: st.ColumnInt64(4),
	}
	if p := st.ColumnInt64(5); p > 0 {
		r.Trimmed = store.Trimmed{Room: r.Room, Position: p, From: st.ColumnInt64(6), To: st.ColumnInt64(7)}
	}
	return r
}

func (s *Store) setCursor(r store.Room) error {
	return s.db.exec(`INSERT OR REPLACE INTO cursors (`+cursorColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Room, r.Cursor.Epoch, r.Cursor.After, r.Cursor.MessageID, r.Replaced, r.Trimmed.Position, r.Trimmed.From, r.Trimmed.To)
}

// put stores a message in the place of one with the same messageId and of one with the same epoch and seq.
func (s *Store) put(m store.Message) error {
	text, data := s.seal.sealText(sealedMessage, m.Room, m.MessageID, store.Body{Text: m.Text, Data: m.Data})
	return s.db.exec(`INSERT OR REPLACE INTO messages (room, message_id, epoch, seq, position, actor, client_id, text, data, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.Room, m.MessageID, m.Epoch, m.Seq, m.Position, m.Actor, m.ClientMessageID, text, data, m.At)
}

// ack stores a message that an ack told of, unless it is held already.
func (s *Store) ack(m store.Message) error {
	n, err := s.db.int(`SELECT count(*) FROM messages WHERE room = ? AND (message_id = ? OR seq = ? AND epoch = ?)`,
		m.Room, m.MessageID, m.Seq, m.Epoch)
	if err != nil || n > 0 {
		return err
	}
	if err := s.put(m); err != nil {
		return err
	}
	v, err := s.cursor(m.Room)
	if err != nil {
		return err
	}
	if v == nil { // a room that is only sent to
		return s.trim(&store.Room{Room: m.Room}, m)
	}
	before := v.Trimmed
	if err := s.trim(v, m); err != nil || v.Trimmed == before {
		return err
	}
	return s.setCursor(*v)
}

// arrive stores messages that a cursor covers, giving positions after the given one to those that have none.
func (s *Store) arrive(arrived []store.Arrived, feed int64) error {
	for _, a := range arrived {
		p, err := s.db.int(`SELECT position FROM messages WHERE room = ? AND message_id = ?`, a.Room, a.MessageID)
		if err != nil {
			return err
		}
		if p == 0 {
			feed++
			p = feed
		}
		if err := s.put(store.Message{Position: p, Message: a.Message}); err != nil {
			return err
		}
	}
	return s.db.setMeta("feed", feed)
}

func (s *Store) advance(c store.Rows, res *store.Result) error {
	v, err := s.cursor(c.Room)
	if err != nil || v == nil {
		return err
	}
	res.Cursor = v.Cursor
	if v.Cursor != c.From {
		return nil
	}
	feed, err := s.db.counter("feed")
	if err != nil {
		return err
	}
	if err := s.arrive(c.Messages, feed); err != nil {
		return err
	}
	v.Cursor = c.To
	if err := s.trim(v, s.weighed(c.Messages)...); err != nil {
		return err
	}
	if err := s.setCursor(*v); err != nil {
		return err
	}
	res.Applied, res.Cursor = true, c.To
	return s.settle(c.Messages, c.Now, res)
}

func (s *Store) replace(c store.Snapshot, res *store.Result) error {
	feed, err := s.db.counter("feed")
	if err != nil {
		return err
	}
	replaced := feed + 1
	in := make(map[string]bool, len(c.Messages))
	for _, a := range c.Messages {
		in[a.MessageID] = true
	}
	var out []string
	err = s.db.query(func(st *sqlite3.Stmt) error {
		if id := st.ColumnText(0); !in[id] {
			out = append(out, id)
		}
		return nil
	}, `SELECT message_id FROM messages WHERE room = ? AND NOT (position = 0 AND epoch = ? AND seq > ?)`, c.Room, c.Cursor.Epoch, c.Cursor.After)
	if err != nil {
		return err
	}
	for _, id := range out {
		if err := s.db.exec(`DELETE FROM messages WHERE room = ? AND message_id = ?`, c.Room, id); err != nil {
			return err
		}
	}
	if err := s.arrive(c.Messages, replaced); err != nil {
		return err
	}
	v := &store.Room{Room: c.Room, Cursor: c.Cursor, Replaced: replaced}
	delete(s.weights, c.Room)
	if err := s.trim(v); err != nil {
		return err
	}
	if err := s.setCursor(*v); err != nil {
		return err
	}
	res.Applied, res.Cursor = true, c.Cursor
	return s.settle(c.Messages, c.Now, res)
}

// Room implements store.Store.
func (s *Store) Room(ctx context.Context, room string) (r store.Room, ok bool, err error) {
	err = s.reading(ctx, func(*db) error {
		v, err := s.cursor(room)
		if v != nil {
			r, ok = *v, true
		}
		return err
	})
	return r, ok, err
}

// Rooms implements store.Store.
func (s *Store) Rooms(ctx context.Context) (rooms []store.Room, err error) {
	err = s.reading(ctx, func(d *db) error {
		return d.query(func(st *sqlite3.Stmt) error {
			rooms = append(rooms, *scanRoom(st))
			return nil
		}, `SELECT `+cursorColumns+` FROM cursors ORDER BY room`)
	})
	return rooms, err
}

// messages reads messages. Those that can't be read are set aside, and the rest is returned: one of them must not hide the others.
func (s *Store) messages(ctx context.Context, where string, args ...any) (msgs []store.Message, err error) {
	return s.messagesAnd(ctx, func(*db) error { return nil }, where, args...)
}

// messagesAnd does more at the same moment.
func (s *Store) messagesAnd(
	ctx context.Context, more func(*db) error, where string, args ...any,
) (msgs []store.Message, err error) {
	bad := map[int64]error{}
	err = s.reading(ctx, func(d *db) error {
		if err := more(d); err != nil {
			return err
		}
		return d.query(func(st *sqlite3.Stmt) error {
			m := store.Message{Position: st.ColumnInt64(1)}
			m.Room, m.MessageID, m.Epoch, m.Seq = st.ColumnText(2), st.ColumnText(3), st.ColumnText(4), st.ColumnInt64(5)
			m.Actor, m.ClientMessageID, m.At = st.ColumnText(6), st.ColumnText(7), st.ColumnInt64(10)
			b, err := s.seal.openText(sealedMessage, m.Room, m.MessageID, column(st, 8), column(st, 9))
			if err != nil {
				bad[st.ColumnInt64(0)] = fmt.Errorf("message %s: %w", m.MessageID, err)
				return nil
			}
			m.Text, m.Data = b.Text, b.Data
			msgs = append(msgs, m)
			return nil
		}, `SELECT rowid, position, room, message_id, epoch, seq, actor, client_id, text, data, at FROM messages `+where, args...)
	})
	if err != nil || len(bad) == 0 {
		return msgs, err
	}
	return msgs, s.writing(ctx, func(*db) error { return s.setAllAside("messages", "rowid", bad) })
}

// Feed implements store.Store.
func (s *Store) Feed(
	ctx context.Context, room string, after int64, limit int,
) (msgs []store.Message, trimmed []store.Trimmed, err error) {
	after, limit = max(after, 0), max(limit, 0)
	which, args := `position > 0 AND position > ? ORDER BY position LIMIT ?`, []any{after, limit}
	whose, of := ``, []any{after}
	if room != "" {
		which, args = `room = ? AND `+which, append([]any{room}, args...)
		whose, of = ` AND room = ?`, append(of, room)
	}
	msgs, err = s.messagesAnd(ctx, func(d *db) error {
		return d.query(func(st *sqlite3.Stmt) error {
			trimmed = append(trimmed, scanRoom(st).Trimmed)
			return nil
		}, `SELECT `+cursorColumns+` FROM cursors WHERE trimmed > ?`+whose+` ORDER BY room`, of...)
	}, `WHERE `+which, args...)
	return msgs, trimmed, err
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, room string, before int64, limit int) ([]store.Message, error) {
	if before <= 0 {
		before = protocol.MaxSeq + 1
	}
	msgs, err := s.messages(ctx, `WHERE room = ? AND seq < ? ORDER BY seq DESC, message_id DESC LIMIT ?`, room, before, max(limit, 0))
	slices.Reverse(msgs)
	return msgs, err
}

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, room string) error {
	return s.writing(ctx, func(d *db) error {
		if err := d.exec(`DELETE FROM messages WHERE room = ?`, room); err != nil {
			return err
		}
		return d.exec(`DELETE FROM cursors WHERE room = ?`, room)
	})
}
