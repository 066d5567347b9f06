package pebble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/store"
)

// maxFaults bounds the faults told in words: who reads more than twenty has seen enough; the counts go on.
const maxFaults = 20

// Report is what Verify found. The counts of faults are 0 in a sound store.
type Report struct {
	Server   string `json:"server"`
	Epoch    string `json:"epoch"`
	Rooms    int64  `json:"rooms"`
	Messages int64  `json:"messages"` // rows of the journals, those that aged out not counted
	Results  int64  `json:"results"`

	Holes          int64 `json:"holes"`          // seqs between a room's low end and its head that have no row
	DoubleKeys     int64 `json:"doubleKeys"`     // rows whose key belongs to another row too
	MissingResults int64 `json:"missingResults"` // rows without the result that must be held of them
	MissingRows    int64 `json:"missingRows"`    // results without their row
	WrongResults   int64 `json:"wrongResults"`   // results that say something else than their row
	WrongHeads     int64 `json:"wrongHeads"`     // rooms whose last row isn't their head
	WrongCounts    int64 `json:"wrongCounts"`    // sums of the store that aren't those of its rows
	Unreadable     int64 `json:"unreadable"`     // rows that can't be read
	LostCommits    int64 `json:"lostCommits"`    // commits that were on disk by the head note, and are gone

	Records      int64 `json:"records"`      // of the gateway's log
	Keys         int64 `json:"keys"`         // of the gateway's sources
	Deliveries   int64 `json:"deliveries"`   // in the outbox
	BrokenChain  int64 `json:"brokenChain"`  // records that are missing, or don't hold the hash of the one before
	WrongIndexes int64 `json:"wrongIndexes"` // rows that should be found by another one and aren't, or the other way round
	LostRecords  int64 `json:"lostRecords"`  // records of the log that were known outside of it, are gone or others, and whose loss nobody has accepted
	WrongSums    int64 `json:"wrongSums"`    // sums of the gateway that aren't those of its rows, and rows that say nothing
	WrongBodies  int64 `json:"wrongBodies"`  // bodies that aren't the one whose digest the record holds
	WrongTimes   int64 `json:"wrongTimes"`   // deliveries whose times lie further ahead than any rule puts them

	Faults []string `json:"faults,omitempty"` // the first of them in words
}

// OK says that nothing is wrong.
func (r *Report) OK() bool {
	return r.Holes+r.DoubleKeys+r.MissingResults+r.MissingRows+r.WrongResults+r.WrongHeads+r.WrongCounts+r.Unreadable+r.LostCommits+
		r.BrokenChain+r.LostRecords+r.WrongIndexes+r.WrongSums+r.WrongBodies+r.WrongTimes == 0
}

func (r *Report) fault(count *int64, n int64, text string, args ...any) {
	*count += n
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(text, args...))
	}
}

// Verify reads a whole store that no process has open, and changes nothing in it. An error means that it couldn't be read; what is wrong with
// its rows is in the report.
func Verify(ctx context.Context, dir string, o Options) (*Report, error) {
	o = o.withDefaults()
	f := folder{fs: o.FS, dir: dir}
	rep := &Report{}
	err := f.locked(func(int) error {
		if err := f.checkManifest(); err != nil {
			return err
		}
		opts := o.database(newGuard(o.FS))
		opts.FS, opts.ReadOnly = unlocked{o.FS}, true
		db, err := openDatabase(f.path(folderDB), opts, nil)
		if err != nil {
			return err
		}
		defer db.Close()
		v := &verifier{ctx: ctx, folder: f, r: db, rep: rep, rooms: map[uint32]*checkedRoom{}}
		return v.run()
	})
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// unlocked is a file system whose locks are free: the store's own lock is held already.
type unlocked struct{ vfs.FS }

func (unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

type verifier struct {
	ctx    context.Context
	folder folder
	r      lsm.Reader
	rep    *Report
	self   *self
	life   string
	format int // of what is stored; rows that a later format added are asked of no earlier one
	epochs []string
	rooms  map[uint32]*checkedRoom
	order  []uint32

	numbers uint64 // the highest of a room
}

// checkedRoom is a room while it is checked.
type checkedRoom struct {
	roomRow
	name    string
	next    int64 // the seq that must come next in the journal
	sound   int64 // rows that have their result
	results int64 // results seen
}

func (v *verifier) run() error {
	if err := v.readSelf(); err != nil {
		return err
	}
	for _, step := range []func() error{v.readRooms, v.readJournals, v.readResults, v.readCounts, v.verifyBooks} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) readSelf() error {
	value, ok, err := get(v.r, selfKey)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: the database holds no identity", store.ErrDamage)
	}
	s, err := readSelf(value)
	if err != nil {
		return err
	}
	v.self, v.format, v.life, v.epochs, v.rep.Server, v.rep.Epoch = s, s.Format, s.Life, s.Epochs, s.Server, s.epoch()
	return nil
}

// each calls f for every row of a table.
func (v *verifier) each(table byte, f func(key, value []byte) error) error {
	it, err := v.r.NewIter(&lsm.IterOptions{LowerBound: []byte{table}, UpperBound: []byte{table + 1}})
	if err != nil {
		return damage(err)
	}
	defer it.Close()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%1024 == 0 && v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return damage(err)
		}
		if err := f(it.Key(), value); err != nil {
			return err
		}
	}
	return damage(it.Error())
}

