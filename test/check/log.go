package check

import (
	"fmt"
)

// Row is a row of a room as the store, or a reader, holds it.
type Row struct {
	Seq       int64
	MessageID string
	Actor     string
	ID        string // client message id; "" where the reader isn't the author
	Text      string
}

// Ack is what a sender was told.
type Ack struct {
	Room      string
	Actor     string
	ID        string
	Text      string
	MessageID string
	Seq       int64
	Duplicate bool
}

// Log says what is wrong with the rows of one room, by rising seq, in the store: seqs dense from first, no key and no
// messageId twice. Rows below first have aged out.
func Log(room string, first int64, rows []Row) (faults []string) {
	keys := map[[2]string]int64{}
	ids := map[string]int64{}
	for i, r := range rows {
		if want := first + int64(i); r.Seq != want {
			faults = append(faults, fmt.Sprintf("%s: seq %d where %d was due", room, r.Seq, want))
		}
		if old, twice := keys[[2]string{r.Actor, r.ID}]; twice {
			faults = append(faults, fmt.Sprintf("%s: key (%s, %s) at seq %d and again at %d", room, r.Actor, r.ID, old, r.Seq))
		}
		keys[[2]string{r.Actor, r.ID}] = r.Seq
		if old, twice := ids[r.MessageID]; twice || r.MessageID == "" {
			faults = append(faults, fmt.Sprintf("%s: messageId %q at seq %d and again at %d", room, r.MessageID, old, r.Seq))
		}
		ids[r.MessageID] = r.Seq
	}
	return faults
}

// Acks says which acknowledged messages the log doesn't hold as they were acknowledged, and which keys were told
// "first" more than once.
func Acks(logs map[string][]Row, acks []Ack) (faults []string) {
	type key struct{ room, actor, id string }
	stored := map[key]Row{}
	for room, rows := range logs {
		for _, r := range rows {
			stored[key{room, r.Actor, r.ID}] = r
		}
	}
	firsts := map[key]int{}
	for _, a := range acks {
		k := key{a.Room, a.Actor, a.ID}
		r, there := stored[k]
		switch {
		case !there:
			faults = append(faults, fmt.Sprintf("%s: acknowledged message (%s, %s) at seq %d is lost", a.Room, a.Actor, a.ID, a.Seq))
		case r.Seq != a.Seq || r.MessageID != a.MessageID:
			faults = append(faults, fmt.Sprintf("%s: (%s, %s) acknowledged as seq %d %s, stored as seq %d %s", a.Room, a.Actor, a.ID, a.Seq, a.MessageID, r.Seq, r.MessageID))
		case r.Text != a.Text:
			faults = append(faults, fmt.Sprintf("%s: (%s, %s) at seq %d has another content", a.Room, a.Actor, a.ID, a.Seq))
		}
		if !a.Duplicate {
			if firsts[k]++; firsts[k] > 1 {
				faults = append(faults, fmt.Sprintf("%s: (%s, %s) was told to be the first %d times", a.Room, a.Actor, a.ID, firsts[k]))
			}
		}
	}
	return faults
}

// View says how a reader's rows of a room differ from the log: it must be a run of the log without a hole, and where whole
// is set reach its end. The author's id is compared only where the reader has it.
func View(reader, room string, log, view []Row, whole bool) (faults []string) {
	bySeq := make(map[int64]Row, len(log))
	for _, r := range log {
		bySeq[r.Seq] = r
	}
	for i, v := range view {
		if i > 0 && v.Seq != view[i-1].Seq+1 {
			faults = append(faults, fmt.Sprintf("%s in %s: row %d comes after row %d", reader, room, v.Seq, view[i-1].Seq))
		}
		l, there := bySeq[v.Seq]
		switch {
		case !there:
			faults = append(faults, fmt.Sprintf("%s in %s: saw seq %d (%s), which the log doesn't hold", reader, room, v.Seq, v.MessageID))
		case l.MessageID != v.MessageID || l.Text != v.Text || l.Actor != v.Actor || v.ID != "" && v.ID != l.ID:
			faults = append(faults, fmt.Sprintf("%s in %s: seq %d differs from the log", reader, room, v.Seq))
		}
	}
	if whole && len(log) > 0 && (len(view) == 0 || view[len(view)-1].Seq != log[len(log)-1].Seq) {
		faults = append(faults, fmt.Sprintf("%s in %s: holds %d rows and doesn't reach seq %d", reader, room, len(view), log[len(log)-1].Seq))
	}
	return faults
}
