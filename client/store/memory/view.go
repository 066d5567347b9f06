package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"hapax/client/store"
	"hapax/protocol"
)

// view is a room as the client holds it.
type view struct {
	cursor   protocol.Cursor // zero Epoch: none is held
	replaced int64
	messages []*store.Message // by rising seq, then messageId
	byID     map[string]*store.Message
	bytes    int64 // store.Message.Size of messages
	trimmed  store.Trimmed
}

// view returns a room's view, made where there was none.
func (m *Medium) view(room string) *view {
	v := m.views[room]
	if v == nil {
		v = &view{byID: map[string]*store.Message{}}
		m.views[room] = v
	}
	return v
}

func order(a, b *store.Message) int {
	if c := cmp.Compare(a.Seq, b.Seq); c != 0 {
		return c
	}
	return strings.Compare(a.MessageID, b.MessageID)
}

func byPosition(a *store.Message, p int64) int { return cmp.Compare(a.Position, p) }

// at returns the message with an epoch and seq, nil where there is none.
func (v *view) at(epoch string, seq int64) *store.Message {
	i, _ := slices.BinarySearchFunc(v.messages, &store.Message{Message: protocol.Message{Seq: seq}}, order)
	for ; i < len(v.messages) && v.messages[i].Seq == seq; i++ {
		if v.messages[i].Epoch == epoch {
			return v.messages[i]
		}
	}
	return nil
}

// drop deletes a message from its view and from the feed.
func (m *Medium) drop(v *view, o *store.Message) {
	i, _ := slices.BinarySearchFunc(v.messages, o, order)
	v.messages = slices.Delete(v.messages, i, i+1)
	v.bytes -= o.Size()
	delete(v.byID, o.MessageID)
	if i, ok := slices.BinarySearchFunc(m.log, o.Position, byPosition); ok {
		m.log = slices.Delete(m.log, i, i+1)
	}
}

// put stores a message in the place of one with the same messageId and of one with the same epoch and seq.
func (m *Medium) put(v *view, msg store.Message) {
	msg.Data = clone(store.Body{Data: msg.Data}).Data
	if o := v.byID[msg.MessageID]; o != nil {
		m.drop(v, o)
	}
	if o := v.at(msg.Epoch, msg.Seq); o != nil {
		m.drop(v, o)
	}
	i, _ := slices.BinarySearchFunc(v.messages, &msg, order)
	v.messages = slices.Insert(v.messages, i, &msg)
	v.byID[msg.MessageID] = &msg
	v.bytes += msg.Size()
	if msg.Position != 0 {
		i, _ := slices.BinarySearchFunc(m.log, msg.Position, byPosition)
		m.log = slices.Insert(m.log, i, &msg)
	}
}

// ack stores a message that an ack told of, unless it is held already.
func (m *Medium) ack(v *view, msg store.Message) {
	if v.byID[msg.MessageID] == nil && v.at(msg.Epoch, msg.Seq) == nil {
		m.put(v, msg)
	}
}

// arrive stores messages that a cursor covers, giving positions to those that have none.
func (m *Medium) arrive(v *view, arrived []store.Arrived) {
	for _, a := range arrived {
		var p int64
		if o := v.byID[a.MessageID]; o != nil {
			p = o.Position
		}
		if p == 0 {
			m.feed++
			p = m.feed
		}
		m.put(v, store.Message{Position: p, Message: a.Message})
	}
}

// trim drops the oldest messages above a room's bounds, never the newest. What only an ack has told of isn't in the feed: nobody misses it.
func (m *Medium) trim(v *view, l store.Limits) {
	for len(v.messages) > 1 && (l.RoomRows > 0 && len(v.messages) > l.RoomRows || l.RoomBytes > 0 && v.bytes > l.RoomBytes) {
		o := v.messages[0]
		if o.Position > 0 {
			v.trimmed.Drop(o.Room, o.Position, o.Seq)
		}
		m.drop(v, o)
	}
}

func (m *Medium) advance(c store.Rows, l store.Limits) store.Result {
	v := m.views[c.Room]
	if v == nil || v.cursor != c.From {
		var res store.Result
		if v != nil {
			res.Cursor = v.cursor
		}
		return res
	}
	m.arrive(v, c.Messages)
	m.trim(v, l)
	v.cursor = c.To
	res := store.Result{Applied: true, Cursor: c.To}
	m.settle(c.Messages, c.Now, l.Receipts, &res)
	return res
}

