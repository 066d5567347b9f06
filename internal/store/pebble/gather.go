package pebble

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// scratch is the working memory of a commit, kept from one to the next so that a command costs no garbage.
type scratch struct {
	arena   []byte   // the keys of all entries, one after the other
	entries []entry  // every key asked for, sorted by key
	held    []held   // what is known of each different key
	places  []place  // one for each command
	order   []uint32 // accepted commands by room and seq
	value   []byte
}

// entry is a key that a command asks for: its own, or that of the row it follows.
type entry struct {
	from, to uint32 // in the arena
	command  uint32
	follows  bool
	fresh    bool // of a room never written to: nothing can be stored
}

// held is what is known of a key: stored, or accepted earlier in the same batch.
type held struct {
	known  bool
	result storedResult
}

// place is where a command stands.
type place struct {
	room     *roomRow
	key      *held
	follows  *held // nil where it follows nothing
	accepted bool
}

func (x *scratch) key(e entry) []byte { return x.arena[e.from:e.to] }

// gather looks up all keys of a batch in their order on disk, each of them once. Equal keys stand together after sorting and
// share one held: so a command finds what an earlier one of its batch stored, without a map.
func (s *Store) gather(commands []room.Command) error {
	x := &s.w.scratch
	x.arena, x.entries = x.arena[:0], x.entries[:0]
	x.places = append(x.places[:0], make([]place, len(commands))...)
	for i := range commands {
		cmd := &commands[i]
		r, err := s.room(cmd.Key.Room)
		if err != nil {
			return err
		}
		x.places[i].room = r
		x.add(i, r, cmd.Key.Actor, cmd.Key.ID, false)
		if cmd.Follows != "" {
			x.add(i, r, cmd.Key.Actor, cmd.Follows, true)
		}
		if len(x.arena) > math.MaxUint32/2 {
			return errBatchTooLarge
		}
	}
	slices.SortFunc(x.entries, func(a, b entry) int {
		return cmp.Or(bytes.Compare(x.key(a), x.key(b)), cmp.Compare(a.command, b.command))
	})
	return s.lookUp()
}

func (x *scratch) add(command int, r *roomRow, actor, id string, follows bool) {
	from := uint32(len(x.arena))
	x.arena = appendResultKey(x.arena, r.number, actor, id)
	x.entries = append(x.entries, entry{from: from, to: uint32(len(x.arena)), command: uint32(command), follows: follows, fresh: r.fresh})
}

// lookUp finds what is stored of each different key.
func (s *Store) lookUp() error {
	x := &s.w.scratch
	x.held = slices.Grow(x.held[:0], len(x.entries)) // no growth below: places point into it
	if len(x.entries) == 0 {
		return nil
	}
	k, err := s.newLookup()
	if err != nil {
		return err
	}
	defer k.close()
	// Downwards: seeking upwards, Pebble first tries the next five rows each time, in vain among ids that are spread evenly.
	for i, e := range slices.Backward(x.entries) {
		if i == len(x.entries)-1 || !bytes.Equal(x.key(e), x.key(x.entries[i+1])) {
			x.held = append(x.held, held{})
			if !e.fresh {
				if err := k.find(x.key(e), &x.held[len(x.held)-1]); err != nil {
					return err
				}
			}
		}
		h := &x.held[len(x.held)-1]
		if e.follows {
			x.places[e.command].follows = h
		} else {
			x.places[e.command].key = h
		}
	}
	return nil
}

// lookup reads results and the gateway's keys, of most in the tables only.
type lookup struct {
	s      *Store
	tables *lsm.Iterator // without the memtables
	all    *lsm.Iterator // made when the first key needs it
	whole  bool          // every key needs it
}

