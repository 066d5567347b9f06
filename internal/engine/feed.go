package engine

import (
	"sync"

	"hapax/internal/room"
)

// feed hands a room's rows to its subscribers, each once, in the order of seq. It lives as long as somebody subscribes.
//
// head is the last row handed on. A row that follows it is handed on; one at or below it is old news; one further ahead
// tells of rows in between that come from elsewhere (another process, a commit whose answer got lost), and all are
// then read from the store (load.go).
type feed struct {
	name string
	e    *Engine

	mu      sync.Mutex
	subs    []*subscription
	head    int64 // unknownHead until the first subscriber has read the room
	want    int64 // a seq that the room is said to have reached
	asked   int   // how often it was said
	maybe   int64 // rows that may have been stored while the head was unknown
	loading bool  // a goroutine reads up to want
}

const unknownHead = -1

// subscription ties a subscriber to a feed. Its fields are guarded by the feed's mutex.
type subscription struct {
	f     *feed
	sub   Subscriber
	actor string
	index int   // in f.subs; -1 once gone
	from  int64 // rows up to here came with the answer to the subscribe

	held        bool    // still reading its way up: live rows wait in pending
	answering   bool    // its answer is being handed over; that doesn't block, so pending needs no bound any more
	pending     [][]Row // shared with other subscriptions, never changed
	pendingRows int
	missed      bool // pending overflowed: it has to read again
	blind       bool // it began to read while the feed's head was unknown, so that nobody was handed what came then
}

// offer hands on consecutive rows, from a commit or from the store.
func (f *feed) offer(rows []Row, to *flushes) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := rows[len(rows)-1].Seq
	if f.head == unknownHead || rows[0].Seq > f.head+1 {
		f.reach(last)
		return
	}
	if last <= f.head || len(f.subs) == 0 {
		return
	}
	rows = rows[f.head+1-rows[0].Seq:]
	encodeRows(f.e.o.Encode, f.name, f.e.store.Identity().Epoch, rows, f.subs)
	f.head = last
	for _, s := range f.subs {
		s.hand(rows, to)
	}
}

// reach notes that the room is said to be at seq, and has what is missing read from the store.
func (f *feed) reach(seq int64) {
	f.want, f.asked = max(f.want, seq), f.asked+1
	if f.head == unknownHead || f.want <= f.head || f.loading {
		return
	}
	f.loading = f.e.background(func() { f.load() })
}

// doubt has the feed look for rows of a commit that failed, n at most: they may have been stored nevertheless.
func (f *feed) doubt(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.head == unknownHead {
		f.maybe += n
		return
	}
	f.reach(f.head + n)
}

// hand gives consecutive rows to one subscriber, or keeps them until it has its answer.
func (s *subscription) hand(rows []Row, to *flushes) {
	if skip := s.from + 1 - rows[0].Seq; skip > 0 {
		if rows = rows[min(skip, int64(len(rows))):]; len(rows) == 0 {
			return
		}
	}
	if !s.held {
		s.f.e.stats.delivered.Add(uint64(len(rows)))
		s.sub.Rows(s.f.name, rows)
		to.add(s.sub)
		return
	}
	if s.pendingRows += len(rows); s.pendingRows > s.f.e.o.JoinRows && !s.answering {
		s.missed, s.pending = true, nil
	}
	if !s.missed {
		s.pending = append(s.pending, rows)
	}
}

// settle ends the reading of a joiner whose answer goes up to head. again: rows were missed meanwhile, and it has to read
// once more; gone: its subscription has ended.
func (s *subscription) settle(head int64) (again, gone bool) {
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.index < 0 {
		return false, true
	}
	if f.head == unknownHead {
		f.head = head
	}
	f.reach(head + f.maybe)
	f.maybe = 0
	// Another joiner may have read further and set the head past rows that came before this one's answer and after its reading.
	behind := s.blind && head < f.head
	s.blind = false
	if s.missed || behind {
		s.missed, s.pending, s.pendingRows = false, nil, 0
		return true, false
	}
	s.from, s.answering = head, true
	return false, false
}

// release hands over what came while the subscriber got its answer: from here on it is live.
func (s *subscription) release(to *flushes) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.index < 0 {
		return
	}
	s.held = false
	for _, rows := range s.pending {
		s.hand(rows, to)
	}
	s.pending = nil
}

// flushes gathers whom a step has given something, so that each is flushed once.
type flushes struct {
	seen map[Subscriber]struct{}
	list []Subscriber
}

func (t *flushes) add(s Subscriber) {
	if _, ok := t.seen[s]; ok {
		return
	}
	if t.seen == nil {
		t.seen = map[Subscriber]struct{}{}
	}
	t.seen[s] = struct{}{}
	t.list = append(t.list, s)
}

// flush flushes all, and forgets them.
func (t *flushes) flush() {
	for _, s := range t.list {
		s.Flush()
	}
	clear(t.seen)
	clear(t.list)
	t.list = t.list[:0]
}

// committed makes the row of an accepted command.
func committed(c *room.Command, o *room.Outcome) Row {
	return Row{Message: room.Message{
		Seq: o.Result.Seq, MessageID: o.Result.MessageID, Actor: c.Key.Actor, ID: c.Key.ID,
		Text: c.Text, Data: c.Data, At: o.Result.At,
	}}
}