func (v *verifier) readRooms() error {
	return v.each(tableRooms, func(key, value []byte) error {
		v.rep.Rooms++
		row, err := readRoomRow(key, value)
		if err != nil {
			v.rep.fault(&v.rep.Unreadable, 1, "%v", err)
			return nil
		}
		r := &checkedRoom{roomRow: row, name: string(key[1:]), next: min(row.Low, row.resultLow) + 1}
		if other := v.rooms[row.number]; other != nil {
			v.rep.fault(&v.rep.WrongHeads, 1, "rooms %q and %q have one number", other.name, r.name)
			return nil
		}
		if row.Low == 0 && row.LowID != "" || row.resultLow == 0 && row.Horizon != 0 {
			v.rep.fault(&v.rep.WrongHeads, 1, "room %q: it says of rows or results that are gone, but none is", r.name)
		}
		v.numbers = max(v.numbers, uint64(row.number))
		v.rooms[row.number] = r
		v.order = append(v.order, row.number)
		return nil
	})
}

func (v *verifier) readJournals() error {
	err := v.each(tableJournal, func(key, value []byte) error {
		row, err := readJournalRow(key, value)
		if err != nil {
			v.rep.fault(&v.rep.Unreadable, 1, "%v", err)
			return nil
		}
		number, _ := roomNumber(key)
		r := v.rooms[number]
		if r == nil {
			v.rep.fault(&v.rep.WrongHeads, 1, "journal row %x belongs to no room", key)
			return nil
		}
		return v.checkRow(r, &row)
	})
	if err != nil {
		return err
	}
	for _, number := range v.order {
		r := v.rooms[number]
		if last := r.next - 1; last < r.Head {
			v.rep.fault(&v.rep.Holes, r.Head-last, "room %q ends at row %d, its head is %d", r.name, last, r.Head)
			v.rep.WrongHeads++
		}
	}
	return nil
}

func (v *verifier) checkRow(r *checkedRoom, row *journalRow) error {
	if row.Seq > r.next {
		v.rep.fault(&v.rep.Holes, row.Seq-r.next, "room %q: rows %d to %d are missing", r.name, r.next, row.Seq-1)
	}
	if row.Seq < r.next {
		v.rep.fault(&v.rep.WrongHeads, 1, "room %q: row %d lies below its low end", r.name, row.Seq)
		return nil
	}
	r.next = row.Seq + 1
	if row.Seq == r.Head && row.MessageID != r.HeadID && r.HeadID != "" {
		v.rep.fault(&v.rep.WrongHeads, 1, "room %q: the row of its head has another messageId", r.name)
	}
	if !row.skeleton {
		v.rep.Messages++
	}
	if row.skeleton != (row.Seq <= r.Low) {
		v.rep.fault(&v.rep.Holes, 1, "room %q: row %d has no body", r.name, row.Seq)
	}
	if row.Seq == r.Low && row.MessageID != r.LowID {
		v.rep.fault(&v.rep.WrongHeads, 1, "room %q: the row of its low end has another messageId", r.name)
	}
	if row.Seq <= r.resultLow {
		return nil
	}
	return v.checkResultOf(r, row)
}

func (v *verifier) checkResultOf(r *checkedRoom, row *journalRow) error {
	res, ok, err := findResult(v.r, appendResultKey(nil, r.number, row.Actor, row.ID), v.epochs)
	switch {
	case err != nil:
		v.rep.fault(&v.rep.Unreadable, 1, "room %q, row %d: its result: %v", r.name, row.Seq, err)
	case !ok:
		v.rep.fault(&v.rep.MissingResults, 1, "room %q: row %d has no result", r.name, row.Seq)
	case res.Seq != row.Seq:
		return v.checkTwin(r, row, res.Seq)
	case res.MessageID != row.MessageID || res.At != row.At:
		v.rep.fault(&v.rep.WrongResults, 1, "room %q: the result of row %d says something else", r.name, row.Seq)
		r.sound++ // it is there, and counted
	default:
		r.sound++
	}
	return nil
}