func (s *Store) newLookup() (*lookup, error) {
	opts := lookedUp()
	opts.OnlyReadGuaranteedDurable = true
	tables, err := s.db.NewIter(opts)
	if err != nil {
		return nil, damage(err)
	}
	k := &lookup{s: s, tables: tables}
	var flushed counts
	if tables.SeekPrefixGE(countsKey) {
		value, err := tables.ValueAndErr()
		if err == nil {
			flushed, err = readCounts(value)
		}
		if err != nil {
			k.close()
			return nil, damage(err)
		}
	}
	if err := tables.Error(); err != nil {
		k.close()
		return nil, damage(err)
	}
	k.whole = !s.w.recent.forget(flushed.commits)
	return k, nil
}

// lookedUp are the options for the rows that a commit looks up: counts, the gateway's keys, results.
func lookedUp() *lsm.IterOptions {
	return &lsm.IterOptions{LowerBound: countsKey, UpperBound: []byte{tableResults + 1}, UseL6Filters: true}
}

// resultsRange are the options for looking results up: by the bloom filters of all levels, also of the bottom one, which db.Get wouldn't ask.
func resultsRange() *lsm.IterOptions {
	return &lsm.IterOptions{LowerBound: []byte{tableResults}, UpperBound: []byte{tableResults + 1}, UseL6Filters: true}
}

func (k *lookup) close() {
	_ = k.tables.Close()
	if k.all != nil {
		_ = k.all.Close()
	}
}

func (k *lookup) find(key []byte, h *held) error {
	value, ok, err := k.get(key)
	if err != nil || !ok {
		return err
	}
	h.result, err = readResult(key, value, k.s.self.Epochs)
	h.known = err == nil
	return err
}

// get returns a row, which is valid until the next one is asked for.
func (k *lookup) get(key []byte) (value []byte, ok bool, err error) {
	it := k.tables
	if k.whole || k.s.w.recent.has(key) {
		if k.all == nil {
			if k.all, err = k.s.db.NewIter(lookedUp()); err != nil {
				return nil, false, damage(err)
			}
		}
		it = k.all
	}
	if !it.SeekPrefixGE(key) || !bytes.Equal(it.Key(), key) {
		return nil, false, damage(it.Error())
	}
	value, err = it.ValueAndErr()
	return value, err == nil, damage(err)
}

// size is about what the batch will take.
func (x *scratch) size(commands []room.Command) int {
	const perRow = 160 // two keys' fixed parts, a result, and the numbers of a row
	n := 256
	for i := range commands {
		if x.places[i].accepted {
			c := &commands[i]
			n += perRow + 2*(len(c.Key.Actor)+len(c.Key.ID)) + len(c.Text) + len(c.Data)
		}
	}
	return n
}

func (x *scratch) setResult(batch *lsm.Batch, key []byte, r *idem.Result, epoch uint64) {
	x.value = appendResultValue(x.value[:0], r, epoch)
	_ = batch.Set(key, x.value, nil) // a batch that isn't indexed can't fail
}

// setMessages writes the journal rows in the order of their keys.
func (x *scratch) setMessages(batch *lsm.Batch, b *store.Batch, outcomes []room.Outcome) {
	x.order = x.order[:0]
	for i := range x.places {
		if x.places[i].accepted {
			x.order = append(x.order, uint32(i))
		}
	}
	slices.SortFunc(x.order, func(a, b uint32) int {
		return cmp.Or(
			cmp.Compare(x.places[a].room.number, x.places[b].room.number),
			cmp.Compare(outcomes[a].Result.Seq, outcomes[b].Result.Seq))
	})
	var key [lenJournalKey]byte
	for _, i := range x.order {
		cmd, res := &b.Commands[i], &outcomes[i].Result
		m := room.Message{MessageID: res.MessageID, Actor: cmd.Key.Actor, ID: cmd.Key.ID, Text: cmd.Text, Data: cmd.Data, At: res.At}
		x.value = appendJournalValue(x.value[:0], &m, false)
		_ = batch.Set(appendJournalKey(key[:0], x.places[i].room.number, res.Seq), x.value, nil)
	}
}
