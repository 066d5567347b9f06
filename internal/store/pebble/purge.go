package pebble

import (
	"context"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/store"
)

// Purge drops from the low end of every room what the policy no longer keeps. It reads a snapshot beside the commits, and drops in
// batches of Options.PurgeStep rows; each raises the low marks and the horizons of its rooms together with its drops. See store.Store.
//
// Whether clocks may be trusted is not asked here: the caller starts a purge by age only once they agree.
func (s *Store) Purge(ctx context.Context, p store.Policy, now int64) (store.Purged, error) {
	s.purger.Lock()
	defer s.purger.Unlock()
	var all store.Purged
	for {
		done, more, err := s.purgeRun(ctx, p, now)
		all.Results += done.Results
		all.Messages += done.Messages
		if err != nil || !more {
			return all, err
		}
		if s.disk.tight() { // what was dropped makes room for what the next run needs
			s.reclaimOrWait(ctx)
		}
	}
}

// purgeRun drops by one view, purgeRun rows and one step at most.
func (s *Store) purgeRun(ctx context.Context, p store.Policy, now int64) (done store.Purged, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return done, false, err
	}
	m, err := s.enter()
	if err != nil {
		return done, false, err
	}
	defer s.leave(m)
	g := &purge{s: s, ctx: ctx, r: m.snapshot, policy: p, now: now}
	g.begin()
	err = g.rooms()
	if err == nil {
		err = g.flush()
	}
	_ = g.batch.Close()
	if errors.Is(err, errPurgeRun) {
		return g.done, true, nil
	}
	return g.done, false, err
}

// errPurgeRun ends a run that has dropped enough by its view.
var errPurgeRun = errors.New("a purge's run is over")

// purge is one run of Purge.
type purge struct {
	s      *Store
	ctx    context.Context
	r      lsm.Reader
	policy store.Policy
	now    int64
	done   store.Purged

	batch   *lsm.Batch // the step under way
	rows    int        // rows that it touches
	touched int        // rows of the steps before it
	dropped store.Purged
	marks   []marks
	keys    [][]byte // of the results that it drops
}

// marks are a room's marks after the step under way.
type marks struct {
	name      string
	low       int64
	lowID     string
	resultLow int64
	horizon   int64
	number    uint32
	freed     int64 // bytes of what it drops, about
}

func (g *purge) begin() {
	g.batch, g.rows, g.dropped, g.marks, g.keys = g.s.db.NewBatch(), 0, store.Purged{}, g.marks[:0], g.keys[:0]
}

func (g *purge) rooms() error {
	it, err := g.r.NewIter(&lsm.IterOptions{LowerBound: []byte{tableRooms}, UpperBound: []byte{tableRooms + 1}})
	if err != nil {
		return damage(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return damage(err)
		}
		row, err := readRoomRow(it.Key(), value)
		if err != nil {
			return err
		}
		if err := g.room(string(it.Key()[1:]), &row); err != nil {
			return err
		}
	}
	return damage(it.Error())
}

func (g *purge) room(name string, row *roomRow) error {
	if err := raiseHead(g.r, row); err != nil {
		return err
	}
	results, err := g.through(row, row.resultLow, g.policy.ResultRows, g.policy.ResultAgeMs)
	if err != nil {
		return err
	}
	messages, err := g.through(row, row.Low, g.policy.JournalRows, g.policy.JournalAgeMs)
	if err != nil || results == row.resultLow && messages == row.Low {
		return err
	}
	return g.drop(name, row, results, messages)
}

// through says through which seq rows may go. A bound by number needs no clock and comes first.
func (g *purge) through(row *roomRow, low, keep, ageMs int64) (through int64, err error) {
	through = low
	if keep > 0 {
		through = max(through, row.Head-keep)
	}
	if ageMs <= 0 || through == row.Head {
		return through, nil
	}
	it, err := journal(g.r, row.number, through+1, row.Head)
	if err != nil {
		return low, err
	}
	defer it.Close()
	old := store.OldThrough(func(yield func(int64, int64) bool) {
		for ok := it.First(); ok; ok = it.Next() {
			var at int64
			if at, err = atOf(it); err != nil || !yield(journalSeq(it.Key()), at) {
				return
			}
		}
		err = damage(it.Error())
	}, g.now, ageMs)
	return max(through, old), err
}

