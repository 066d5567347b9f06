package sim

import (
	"time"

	"hapax/protocol"
	"hapax/test/check"
)

// operation is a command on its way, for the search for one order of all.
type operation struct {
	check.Op
	messageID string // of a conflict: the row that it names
	void      bool   // answered without an effect
}

type opKey struct {
	conn int64
	ref  string
}

// handedOver notes that a frame left.
func (c *client) handedOver(l *link, cmd *protocol.Command) {
	if !c.w.Linear {
		return
	}
	op := &operation{Op: check.Op{Room: cmd.Room, Actor: c.actor, ID: cmd.ClientMessageID, Call: c.w.tick()}}
	switch cmd.Type {
	case protocol.TypeSend:
		op.Kind = check.Unknown
	case protocol.TypeSubscribe:
		op.Kind, op.void = check.Read, true // until it is answered
	default:
		return
	}
	c.open[opKey{l.n, cmd.Ref}] = op
	c.w.ops = append(c.w.ops, op)
}

// answered notes the answer of a frame.
func (c *client) answered(l *link, e *protocol.Event) {
	op := c.open[opKey{l.n, e.Ref}]
	if op == nil || e.Ref == "" {
		return
	}
	op.Return = c.w.tick()
	switch e.Type {
	case protocol.TypeAck:
		op.Kind, op.Seq = check.First, e.Seq
		if e.Duplicate {
			op.Kind = check.Duplicate
		}
	case protocol.TypeSnapshot, protocol.TypeDelta:
		op.Seq, op.void = e.Head, false
	case protocol.TypeError:
		switch e.Code {
		case protocol.IDConflict:
			op.Kind, op.messageID = check.Conflict, e.MessageID
		case protocol.Unavailable, protocol.InProgress: // stored, perhaps
		default:
			op.void = true
		}
	}
	delete(c.open, opKey{l.n, e.Ref})
}

// judgeLinear asks whether one order of all operations explains every answer.
func (w *World) judgeLinear(logs map[string][]check.Row) {
	for _, s := range w.book.order {
		if w.mayRepeat(s) {
			return // a key with two rows is no room of the model's
		}
	}
	seqs := map[string]int64{}
	for _, rows := range logs {
		for _, r := range rows {
			seqs[r.MessageID] = r.Seq
		}
	}
	var ops []check.Op
	for i, o := range w.few() {
		if o.Kind == check.Conflict {
			o.Seq = seqs[o.messageID]
		}
		o.Client = i
		ops = append(ops, o.Op)
	}
	w.found(check.Linearizable(logs, ops, time.Minute))
}

// few leaves out what explains nothing, as the search takes time exponential in sends without an answer. Where a send of a key was told
// to be the first, the others had no effect. Else one of them had, at some time after the first of them: one operation says that.
func (w *World) few() (ops []*operation) {
	type key struct{ actor, room, id string }
	known := map[key]bool{}
	for _, o := range w.ops {
		if o.Kind == check.First {
			known[key{o.Actor, o.Room, o.ID}] = true
		}
	}
	for _, o := range w.ops {
		k := key{o.Actor, o.Room, o.ID}
		if o.void || o.Kind == check.Unknown && known[k] {
			continue
		}
		if o.Kind == check.Unknown {
			known[k] = true
		}
		ops = append(ops, o)
	}
	return ops
}