// checkTwin looks at the row to which a key's result points instead of this one.
func (v *verifier) checkTwin(r *checkedRoom, row *journalRow, seq int64) error {
	key := appendJournalKey(nil, r.number, seq)
	value, ok, err := get(v.r, key)
	if err != nil {
		return err
	}
	if ok {
		twin, err := readJournalRow(key, value)
		if err == nil && twin.Actor == row.Actor && twin.ID == row.ID {
			v.rep.fault(&v.rep.DoubleKeys, 1, "room %q: rows %d and %d have one key", r.name, row.Seq, seq)
			return nil
		}
	}
	v.rep.fault(&v.rep.WrongResults, 1, "room %q: the result of row %d points to row %d", r.name, row.Seq, seq)
	return nil
}

func (v *verifier) readResults() error {
	err := v.each(tableResults, func(key, value []byte) error {
		v.rep.Results++
		number, _, ok := splitResultKey(key)
		r := v.rooms[number]
		if !ok || r == nil {
			v.rep.fault(&v.rep.MissingRows, 1, "result %x belongs to no room", key)
			return nil
		}
		r.results++
		return nil
	})
	if err != nil {
		return err
	}
	for _, number := range v.order {
		if r := v.rooms[number]; r.results != r.sound {
			if err := v.findOrphans(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// findOrphans names the results of a room that have no row.
func (v *verifier) findOrphans(r *checkedRoom) error {
	it, err := v.r.NewIter(&lsm.IterOptions{
		LowerBound: appendRoomPrefix(nil, tableResults, r.number), UpperBound: appendRoomPrefix(nil, tableResults, r.number+1),
	})
	if err != nil {
		return damage(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return damage(err)
		}
		_, k, _ := splitResultKey(it.Key())
		res, err := readResult(it.Key(), value, v.epochs)
		if err != nil {
			v.rep.fault(&v.rep.Unreadable, 1, "%v", err)
			continue
		}
		key := appendJournalKey(nil, r.number, res.Seq)
		found, ok, err := get(v.r, key)
		if err != nil {
			return err
		}
		if row, err := readJournalRow(key, found); !ok || err != nil || row.Actor != k.Actor || row.ID != k.ID {
			v.rep.fault(&v.rep.MissingRows, 1, "room %q: the result of %q by %q has no row %d", r.name, k.ID, k.Actor, res.Seq)
		} else if res.Seq <= r.resultLow {
			v.rep.fault(&v.rep.WrongResults, 1, "room %q: the result of row %d was to be dropped", r.name, res.Seq)
		}
	}
	return damage(it.Error())
}

func (v *verifier) readCounts() error {
	value, ok, err := get(v.r, countsKey)
	if err != nil {
		return err
	}
	if !ok {
		value = appendCounts(nil, &counts{})
	}
	c, err := readCounts(value)
	if err != nil {
		v.rep.fault(&v.rep.Unreadable, 1, "%v", err)
		return nil
	}
	for _, sum := range []struct {
		what     string
		is, said int64
	}{{"rooms", v.rep.Rooms, c.rooms}, {"messages", v.rep.Messages, c.messages}, {"results", v.rep.Results, c.results}} {
		if sum.is != sum.said {
			v.rep.fault(&v.rep.WrongCounts, 1, "the store counted %d %s, it holds %d", sum.said, sum.what, sum.is)
		}
	}
	if c.numbers < v.numbers {
		v.rep.fault(&v.rep.WrongCounts, 1, "the store gave %d room numbers, a room has %d", c.numbers, v.numbers)
	}
	return v.compareNote(c)
}

// compareNote holds the commits against the head note: where a log was cut or is missing, the rows alone don't show it. A backup
// has no note.
func (v *verifier) compareNote(c counts) error {
	n, ok, err := v.folder.readNote(prefixNote + v.life)
	if errors.Is(err, os.ErrNotExist) || err == nil && (!ok || n.epoch != v.rep.Epoch) {
		return nil
	}
	if err == nil && n.commits > c.commits {
		v.rep.fault(&v.rep.LostCommits, int64(n.commits-c.commits), "the store is at commit %d, behind %d that was noted as on disk: its last messages are lost", c.commits, n.commits)
	}
	return err
}