// drop walks the rows of a room upwards and lets go of results and messages, each through its own seq. A row that aged out stays as a skeleton
// while its result lives.
func (g *purge) drop(name string, row *roomRow, results, messages int64) error {
	m := marks{name: name, low: row.Low, lowID: row.LowID, resultLow: row.resultLow, number: row.number}
	last := max(results, messages)
	next := last + 1 // the first row of which anything is dropped
	if results > row.resultLow {
		next = min(next, row.resultLow+1)
	}
	if messages > row.Low {
		next = min(next, row.Low+1)
	}
	it, err := journal(g.r, row.number, next, last)
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		r, err := rowAt(it)
		if err != nil {
			return err
		}
		if r.Seq != next {
			break
		}
		next++
		g.dropRow(row, &r, &m, results, messages)
		if g.rows < g.s.opts.PurgeStep {
			continue
		}
		g.marks = append(g.marks, m)
		if err := g.flush(); err != nil {
			return err
		}
		if m.horizon, m.freed = 0, 0; g.touched >= purgeRun {
			return errPurgeRun
		}
	}
	if err := it.Error(); err != nil {
		return damage(err)
	}
	if next != last+1 {
		return fmt.Errorf("%w: row %d of room %q is missing", store.ErrDamage, next, name)
	}
	g.marks = append(g.marks, m)
	return nil
}

func (g *purge) dropRow(row *roomRow, r *journalRow, m *marks, results, messages int64) {
	out := r.Seq <= max(row.Low, messages)
	gone := r.Seq <= max(row.resultLow, results)
	if gone && r.Seq > row.resultLow {
		key := appendResultKey(nil, row.number, r.Actor, r.ID)
		_ = g.batch.Delete(key, nil)
		g.keys = append(g.keys, key)
		m.resultLow = r.Seq
		m.horizon = store.Horizon(m.horizon, r.At, g.now)
		g.dropped.Results++
		g.rows++
		m.freed += int64(len(key) + len(r.MessageID) + 64)
	}
	if out && r.Seq > row.Low {
		m.low, m.lowID = r.Seq, r.MessageID
		m.freed += int64(len(r.Text) + len(r.Data) + len(r.Actor) + len(r.ID) + lenJournalKey)
		g.dropped.Messages++
	}
	key := appendJournalKey(nil, row.number, r.Seq)
	switch {
	case out && gone:
		_ = g.batch.Delete(key, nil)
		g.rows++
	case out && !r.skeleton:
		_ = g.batch.Set(key, appendJournalValue(nil, &r.Message, true), nil)
		g.rows++
	}
}

// flush writes the step under way as one commit, and begins the next.
func (g *purge) flush() error {
	if g.rows == 0 {
		return nil
	}
	if err := g.s.take(g.ctx); err != nil {
		return err
	}
	defer g.s.give()
	w := &g.s.w
	g.s.trim()
	rows := make([]*roomRow, len(g.marks))
	for i := range g.marks {
		var err error
		if rows[i], err = g.s.room(g.marks[i].name); err != nil {
			return err
		}
	}
	for i, r := range rows { // from here on the rooms in memory change: only a broken store may stop
		r.raise(&g.marks[i])
		if err := setRoom(g.batch, g.marks[i].name, r); err != nil {
			return g.s.fail(err)
		}
	}
	w.sums.commits++
	for _, key := range g.keys {
		w.recent.add(key, w.sums.commits) // a look-up in the tables would still find it
	}
	w.sums.messages -= g.dropped.Messages
	w.sums.results -= g.dropped.Results
	if err := g.batch.Set(countsKey, appendCounts(nil, &w.sums), nil); err != nil {
		return g.s.fail(err)
	}
	if err := g.s.apply(g.batch); err != nil {
		return err
	}
	g.done.Results += g.dropped.Results
	g.done.Messages += g.dropped.Messages
	for i := range g.marks {
		m := &g.marks[i]
		g.s.reclaimer.note(appendJournalKey(nil, m.number, 0), appendJournalKey(nil, m.number, max(m.low, m.resultLow)+1), m.freed)
		if results := appendRoomPrefix(nil, tableResults, m.number); m.number < maxRooms {
			g.s.reclaimer.note(results, appendRoomPrefix(nil, tableResults, m.number+1), 0)
		}
	}
	_ = g.batch.Close()
	g.touched += g.rows
	g.begin()
	return nil
}

func (r *roomRow) raise(m *marks) {
	r.Low, r.LowID, r.resultLow = m.low, m.lowID, m.resultLow
	r.Horizon = max(r.Horizon, m.horizon)
}

// atOf reads the time of a row and nothing else of it.
func atOf(it *lsm.Iterator) (int64, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return 0, damage(err)
	}
	r := reader{rest: value}
	r.byte()
	at := r.varint()
	if r.bad {
		_, err = readJournalRow(it.Key(), value)
	}
	return at, err
}
