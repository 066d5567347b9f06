package pebble

import (
	"context"
	"errors"
	"strconv"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Commit judges and applies a batch: gather what is known of all its keys, judge command after command, write one batch, sync, and only
// then show it to readers. See store.Store.
func (s *Store) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	if err := s.disk.room(); err != nil {
		return nil, err
	}
	s.trim()
	if err := s.gather(b.Commands); err != nil {
		return nil, err
	}
	outcomes, accepted := s.judge(b)
	if err := s.broken(); err != nil {
		return nil, err
	}
	if accepted == 0 {
		return outcomes, nil // what was judged rests on synced rows only
	}
	if err := s.write(b, outcomes, accepted); err != nil {
		return nil, err
	}
	return outcomes, nil
}

// judge runs the judge over the commands in their order, and gives what it accepts its seq.
func (s *Store) judge(b *store.Batch) (outcomes []room.Outcome, accepted int) {
	judged := false
	defer func() {
		if !judged { // the judge panicked: the rooms in memory are ahead of the disk
			s.guard.fail(errors.New("the judge of a commit panicked"))
		}
	}()
	outcomes = make([]room.Outcome, len(b.Commands))
	for i := range b.Commands {
		cmd, at := &b.Commands[i], &s.w.scratch.places[i]
		facts := room.Facts{
			Now: b.Now, RetentionMs: b.RetentionMs,
			Horizon: at.room.Horizon, Head: at.room.Head,
			Known: at.key.known,
		}
		if at.key.known {
			facts.Prior = at.key.result.Result
		}
		if at.follows != nil {
			facts.FollowsHeld = at.follows.known
		}
		outcomes[i] = b.Judge(facts, cmd)
		if outcomes[i].Kind != room.Accepted {
			continue
		}
		if at.key.known {
			s.guard.fail(errors.New("the judge accepted a known key")) // a bug; nothing of the batch may be stored
			break
		}
		if at.room.Head >= room.MaxSeq {
			outcomes[i] = room.Outcome{Kind: room.Full}
			continue
		}
		s.accept(at, cmd, b.Now)
		outcomes[i].Result = at.key.result.Result
		accepted++
	}
	judged = true
	return outcomes, accepted
}

// accept gives a command its row. From here on the batch's later commands find its key known.
func (s *Store) accept(at *place, cmd *room.Command, now int64) {
	s.w.ids++
	var buf [40]byte
	id := string(strconv.AppendUint(append(buf[:0], s.w.life...), s.w.ids, 36))
	at.room.Head++
	at.room.HeadID = id
	at.accepted = true
	at.key.known = true
	at.key.result = storedResult{
		Result: idem.Result{
			Fingerprint: cmd.Fingerprint, MessageID: id, Seq: at.room.Head, Epoch: s.identity.Epoch, At: now,
		},
		epoch: uint64(len(s.self.Epochs) - 1),
	}
}

// write puts what was accepted into one batch and syncs it.
func (s *Store) write(b *store.Batch, outcomes []room.Outcome, accepted int) error {
	w, x := &s.w, &s.w.scratch
	batch := s.db.NewBatchWithSize(x.size(b.Commands))
	defer batch.Close()
	for i := range b.Commands {
		if at := &x.places[i]; at.accepted && at.room.fresh {
			at.room.fresh = false
			w.sums.rooms++
			if err := setRoom(batch, b.Commands[i].Key.Room, at.room); err != nil {
				return s.fail(err)
			}
		}
	}
	w.sums.commits++
	w.sums.numbers = w.given
	w.sums.messages += int64(accepted)
	w.sums.results += int64(accepted)
	x.value = appendCounts(x.value[:0], &w.sums)
	if err := batch.Set(countsKey, x.value, nil); err != nil {
		return s.fail(err)
	}
	for _, e := range x.entries { // rising, so that the memtable's skip list is walked once
		if at := &x.places[e.command]; !e.follows && at.accepted {
			x.setResult(batch, x.key(e), &outcomes[e.command].Result, at.key.result.epoch)
			w.recent.add(x.key(e), w.sums.commits)
		}
	}
	x.setMessages(batch, b, outcomes)
	return s.apply(batch)
}

// apply writes a batch, waits for its sync, and shows it to readers. Whatever goes wrong breaks the store: what the disk
// kept is known only after it has been opened anew.
func (s *Store) apply(batch *lsm.Batch) error {
	sync := lsm.Sync
	if s.opts.unsynced {
		sync = lsm.NoSync
	}
	if err := s.db.Apply(batch, sync); err != nil {
		return s.fail(err)
	}
	if err := s.broken(); err != nil { // the guard swallowed the failure of a write or a sync
		return err
	}
	sums := s.w.sums
	s.sums.Store(&sums)
	s.publish()
	s.noter.synced(noted{sums.commits, s.w.log})
	return nil
}

func (s *Store) fail(err error) error {
	s.guard.fail(err)
	return s.broken()
}

func setRoom(batch *lsm.Batch, name string, r *roomRow) error {
	return batch.Set(appendRoomsKey(nil, name), appendRoomRow(nil, r), nil)
}
