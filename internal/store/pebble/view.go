package pebble

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// View calls f with the rows of the last synced commit. Commits go on meanwhile.
func (s *Store) View(ctx context.Context, f func(store.View) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := s.enter()
	if err != nil {
		return err
	}
	defer s.leave(m)
	return f(&view{r: m.snapshot, epochs: s.self.Epochs})
}

// view reads one snapshot. It trusts no row to be there: a gap in a room is damage, never an answer.
type view struct {
	r      lsm.Reader
	epochs []string
}

func (v *view) Result(key idem.Key) (res idem.Result, known bool, err error) {
	r, ok, err := loadNumber(v.r, key.Room)
	if err != nil || !ok {
		return res, false, err
	}
	return findResult(v.r, appendResultKey(nil, r.number, key.Actor, key.ID), v.epochs)
}

func findResult(r lsm.Reader, key []byte, epochs []string) (res idem.Result, known bool, err error) {
	it, err := r.NewIter(resultsRange())
	if err != nil {
		return res, false, damage(err)
	}
	defer it.Close()
	if !it.SeekPrefixGE(key) || !bytes.Equal(it.Key(), key) {
		return res, false, damage(it.Error())
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return res, false, damage(err)
	}
	stored, err := readResult(key, value, epochs)
	return stored.Result, err == nil, err
}

func (v *view) Room(name string) (room.State, error) {
	r, _, err := loadRoom(v.r, name)
	return r.State, err
}

func (v *view) MessageID(name string, seq int64) (string, bool, error) {
	r, ok, err := loadNumber(v.r, name)
	if err != nil || !ok || seq <= r.Low || seq > room.MaxSeq {
		return "", false, err
	}
	key := appendJournalKey(nil, r.number, seq)
	value, ok, err := get(v.r, key)
	if err != nil || !ok {
		return "", false, err
	}
	row, err := readJournalRow(key, value)
	return row.MessageID, err == nil, err
}

func (v *view) After(name string, after int64, limit, maxBytes int) ([]room.Message, bool, error) {
	r, ok, err := loadRoom(v.r, name)
	if err != nil || !ok || after >= r.Head {
		return nil, false, err
	}
	p := page{name: name, next: max(after, r.Low) + 1, step: 1, limit: limit, bytes: maxBytes}
	it, err := journal(v.r, r.number, p.next, r.Head)
	if err != nil {
		return nil, false, err
	}
	defer it.Close()
	full := false
	for ok := it.First(); ok && !full; ok = it.Next() {
		if full, err = p.take(it); err != nil {
			return nil, false, err
		}
	}
	if err := it.Error(); err != nil {
		return nil, false, damage(err)
	}
	if !full && p.next != r.Head+1 {
		return nil, false, p.missing()
	}
	return p.rows, full, nil
}

func (v *view) Before(name string, before int64, limit, maxBytes int) ([]room.Message, bool, error) {
	r, ok, err := loadRoom(v.r, name)
	if err != nil || !ok || before <= r.Low+1 {
		return nil, false, err
	}
	p := page{name: name, next: min(before-1, r.Head), step: -1, limit: limit, bytes: maxBytes}
	it, err := journal(v.r, r.number, r.Low+1, p.next)
	if err != nil {
		return nil, false, err
	}
	defer it.Close()
	full := false
	for ok := it.Last(); ok && !full; ok = it.Prev() {
		if full, err = p.take(it); err != nil {
			return nil, false, err
		}
	}
	if err := it.Error(); err != nil {
		return nil, false, damage(err)
	}
	if !full && p.next != r.Low {
		return nil, false, p.missing()
	}
	slices.Reverse(p.rows)
	return p.rows, full, nil
}

// page collects rows one by one, and insists that none is missing between them.
type page struct {
	name  string
	rows  []room.Message
	next  int64 // the seq that must come
	step  int64
	limit int
	bytes int // what is left of the bytes
}

// take adds the row under the iterator. full says that it doesn't fit any more.
func (p *page) take(it *lsm.Iterator) (full bool, err error) {
	row, err := rowAt(it)
	if err != nil {
		return false, err
	}
	if row.Seq != p.next || row.skeleton {
		return false, p.missing()
	}
	p.bytes -= len(row.Text) + len(row.Data)
	if len(p.rows) >= p.limit || (len(p.rows) > 0 && p.bytes < 0) {
		return true, nil
	}
	p.rows = append(p.rows, row.Message)
	p.next += p.step
	return false, nil
}

func (p *page) missing() error {
	return fmt.Errorf("%w: row %d of room %q is missing", store.ErrDamage, p.next, p.name)
}

func (v *view) Rooms(after string, limit int) ([]store.RoomHead, error) {
	it, err := v.r.NewIter(&lsm.IterOptions{LowerBound: appendRoomsKey(nil, after), UpperBound: []byte{tableRooms + 1}})
	if err != nil {
		return nil, damage(err)
	}
	defer it.Close()
	var heads []store.RoomHead
	for ok := it.First(); ok && len(heads) < limit; ok = it.Next() {
		name := string(it.Key()[1:])
		if name == after {
			continue
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, damage(err)
		}
		row, err := readRoomRow(it.Key(), value)
		if err != nil {
			return nil, err
		}
		if err := raiseHead(v.r, &row); err != nil {
			return nil, err
		}
		heads = append(heads, store.RoomHead{Name: name, State: row.State})
	}
	return heads, damage(it.Error())
}