func (m *Medium) replace(c store.Snapshot, l store.Limits) store.Result {
	v := m.view(c.Room)
	m.feed++
	v.replaced, v.trimmed = m.feed, store.Trimmed{}
	in := make(map[string]bool, len(c.Messages))
	for _, a := range c.Messages {
		in[a.MessageID] = true
	}
	for _, o := range slices.Clone(v.messages) {
		ahead := o.Position == 0 && o.Epoch == c.Cursor.Epoch && o.Seq > c.Cursor.After
		if !in[o.MessageID] && !ahead {
			m.drop(v, o)
		}
	}
	m.arrive(v, c.Messages)
	m.trim(v, l)
	v.cursor = c.Cursor
	res := store.Result{Applied: true, Cursor: c.Cursor}
	m.settle(c.Messages, c.Now, l.Receipts, &res)
	return res
}

// Room implements store.Store.
func (s *Store) Room(ctx context.Context, room string) (r store.Room, ok bool, err error) {
	err = s.read(ctx, "Room", func(m *Medium) error {
		if v := m.views[room]; v != nil && v.cursor.Epoch != "" {
			r, ok = store.Room{Room: room, Cursor: v.cursor, Replaced: v.replaced, Trimmed: v.trimmed}, true
		}
		return nil
	})
	return r, ok, err
}

// Rooms implements store.Store.
func (s *Store) Rooms(ctx context.Context) (rooms []store.Room, err error) {
	err = s.read(ctx, "Rooms", func(m *Medium) error {
		for name, v := range m.views {
			if v.cursor.Epoch != "" {
				rooms = append(rooms, store.Room{Room: name, Cursor: v.cursor, Replaced: v.replaced, Trimmed: v.trimmed})
			}
		}
		slices.SortFunc(rooms, func(a, b store.Room) int { return strings.Compare(a.Room, b.Room) })
		return nil
	})
	return rooms, err
}

// Feed implements store.Store.
func (s *Store) Feed(
	ctx context.Context, room string, after int64, limit int,
) (msgs []store.Message, trimmed []store.Trimmed, err error) {
	err = s.read(ctx, "Feed", func(m *Medium) error {
		i, _ := slices.BinarySearchFunc(m.log, max(after, 0)+1, byPosition)
		for ; i < len(m.log) && len(msgs) < limit; i++ {
			if room == "" || m.log[i].Room == room {
				msgs = append(msgs, cloneMessage(m.log[i]))
			}
		}
		for name, v := range m.views {
			if (room == "" || room == name) && v.trimmed.Position > max(after, 0) {
				trimmed = append(trimmed, v.trimmed)
			}
		}
		slices.SortFunc(trimmed, func(a, b store.Trimmed) int { return strings.Compare(a.Room, b.Room) })
		return nil
	})
	return msgs, trimmed, err
}

// View implements store.Store.
func (s *Store) View(ctx context.Context, room string, before int64, limit int) (msgs []store.Message, err error) {
	err = s.read(ctx, "View", func(m *Medium) error {
		v := m.views[room]
		if v == nil {
			return nil
		}
		end := len(v.messages)
		if before > 0 {
			end, _ = slices.BinarySearchFunc(v.messages, before, func(o *store.Message, b int64) int { return cmp.Compare(o.Seq, b) })
		}
		for _, o := range v.messages[max(0, end-max(limit, 0)):end] {
			msgs = append(msgs, cloneMessage(o))
		}
		return nil
	})
	return msgs, err
}

// Want implements store.Store.
func (s *Store) Want(ctx context.Context, beat int64, rooms map[string]int) error {
	return s.write(ctx, "Want", func(m *Medium) error {
		delete(m.wishes, s.handle)
		for room, rows := range rooms {
			m.wishes[s.handle] = append(m.wishes[s.handle], store.Wish{Handle: s.handle, Beat: beat, Room: room, Rows: rows})
		}
		return nil
	})
}

// Wanted implements store.Store.
func (s *Store) Wanted(ctx context.Context) (wishes []store.Wish, err error) {
	err = s.read(ctx, "Wanted", func(m *Medium) error {
		for handle, all := range m.wishes {
			if handle != s.handle {
				wishes = append(wishes, all...)
			}
		}
		return nil
	})
	return wishes, err
}

// Unwant implements store.Store.
func (s *Store) Unwant(ctx context.Context, handle store.Handle) error {
	return s.write(ctx, "Unwant", func(m *Medium) error {
		delete(m.wishes, handle)
		return nil
	})
}

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, room string) error {
	return s.write(ctx, "Forget", func(m *Medium) error {
		if v := m.views[room]; v != nil {
			for _, o := range slices.Clone(v.messages) {
				m.drop(v, o)
			}
			delete(m.views, room)
		}
		return nil
	})
}

func cloneMessage(o *store.Message) store.Message {
	msg := *o
	msg.Data = bytes.Clone(o.Data)
	return msg
}
