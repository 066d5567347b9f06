package pebble

import (
	"time"

	"hapax/internal/gateway"
)

func (b *booksVerifier) readOutbox() error {
	waiting := int64(0)
	err := b.each(tableOutbox, func(key, value []byte) error {
		b.rep.Deliveries++
		d, err := readDelivery(key, value)
		if err != nil {
			return b.unreadable(err)
		}
		if d.State == gateway.Waiting {
			waiting++
		}
		count(b.queued, &d, 1)
		for _, index := range findKeys(&d) {
			b.found[index[0]]++
			if _, ok, err := get(b.r, index); err != nil {
				return err
			} else if !ok {
				b.rep.fault(&b.rep.WrongIndexes, 1, "delivery %d isn't found by %x", d.Number, index)
			}
		}
		return b.checkDelivery(&d)
	})
	if err == nil && waiting != b.waiting {
		b.rep.fault(&b.rep.WrongSums, 1, "%d deliveries wait, their keys counted %d", waiting, b.waiting)
	}
	return err
}

// checkDelivery holds a row of the outbox against its event, and its times against the clock.
func (b *booksVerifier) checkDelivery(d *gateway.Delivery) error {
	event, at, err := b.event(d.Number)
	if err != nil {
		return err
	}
	if event == nil || event.ID != d.ID || event.Name != d.Name || !event.Forwarded {
		b.rep.fault(&b.rep.WrongIndexes, 1, "delivery %d is of no event that is to be sent", d.Number)
	} else if _, ok, err := get(b.r, bodyKey(event.Tenant, event.Source, at, d.Number)); err != nil {
		return err
	} else if !ok {
		b.rep.fault(&b.rep.WrongIndexes, 1, "delivery %d has no body to be sent", d.Number)
	}
	latest := max(time.Now().UnixMilli(), b.lastAt)
	if ahead := max(d.Since, d.LastMs) - latest; d.Beyond(latest) || ahead > gateway.MaxDueMs {
		b.rep.fault(&b.rep.WrongTimes, 1, "delivery %d: its times lie further ahead than any rule puts them (due %d, last sent %d)", d.Number, d.Due, d.LastMs)
	}
	return nil
}

func (b *booksVerifier) readQueued() error {
	err := b.each(tableQueued, func(key, value []byte) error {
		c, err := readQueued(key, value)
		if err != nil {
			return b.unreadable(err)
		}
		n := sourceName{c.Tenant, c.Source}
		if is := b.queued[n]; is.Waiting != c.Waiting || is.Dead != c.Dead || c.Waiting+c.Dead < 1 {
			b.rep.fault(&b.rep.WrongSums, 1, "source %q of %q counted %d deliveries and %d dead, there are %d and %d", n.source, n.tenant, c.Waiting, c.Dead, is.Waiting, is.Dead)
		}
		delete(b.queued, n)
		return nil
	})
	for n := range b.queued {
		b.rep.fault(&b.rep.WrongSums, 1, "source %q of %q has deliveries and no count", n.source, n.tenant)
	}
	return err
}

func (b *booksVerifier) countIndexes() error {
	for table, what := range map[byte]string{tableDue: "deliveries that are due", tableHeld: "deliveries that are held", tableDead: "dead letters"} {
		if err := b.counted(table, b.found[table], what); err != nil {
			return err
		}
	}
	return b.counted(tableIDs, b.events, "event ids")
}
