package sim

import (
	"cmp"
	"fmt"
	"slices"

	"hapax/internal/idem"
	journal "hapax/internal/store"
	"hapax/test/check"
)

// judge holds the end of a run against every promise.
func (w *World) judge() {
	logs := w.ledger.logs[w.ledger.epoch]
	for _, name := range sortedKeys(logs) {
		w.found(check.Log(name, 1, w.apart(name, logs[name])))
		w.judgeKeys(name, logs[name])
	}
	w.found(check.Acks(logs, w.due()))
	for _, c := range w.clients {
		w.judgeViews(c, logs)
		w.judgeOrder(c, logs)
	}
	w.judgePromises(logs)
	if w.Linear && len(w.faults) == 0 {
		w.judgeLinear(logs)
	}
}

func (w *World) found(faults []string) {
	for _, f := range faults {
		w.wrong("%s", f)
	}
}

// forgets reports whether the server drops results of keys.
func (w *World) forgets() bool { return w.Policy.ResultAge != 0 || w.Policy.ResultRows != 0 }

// mayRepeat reports whether a message may stand in the log twice by its app's own doing: it was sent again although it may have been
// accepted, or a second device first sent it when the server had forgotten the first's.
func (w *World) mayRepeat(s *said) bool { return s != nil && (s.copies || s.shared && w.forgets()) }

// apart gives the second copies that an app asked for names of their own.
func (w *World) apart(name string, log []check.Row) []check.Row {
	seen := map[bookKey]bool{}
	log = slices.Clone(log)
	for i, r := range log {
		k := rowKey(name, r)
		if seen[k] && w.mayRepeat(w.book.said[k]) {
			log[i].ID = fmt.Sprintf("%s, copy at %d", r.ID, r.Seq)
		}
		seen[k] = true
	}
	return log
}

// due are the acks that still have to hold: all but those of rows that a restore took away.
func (w *World) due() (acks []check.Ack) {
	for _, a := range w.book.acks {
		if a.epoch != w.ledger.epoch && a.seq > w.ledger.fork[a.key.Room] || w.mayRepeat(w.book.said[a.key]) {
			continue
		}
		acks = append(acks, check.Ack{
			Room: a.key.Room, Actor: a.key.actor, ID: a.key.ID, Text: a.text, MessageID: a.messageID, Seq: a.seq, Duplicate: a.duplicate,
		})
	}
	return acks
}

// judgeKeys: each row was said by its actor, and its key's result stands beside it.
func (w *World) judgeKeys(name string, log []check.Row) {
	w.server.view(func(v journal.View) error {
		for _, r := range log {
			k := rowKey(name, r)
			s := w.book.said[k]
			if s == nil || !slices.Contains(s.texts, r.Text) {
				w.wrong("%s: seq %d (%s) was never said", name, r.Seq, r.Text)
				continue
			}
			if w.forgets() {
				continue
			}
			res, ok, err := v.Result(idem.Key{Actor: r.Actor, Room: name, ID: r.ID})
			if err != nil {
				return err
			}
			if !ok || res.Seq != r.Seq || res.MessageID != r.MessageID {
				w.wrong("%s: seq %d is %s, its key's result %v %+v", name, r.Seq, r.MessageID, ok, res)
			}
		}
		return nil
	})
}

// judgeViews holds what a client's store shows against the log.
func (w *World) judgeViews(c *client, logs map[string][]check.Row) {
	c.app.readAll()
	rooms, err := c.other.Rooms(ctx)
	if err != nil {
		w.wrong("%s: %v", c.name, err)
	}
	for _, v := range rooms {
		messages, err := c.other.View(ctx, v.Room, 0, 1<<30)
		if err != nil {
			w.wrong("%s: %v", c.name, err)
		}
		log := w.ledger.logs[v.Cursor.Epoch][v.Room]
		var rows []check.Row
		for _, m := range messages {
			r := check.Row{Seq: m.Seq, MessageID: m.MessageID, Actor: m.Actor, ID: m.ClientMessageID, Text: m.Text}
			if m.Position == 0 { // told by an ack alone, which says nothing of the content: a status may be asked for an id of two
				if s := w.book.said[rowKey(v.Room, r)]; s != nil && len(s.texts) > 1 {
					continue
				}
				w.found(check.View(c.name+" by ack", v.Room, w.ledger.logs[m.Epoch][v.Room], []check.Row{r}, false))
				continue
			}
			rows = append(rows, r)
		}
		_, whole := c.app.rooms[v.Room]
		if n := v.Cursor.After; int64(len(log)) >= n {
			log = log[:n]
		}
		w.found(check.View(c.name, v.Room, log, rows, whole && len(rows) > 0))
	}
}

// judgeOrder: what one device said in a room stands in the log in the order in which it was said, but for rows that stepped aside.
// A row that another device says too may have been stored long before; what stands behind it follows it alone.
func (w *World) judgeOrder(c *client, logs map[string][]check.Row) {
	for i := range w.Rooms {
		name := w.roomName(i)
		seqs := map[bookKey]int64{}
		for _, r := range logs[name] {
			seqs[rowKey(name, r)] = r.Seq
		}
		places := w.book.lines[line{c.name, name}]
		slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.position, b.position) })
		last := place{}
		for _, p := range places {
			switch seq := seqs[p.said.bookKey]; {
			case p.said.shared:
				last = place{}
			case p.said.stepped || seq == 0:
			case last.said != nil && seqs[last.said.bookKey] > seq:
				w.wrong("%s in %s: row %d is seq %d, the later row %d is seq %d", c.name, name, last.position, seqs[last.said.bookKey], p.position, seq)
			default:
				last = p
			}
		}
	}
}

// judgePromises: what a Send accepted is in the log, or in an outbox with its reason, or its app took it back.
func (w *World) judgePromises(logs map[string][]check.Row) {
	inLog := map[bookKey]bool{}
	for name, rows := range logs {
		for _, r := range rows {
			inLog[rowKey(name, r)] = true
		}
	}
	aside := map[bookKey]bool{}
	for _, c := range w.clients {
		rows, err := c.other.List(ctx, 0, 1<<30)
		if err != nil {
			w.wrong("%s: %v", c.name, err)
		}
		for _, r := range rows {
			if r.Aside() && r.Reason != "" {
				aside[bookKey{c.actor, r.Key}] = true
			}
		}
	}
	for _, s := range w.book.order {
		there := inLog[s.bookKey]
		switch {
		case there && !s.accepted && !s.limbo:
			w.wrong("%s was refused by its Send, and is in the log", s.ID)
		case there && s.cancelled && !s.shared && !s.again:
			w.wrong("%s was cancelled, and is in the log", s.ID)
		case s.accepted && !there && !aside[s.bookKey] && !s.cancelled && !s.dropped && !w.ledger.lost[s.bookKey]:
			w.wrong("%s was accepted by its Send, and is neither in the log nor in an outbox", s.ID)
		}
	}
}
