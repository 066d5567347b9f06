package engine

import "hapax/internal/room"

// frameSlack is about what a frame takes beside the row's own strings.
const frameSlack = 192

// encodeRows fills in the frames that the subscribers of a room will be given, and only those: nobody else's copy is made
// where only the author reads, and no author's where the author doesn't. All frames of a batch share one allocation.
func encodeRows(encode Encode, name, epoch string, rows []Row, subs []*subscription) {
	type span struct{ own, others [2]int }
	spans := make([]span, len(rows))
	var buf []byte
	own, others := false, false
	for i := range rows {
		m := &rows[i].Message
		if i == 0 || m.Actor != rows[i-1].Actor {
			own, others = readers(subs, m.Actor)
		}
		if buf == nil {
			buf = make([]byte, 0, copies(own, others)*len(rows)*(frameSlack+len(name)+len(m.Actor)+len(m.Text)+len(m.Data)))
		}
		if own {
			start := len(buf)
			buf = encode(buf, name, epoch, m, true)
			spans[i].own = [2]int{start, len(buf)}
		}
		if others {
			start := len(buf)
			buf = encode(buf, name, epoch, m, false)
			spans[i].others = [2]int{start, len(buf)}
		}
	}
	for i, s := range spans { // only now: buf may have moved while it grew
		if s.own[1] > 0 {
			rows[i].Own = buf[s.own[0]:s.own[1]:s.own[1]]
		}
		if s.others[1] > 0 {
			rows[i].Others = buf[s.others[0]:s.others[1]:s.others[1]]
		}
	}
}

func copies(own, others bool) int {
	if own && others {
		return 2
	}
	return 1
}

// readers tells whether an author is among the subscribers, and whether anybody else is.
func readers(subs []*subscription, author string) (own, others bool) {
	for _, s := range subs {
		if s.actor == author {
			own = true
		} else {
			others = true
		}
		if own && others {
			break
		}
	}
	return own, others
}

// stored makes rows of what a store returned.
func stored(messages []room.Message) []Row {
	rows := make([]Row, len(messages))
	for i := range messages {
		rows[i].Message = messages[i]
	}
	return rows
}
