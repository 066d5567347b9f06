//go:build !js

package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
)

// weight is what a room's messages count, as far as this handle knows, which alone adds any while it drains.
type weight struct{ rows, bytes int64 }

// messageSize is store.Message.Size of a row; what sealing adds is too little to matter.
const messageSize = `octet_length(text) + coalesce(octet_length(data), 0) + octet_length(actor) + octet_length(message_id) + octet_length(client_id) + 256`

func (w weight) above(l store.Limits) bool {
	return l.RoomRows > 0 && w.rows > int64(l.RoomRows) || l.RoomBytes > 0 && w.bytes > l.RoomBytes
}

// trim drops the oldest messages above the room's bounds, never the newest, within a transaction in which some arrived, and notes in v
// what went. What only an ack has told of isn't in the feed: nobody misses it.
func (s *Store) trim(v *store.Room, arrived ...store.Message) error {
	if !s.bounded() {
		return nil
	}
	w, known := s.weights[v.Room]
	for i := range arrived {
		w.rows, w.bytes = w.rows+1, w.bytes+arrived[i].Size()
	}
	if !known || w.above(s.limits) { // counted anew, as messages may have been there already, or been forgotten
		err := s.db.query(func(st *sqlite3.Stmt) error {
			w = weight{st.ColumnInt64(0), st.ColumnInt64(1)}
			return nil
		}, `SELECT count(*), coalesce(sum(`+messageSize+`), 0) FROM messages WHERE room = ?`, v.Room)
		if err != nil {
			return err
		}
	}
	for w.above(s.limits) && w.rows > 1 {
		var row, position, seq, size int64
		err := s.db.query(func(st *sqlite3.Stmt) error {
			row, position, seq, size = st.ColumnInt64(0), st.ColumnInt64(1), st.ColumnInt64(2), st.ColumnInt64(3)
			return nil
		}, `SELECT rowid, position, seq, `+messageSize+` FROM messages WHERE room = ? ORDER BY seq, message_id LIMIT 1`, v.Room)
		if err != nil {
			return err
		}
		if err := s.db.exec(`DELETE FROM messages WHERE rowid = ?`, row); err != nil {
			return err
		}
		if position > 0 {
			v.Trimmed.Drop(v.Room, position, seq)
		}
		w.rows, w.bytes = w.rows-1, w.bytes-size
	}
	if s.weights == nil {
		s.weights = map[string]weight{}
	}
	s.weights[v.Room] = w
	return nil
}

func (s *Store) bounded() bool { return s.limits.RoomRows > 0 || s.limits.RoomBytes > 0 }

// weighed returns what trim weighs of messages that arrived.
func (s *Store) weighed(arrived []store.Arrived) []store.Message {
	if !s.bounded() {
		return nil
	}
	msgs := make([]store.Message, len(arrived))
	for i, a := range arrived {
		msgs[i].Message = a.Message
	}
	return msgs
}
