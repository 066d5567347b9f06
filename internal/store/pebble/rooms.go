package pebble

import (
	"errors"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/room"
)

var (
	errTooManyRooms  = errors.New("store: it holds as many rooms as it can number")
	errBatchTooLarge = errors.New("store: the keys of one batch take over 2 GB")
)

// writing is what the holder of the writer's token works with. All of it is of the last commit, synced or being synced.
type writing struct {
	sums  counts
	rooms map[string]*roomRow // a cache, bounded by Options.CachedRooms
	life  []byte              // first part of every messageId of this opening
	ids   uint64              // messageIds given in this opening
	given uint64              // room numbers given, also those that no commit used

	recent  recent
	scratch scratch

	due       dueMarks
	heldMarks heldMarks
	log       logEnd
}

func (w *writing) init(s *Store, c counts) {
	w.sums = c
	w.given = c.numbers
	w.rooms = map[string]*roomRow{}
	w.recent = newRecent(c.commits)
	w.heldMarks = newHeldMarks()
	w.life = append([]byte(s.self.Life), '-')
	w.log = s.noter.last.log
}

// room returns a room's row from the cache or the disk; a fresh one, with a number of its own, where nobody ever wrote to it.
func (s *Store) room(name string) (*roomRow, error) {
	if r := s.w.rooms[name]; r != nil {
		return r, nil
	}
	row, ok, err := loadRoom(s.db, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		if s.w.given == maxRooms {
			return nil, errTooManyRooms
		}
		s.w.given++
		row = roomRow{number: uint32(s.w.given), fresh: true}
	}
	s.w.rooms[name] = &row
	return &row, nil
}

// trim keeps the cache within its bound. It is called between commits, when all of it is on disk.
func (s *Store) trim() {
	for name := range s.w.rooms {
		if len(s.w.rooms) <= s.opts.CachedRooms {
			return
		}
		delete(s.w.rooms, name)
	}
}

// loadRoom reads a room.
func loadRoom(r lsm.Reader, name string) (row roomRow, ok bool, err error) {
	if row, ok, err = loadNumber(r, name); err != nil || !ok {
		return row, false, err
	}
	return row, true, raiseHead(r, &row)
}

// loadNumber reads a room's row as it lies there: all of it but the head is exact.
func loadNumber(r lsm.Reader, name string) (row roomRow, ok bool, err error) {
	key := appendRoomsKey(nil, name)
	value, ok, err := get(r, key)
	if err != nil || !ok {
		return row, false, err
	}
	row, err = readRoomRow(key, value)
	return row, err == nil, err
}

// raiseHead takes the head from the last row of the journal; the room's own row tells it where all of them aged out.
func raiseHead(r lsm.Reader, row *roomRow) error {
	it, err := journal(r, row.number, row.Head+1, room.MaxSeq)
	if err != nil {
		return err
	}
	defer it.Close()
	if !it.Last() {
		return damage(it.Error())
	}
	last, err := rowAt(it)
	if err != nil {
		return err
	}
	row.Head, row.HeadID = last.Seq, last.MessageID
	return nil
}

// journal iterates over the journal rows of a room from one seq to another, both included.
func journal(r lsm.Reader, number uint32, from, to int64) (*lsm.Iterator, error) {
	bounds := make([]byte, 0, 2*lenJournalKey)
	bounds = appendJournalKey(bounds, number, from)
	bounds = appendJournalKey(bounds, number, to+1)
	it, err := r.NewIter(&lsm.IterOptions{LowerBound: bounds[:lenJournalKey], UpperBound: bounds[lenJournalKey:]})
	return it, damage(err)
}

func rowAt(it *lsm.Iterator) (journalRow, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return journalRow{}, damage(err)
	}
	return readJournalRow(it.Key(), value)
}
