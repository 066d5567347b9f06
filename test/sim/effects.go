package sim

import (
	"errors"
	"maps"
	"slices"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// run carries out effects in their order, and returns the store's answer where one is owed. The process may die before each.
func (c *client) run(effects []session.Effect) session.Input {
	var res session.Stored
	storing := false
	for _, e := range effects {
		if c.w.chance(c.w.MidCrash) {
			c.dying = true
			c.w.seen["death between two effects"]++
		}
		if c.dying {
			return nil
		}
		switch e := e.(type) {
		case session.Bind, session.Add, session.Apply, session.Evict:
			storing = true
			if err := c.store(e, &res); err != nil {
				c.w.say(c.name, "store: %v", err)
				return session.StoreFailed{Err: err}
			}
		case session.Write:
			c.write(e)
		case session.Dial:
			c.w.say(c.name, "dials %d", e.Conn)
			c.w.dial(c, e.Conn)
		case session.Close:
			c.w.say(c.name, "closes %d", e.Conn)
			if l := c.links[e.Conn]; l != nil {
				l.close()
			}
		case session.AskToken:
			c.w.say(c.name, "asks for a token")
			c.askToken()
		case session.Wake:
			c.wake(e.At)
		case session.Emit:
			c.app.hear(e.Event)
		case session.Answer:
			c.answer(e)
		case session.Reread:
			c.reread()
		}
	}
	if storing {
		return res
	}
	return nil
}

// store carries out one store effect.
func (c *client) store(e session.Effect, res *session.Stored) (err error) {
	c.inside = true
	defer func() { c.inside = false }()
	switch e := e.(type) {
	case session.Bind:
		err = c.st.Bind(ctx, e.Owner)
	case session.Add:
		entries := make([]store.Entry, len(e.Rows))
		for i, r := range e.Rows {
			entries[i] = r.Entry
			entries[i].Body = c.sends[r.Ticket].body
		}
		res.Added, err = c.st.Add(ctx, c.fence, entries)
	case session.Apply:
		c.guardSteps(e.Changes)
		if res.Results, err = c.st.Apply(ctx, c.fence, e.Changes); err == nil {
			c.w.book.stepped(c, e.Changes, res.Results)
		}
	case session.Evict:
		res.Evicted, err = c.st.Evict(ctx, c.fence, e.Now)
		for _, r := range res.Evicted {
			c.w.book.evicted(c, r.Key)
		}
	}
	c.w.say(c.name, "stores %T %v", e, err)
	return err
}

// guardSteps holds what the machine stores to the bounds.
func (c *client) guardSteps(changes []store.Change) {
	for _, ch := range changes {
		if s, ok := ch.(store.Step); ok && s.Attempts > c.w.Session.MaxAttempts {
			c.w.wrong("%s: row %d is stored with attempt %d of %d", c.name, s.Position, s.Attempts, c.w.Session.MaxAttempts)
		}
	}
}

// write puts bodies into frames and hands them to their connection.
func (c *client) write(e session.Write) {
	l := c.links[e.Conn]
	if l == nil {
		return
	}
	var out []outFrame
	for _, f := range e.Frames {
		if f.Command.Type == protocol.TypeSend {
			c.guardFrame(f)
			b, err := c.st.Body(ctx, f.Row.Position)
			if err != nil {
				if !errors.Is(err, store.ErrNoRow) {
					c.w.wrong("%s: body of row %d: %v", c.name, f.Row.Position, err)
				}
				c.reread()
				continue
			}
			f.Command.Text, f.Command.Data = b.Text, b.Data
		}
		out = append(out, outFrame{f.N, f.Command, protocol.AppendCommand(nil, &f.Command)})
	}
	l.send(out)
}

// guardFrame holds a send to what its row must be in the store before it leaves: an attempt, with the first of its times noted.
// A row that became uncertain leaves only by the app's word, which makes it queued.
func (c *client) guardFrame(f session.Frame) {
	r, ok, err := c.other.Find(ctx, f.Row.Key)
	if err != nil || !ok {
		c.w.wrong("%s: sends %s, which its store doesn't hold (%v)", c.name, f.Row.ID, err)
		return
	}
	if r.State != store.Sending || r.FirstSentAt == 0 || r.FirstSentAt != f.Command.SentAt || r.Attempts < 1 || r.Attempts > c.w.Session.MaxAttempts {
		c.w.wrong("%s: sends %s (sentAt %d) while its store says %+v", c.name, r.ID, f.Command.SentAt, r)
	}
	if s := c.w.book.said[bookKey{c.actor, f.Row.Key}]; s != nil && s.uncertain[c.name] {
		c.w.wrong("%s: sends %s, which is uncertain, unasked", c.name, r.ID)
	}
}

// wake schedules a Step; timers are a little late.
func (c *client) wake(at int64) {
	c.wakes++
	if at == 0 {
		return
	}
	life, this := c.life, c.wakes
	c.w.after(c.born+at-1-c.w.now+c.w.up(3), func() {
		if c.alive(life) && c.wakes == this {
			c.put()
		}
	})
}

// answer gives a Send its answer.
func (c *client) answer(e session.Answer) {
	s := c.sends[e.Ticket]
	if s == nil {
		return
	}
	delete(c.sends, e.Ticket)
	c.app.returned(s.said, e.Added.Outcome, e.Err)
}

// reread gives the machine all rows as the store has them.
func (c *client) reread() {
	rows, err := c.st.List(ctx, 0, 1<<30)
	if err != nil {
		c.w.wrong("%s: %v", c.name, err)
		return
	}
	c.again = append(c.again, session.Rows{Rows: rows})
}

// look notices what another process did to the store, as the driver does from time to time.
func (c *client) look() {
	changed, err := c.st.Changed(ctx)
	if err != nil || !changed {
		return
	}
	if rows, err := c.st.List(ctx, 0, 1<<30); err == nil {
		c.put(session.Rows{Rows: rows})
	}
}

func sortedKeys[K int64 | string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
