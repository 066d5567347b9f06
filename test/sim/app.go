package sim

import (
	"errors"
	"fmt"
	"strings"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// app is the program above a client: what it wants, and what it has read. Its own notes outlive its processes.
type app struct {
	c      *client
	rooms  map[string]int // subscribed: rows of a snapshot
	online bool
	count  int
	read   map[string]*reading
	limbo  []*said // a process died within their Send
	due    bool    // a reading is scheduled
}

func (a *app) init(c *client) {
	*a = app{c: c, rooms: map[string]int{}, online: true, read: map[string]*reading{}}
}

// started is the app's start: its wishes, and the sends of which it doesn't know whether they were stored.
func (a *app) started() {
	a.wishes()
	limbo := a.limbo
	a.limbo = nil
	for _, s := range limbo {
		if a.c.w.luck(700) {
			a.resend(s.Key, s.texts[0])
		}
	}
	a.readSoon()
}

func (a *app) wishes() {
	for _, room := range sortedKeys(a.rooms) {
		a.c.put(session.Subscribe{Room: room, Limit: a.rooms[room]})
	}
	if a.online {
		a.c.put(session.Connect{})
	}
}

// died notes which Sends didn't return.
func (a *app) died() {
	for _, t := range sortedKeys(a.c.sends) {
		s := a.c.sends[t].said
		s.limbo = true
		a.limbo = append(a.limbo, s)
		a.c.w.seen["death within a Send"]++
	}
	a.c.sends = nil
	a.due = false
}

// returned is the return of a Send.
func (a *app) returned(s *said, outcome store.AddOutcome, err error) {
	switch {
	case errors.Is(err, errDisk):
		s.limbo = true // stored or not: the app may ask again
		a.limbo = append(a.limbo, s)
	case err != nil, outcome == store.Full, outcome == store.Conflict:
	default:
		a.accepted(s)
	}
	a.c.w.say(a.c.name, "Send %s returns %d %v", s.ID, outcome, err)
}

func (a *app) accepted(s *said) {
	r, ok, err := a.c.other.Find(ctx, s.Key)
	if err != nil || !ok {
		a.c.w.wrong("%s: Send of %s returned, its store doesn't hold it (%v)", a.c.name, s.ID, err)
	}
	s.accepted = true
	in := line{a.c.name, s.Room}
	a.c.w.book.lines[in] = append(a.c.w.book.lines[in], place{r.Position, s})
}

// send says something new.
func (a *app) send(room string) {
	c := a.c
	id := c.issuer.Next()
	if c.issuer.NeedsLease() {
		c.w.after(c.w.up(50), c.onLife(func() {
			if c.issuer.NeedsLease() {
				c.reserve()
			}
		}))
	}
	if id.IsZero() {
		return
	}
	who := fmt.Sprintf("%s, process %d", c.name, c.life)
	if before, twice := c.w.book.issued[id.String()]; twice {
		c.w.wrong("id %s was issued to %s and again to %s", id, before, who)
		return
	}
	c.w.book.issued[id.String()] = who
	if c.w.chance(50) {
		_ = c.issuer.Release(id) // issued a line above; never used
		return
	}
	if err := c.issuer.Use(id); err != nil {
		c.w.wrong("%s: use of %s: %v", c.name, id, err)
		return
	}
	a.count++
	text := fmt.Sprintf("%s says %d in %s", c.name, a.count, room)
	key := store.Key{Room: room, ID: id.String()}
	if c.w.chance(20) { // the process on the same disk that doesn't drain it
		a.foreign(key, text)
		return
	}
	c.tickets++
	c.sends[c.tickets] = &sending{c.w.book.note(c, key, text), store.Body{Text: text}}
	c.put(session.Send{Ticket: c.tickets, Key: key, Fingerprint: fingerprint(text), Size: len(text)})
	c.w.say(c.name, "Send %s in %s", id, room)
}

func fingerprint(text string) string { return protocol.FingerprintOf(text, nil).String() }

// resend is the way of an id that the issuer of this process didn't give.
func (a *app) resend(k store.Key, text string) {
	r, ok := a.add(a.c.st, k, text)
	if ok {
		a.c.put(session.RowIs{Row: r})
	}
}

// foreign adds a row by another process, which tells nobody: until the drainer looks, its own later rows may go first.
func (a *app) foreign(k store.Key, text string) {
	if _, ok := a.add(a.c.other, k, text); ok {
		a.c.w.book.said[bookKey{a.c.actor, k}].stepped = true
		a.c.w.after(a.c.w.up(250), a.c.onLife(a.c.look))
	}
}

func (a *app) add(st store.Store, k store.Key, text string) (store.Row, bool) {
	c := a.c
	s := c.w.book.note(c, k, text)
	added, err := st.Add(ctx, 0, []store.Entry{{
		Key: k, Body: store.Body{Text: text}, Fingerprint: fingerprint(text), QueuedAt: c.clock().Wall, State: store.Queued, DueNow: true,
	}})
	if err != nil {
		c.w.wrong("%s: add: %v", c.name, err)
		return store.Row{}, false
	}
	c.w.say(c.name, "adds %s: %d", k.ID, added[0].Outcome)
	c.w.seen[fmt.Sprintf("added %d", added[0].Outcome)]++
	if added[0].Outcome != store.Inserted && added[0].Outcome != store.Same {
		return store.Row{}, false
	}
	if added[0].Outcome == store.Inserted {
		delete(s.uncertain, c.name) // that was another row
	}
	if added[0].Outcome == store.Inserted && (s.accepted || s.limbo) { // its first row is gone: confirmed, or removed by the app
		s.stepped, s.cancelled, s.again = true, false, true
		s.copies = s.copies || c.w.forgets()
	}
	a.accepted(s)
	return added[0].Row, true
}

// retry is the app's word to send a row again. For one that is uncertain it accepts a second copy.
func (a *app) retry(k store.Key) {
	c := a.c
	before, _, _ := c.other.Find(ctx, k) // where it fails, Retry fails too
	now, welcomed := c.m.ServerTime(c.clock())
	if !welcomed {
		now = c.clock().Wall
	}
	r, err := c.st.Retry(ctx, k, max(1, now))
	c.w.say(c.name, "Retry %s: %v", k.ID, err)
	if err != nil {
		return
	}
	s := c.w.book.said[bookKey{c.actor, k}]
	s.stepped = true
	c.w.seen["retry of a row "+before.State.String()]++
	if before.State == store.Uncertain {
		s.copies = true
	}
	delete(s.uncertain, c.name)
	c.put(session.RowIs{Row: r})
}

// remove cancels or discards a row.
func (a *app) remove(st store.Store, k store.Key, discard bool) {
	c := a.c
	by, what := st.Cancel, "Cancel"
	if discard {
		by, what = st.Discard, "Discard"
	}
	r, err := by(ctx, k)
	c.w.say(c.name, "%s %s: %v", what, k.ID, err)
	c.w.seen[fmt.Sprintf("%s, refused %v", what, err != nil)]++
	if err != nil {
		return
	}
	s := c.w.book.said[bookKey{c.actor, k}]
	s.stepped = true
	s.dropped = s.dropped || discard
	s.cancelled = s.cancelled || !discard
	delete(s.uncertain, c.name)
	if st == c.st {
		c.put(session.RowGone{Row: r})
	} else {
		c.w.after(c.w.up(250), c.onLife(c.look))
	}
}

// hear takes in a hint of the machine.
func (a *app) hear(e session.Event) {
	c := a.c
	switch e := e.(type) {
	case session.RoomChanged:
		a.readSoon()
	case session.ConnectionChanged:
		if errors.Is(e.Err, session.ErrWrongStore) || errors.Is(e.Err, session.ErrActorMismatch) || e.State == session.GaveUp {
			c.w.wrong("%s: %s: %v", c.name, e.State, e.Err)
		}
	case session.RowEvicted:
		if !c.w.book.said[bookKey{c.actor, e.Row.Key}].dropped {
			c.w.wrong("%s: told of an eviction that wasn't: %+v", c.name, e.Row)
		}
	}
	c.w.say(c.name, "event %s %+v", strings.TrimPrefix(fmt.Sprintf("%T", e), "session."), e)
}

// onLife keeps a deed to the process that planned it.
func (c *client) onLife(do func()) func() {
	life := c.life
	return func() {
		if c.alive(life) {
			do()
		}
	}
}
