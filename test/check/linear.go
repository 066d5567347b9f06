package check

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind says what an operation was and what came of it.
type Kind int

// The operations of a room.
const (
	First     Kind = iota // a send told to be the first
	Duplicate             // a send told to be a repeat
	Conflict              // a send refused because its id has another content
	Unknown               // a send that nobody answered: it may take effect at any time, or never
	Read                  // a reading of the room's head
)

// Op is one operation of one client in one room. Times are of one clock for all clients.
type Op struct {
	Client int
	Room   string
	Kind   Kind
	Actor  string
	ID     string
	Seq    int64 // as answered: of the row, or the head that was read
	Call   int64 // ns
	Return int64 // ns; ignored for Unknown
}

// A room's history is decided by the final log alone: the k-th row exists from the moment when k operations have taken
// effect. So the state of the model is the number of rows, which keeps the search small.
type input struct {
	kind Kind
	room string
	seq  int64 // of the key in the final log, 0 where it isn't there
}

// Linearizable says whether some order of the operations that respects real time explains all answers, given the final
// logs. It answers with the faults of the rooms that can't be explained; a search that ran out of time is a fault.
func Linearizable(logs map[string][]Row, ops []Op, limit time.Duration) (faults []string) {
	type key struct{ room, actor, id string }
	final := map[key]int64{}
	for room, rows := range logs {
		for _, r := range rows {
			final[key{room, r.Actor, r.ID}] = r.Seq
		}
	}
	byRoom := map[string][]porcupine.Operation{}
	for _, o := range essential(ops) {
		in := input{kind: o.Kind, room: o.Room, seq: final[key{o.Room, o.Actor, o.ID}]}
		end := o.Return
		if o.Kind == Unknown {
			if in.seq == 0 {
				continue // never took effect: it explains nothing and hinders nothing
			}
			end = math.MaxInt64
		}
		byRoom[o.Room] = append(byRoom[o.Room], porcupine.Operation{ClientId: o.Client, Input: in, Output: o.Seq, Call: o.Call, Return: end})
	}
	for room, history := range byRoom {
		switch porcupine.CheckOperationsTimeout(model, history, limit) {
		case porcupine.Illegal:
			faults = append(faults, fmt.Sprintf("%s: no order of its %d operations explains their answers", room, len(history)))
		case porcupine.Unknown:
			faults = append(faults, fmt.Sprintf("%s: no order found for its %d operations within %s", room, len(history), limit))
		case porcupine.Ok:
		}
	}
	return faults
}

// essential leaves out what can't change the verdict: of several unanswered sends of one key only the earliest counts, as
// the others can stand at the very end, where they change nothing.
func essential(ops []Op) (kept []Op) {
	type key struct{ room, actor, id string }
	earliest := map[key]int{}
	for _, o := range ops {
		if o.Kind != Unknown {
			kept = append(kept, o)
			continue
		}
		k := key{o.Room, o.Actor, o.ID}
		at, again := earliest[k]
		if !again {
			earliest[k] = len(kept)
			kept = append(kept, o)
		} else if o.Call < kept[at].Call {
			kept[at] = o
		}
	}
	return kept
}

var model = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, in, out any) (bool, any) {
		rows, i, answered := state.(int64), in.(input), out.(int64)
		switch i.kind {
		case First:
			return i.seq == answered && i.seq == rows+1, rows + 1
		case Duplicate, Conflict:
			return i.seq == answered && i.seq != 0 && i.seq <= rows, rows
		case Unknown:
			// Without an effect it can stand after its key's row; with one it is that row.
			return i.seq <= rows+1, max(rows, i.seq)
		case Read:
			return answered == rows, rows
		}
		return false, rows
	},
}
