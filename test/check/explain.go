package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// bounds are the moments between which a row must have come into being.
type bounds struct{ from, to int64 }

// Explained decides the same as Linearizable, exactly and in a single pass, for histories of any length. It can, as the final
// log says which operation made which row: then every answer is a bound on the moment of one row, and an order exists
// if and only if the earliest moments that rise with seq keep all upper bounds. The test holds it against porcupine.
func Explained(logs map[string][]Row, ops []Op) (faults []string) {
	type key struct{ room, actor, id string }
	final := map[key]int64{}
	rows := map[string][]bounds{}
	for room, log := range logs {
		rows[room] = slices.Repeat([]bounds{{math.MinInt64, math.MaxInt64}}, len(log)+2) // by seq; 0 and the one to come too
		for _, r := range log {
			final[key{room, r.Actor, r.ID}] = r.Seq
		}
	}
	made, first := map[key]int64{}, map[key]bool{} // earliest call that can have made the row; whether one was told so
	for _, o := range slices.SortedStableFunc(slices.Values(ops), func(a, b Op) int { return cmp.Compare(a.Call, b.Call) }) {
		k := key{o.Room, o.Actor, o.ID}
		if o.Kind == Unknown {
			if _, there := made[k]; !there {
				made[k] = o.Call
			}
		}
	}
	for _, o := range ops {
		k := key{o.Room, o.Actor, o.ID}
		at, b := final[k], rows[o.Room]
		switch {
		case o.Kind == Unknown:
			continue
		case o.Kind == Read && (o.Seq < 0 || o.Seq >= int64(max(len(b)-1, 1))):
			faults = append(faults, fmt.Sprintf("%s: a read of head %d, which the log doesn't reach", o.Room, o.Seq))
		case o.Kind == Read && b != nil:
			b[o.Seq].to = min(b[o.Seq].to, o.Return)
			b[o.Seq+1].from = max(b[o.Seq+1].from, o.Call)
		case o.Kind == Read:
		case at == 0 || at != o.Seq:
			faults = append(faults, fmt.Sprintf("%s: (%s, %s) was answered as seq %d, the log holds it as %d", o.Room, o.Actor, o.ID, o.Seq, at))
		case o.Kind == First && first[k]:
			faults = append(faults, fmt.Sprintf("%s: (%s, %s) was told twice to be the first", o.Room, o.Actor, o.ID))
		case o.Kind == First:
			first[k], made[k] = true, o.Call
			b[at].to = min(b[at].to, o.Return)
		default:
			b[at].to = min(b[at].to, o.Return)
		}
	}
	for room, log := range logs {
		moment := int64(math.MinInt64)
		for _, r := range log {
			call, there := made[key{room, r.Actor, r.ID}]
			if !there {
				faults = append(faults, fmt.Sprintf("%s: nobody sent (%s, %s), stored as seq %d", room, r.Actor, r.ID, r.Seq))
				continue
			}
			b := rows[room][r.Seq]
			if moment = max(moment, call, b.from); moment > b.to {
				faults = append(faults, fmt.Sprintf("%s: no order explains seq %d: it was seen at %d, and can't have been there before %d", room, r.Seq, b.to, moment))
				break
			}
		}
	}
	return faults
}

// Prefix is the history of each room's first rows alone: the operations on their keys, and the reads that saw no more. If a
// history has an explanation, its prefix has. It keeps porcupine's search short.
func Prefix(logs map[string][]Row, ops []Op, rows int) (map[string][]Row, []Op) {
	type key struct{ room, actor, id string }
	cut, kept := map[string][]Row{}, map[key]bool{}
	for room, log := range logs {
		cut[room] = log[:min(rows, len(log))]
		for _, r := range cut[room] {
			kept[key{room, r.Actor, r.ID}] = true
		}
	}
	var few []Op
	for _, o := range ops {
		whole := len(cut[o.Room]) == len(logs[o.Room])
		if kept[key{o.Room, o.Actor, o.ID}] || o.Kind == Read && (whole || o.Seq < int64(len(cut[o.Room]))) {
			few = append(few, o)
		}
	}
	return cut, few
}
