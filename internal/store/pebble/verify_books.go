package pebble

import (
	"bytes"
	"crypto/sha256"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// booksVerifier checks the gateway's tables: the chain of the log, and each row against those that it is found by. Whether a decision was right
// is for the audit to say.
type booksVerifier struct {
	*verifier
	head       gateway.Head
	events     int64                // records of events
	eventsOf   map[sourceName]int64 // by source
	sources    map[sourceName]bool  // that a record names
	lastAt     int64                // the latest moment of a record, in Unix ms
	waiting    int64                // rows that keys say wait
	repeats    int64                // rows of keys with repeats
	capacities map[string]int64     // by key
	queued     map[sourceName]store.OutboxCount
	twins      map[sourceName]int64 // generations of guarded sources
	found      map[byte]int64       // index rows of the outbox, by table
}

func (v *verifier) verifyBooks() error {
	b := &booksVerifier{
		verifier: v, eventsOf: map[sourceName]int64{}, sources: map[sourceName]bool{}, twins: map[sourceName]int64{}, capacities: map[string]int64{}, queued: map[sourceName]store.OutboxCount{}, found: map[byte]int64{},
	}
	for _, step := range []func() error{b.readLog, b.readBodies, b.readTenants, b.readSources, b.readKeys, b.readRepeats, b.readCapacities, b.readBooks, b.readOutbox, b.readQueued, b.readAskedRows, b.readTwins, b.countIndexes} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *booksVerifier) unreadable(err error) error {
	b.rep.fault(&b.rep.Unreadable, 1, "%v", err)
	return nil
}

func (b *booksVerifier) readLog() (err error) {
	if b.head, err = loadHead(b.r); err != nil {
		return b.unreadable(err)
	}
	next, before, accepted := int64(1), gateway.Hash{}, int64(0)
	err = b.each(tableLog, func(key, record []byte) error {
		b.rep.Records++
		n := lastNumber(key)
		if n != next {
			b.rep.fault(&b.rep.BrokenChain, max(n-next, 1), "records %d to %d are missing", next, n-1)
		}
		entry, err := gateway.ReadRecord(record)
		switch {
		case err != nil:
			b.rep.fault(&b.rep.BrokenChain, 1, "record %d: %v", n, err)
		case entry.Number != n:
			b.rep.fault(&b.rep.BrokenChain, 1, "record %d says that it is %d", n, entry.Number)
		case n == next && entry.Before != before:
			b.rep.fault(&b.rep.BrokenChain, 1, "record %d or the one before was changed: it doesn't hold that one's hash", n)
		}
		next, before = n+1, gateway.HashOf(record)
		b.lastAt = max(b.lastAt, entry.At)
		switch r := entry.Record.(type) {
		case *gateway.LossRecord:
			accepted = n
		case *gateway.SourceRecord:
			b.sources[sourceName{r.Tenant, r.Source}] = true
		}
		return b.checkEvent(n, entry.Record)
	})
	if last := next - 1; err == nil && (last != b.head.Number || before != b.head.Hash) {
		b.rep.fault(&b.rep.BrokenChain, 1, "the log ends at record %d, its head is %d with another hash or number", last, b.head.Number)
	}
	if accepted != b.head.Accepted {
		b.rep.fault(&b.rep.BrokenChain, 1, "the head names record %d as the last accepted loss, the log %d", b.head.Accepted, accepted)
	}
	if err != nil {
		return err
	}
	return b.checkLoss()
}

// checkLoss tells of a log that went back, whether a start has found it already or is still to.
func (b *booksVerifier) checkLoss() error {
	lost, err := b.folder.lostLog(b.self, b.r)
	if lost = b.head.Lost.Merge(lost); lost.From > 0 {
		b.rep.fault(&b.rep.LostRecords, lost.From-lost.To, "%s", lost.Told())
	}
	return err
}

// checkEvent holds an event against the row of its id.
func (b *booksVerifier) checkEvent(n int64, r gateway.Record) error {
	e, ok := r.(*gateway.EventRecord)
	if !ok {
		return nil
	}
	b.events++
	b.eventsOf[sourceName{e.Tenant, e.Source}]++
	number, err := loadEventNumber(b.r, e.ID)
	if err != nil || number != n {
		b.rep.fault(&b.rep.WrongIndexes, 1, "the id of event %d points to %d (%v)", n, number, err)
	}
	return nil
}

func (b *booksVerifier) readBodies() error {
	return b.each(tableBodies, func(key, value []byte) error {
		body, err := readBody(key, value)
		if err != nil {
			return b.unreadable(err)
		}
		event, at, err := b.event(lastNumber(key))
		if err != nil {
			return err
		}
		if event == nil || !bytes.Equal(key, bodyKey(event.Tenant, event.Source, at, lastNumber(key))) {
			b.rep.fault(&b.rep.WrongIndexes, 1, "the body of %d is of no event", lastNumber(key))
		} else if event.Digest != sha256.Sum256(body.Bytes) {
			b.rep.fault(&b.rep.WrongBodies, 1, "the body of event %d isn't the one whose digest its record holds", lastNumber(key))
		}
		return nil
	})
}

// event reads a record that should be an event's; nil where it isn't.
func (b *booksVerifier) event(number int64) (event *gateway.EventRecord, at int64, err error) {
	record, ok, err := get(b.r, numbered(tableLog, number))
	if err != nil || !ok {
		return nil, 0, err
	}
	entry, err := gateway.ReadRecord(record)
	if err != nil {
		return nil, 0, nil // told already
	}
	event, _ = entry.Record.(*gateway.EventRecord)
	return event, entry.At, nil
}

func (b *booksVerifier) readSources() error {
	err := b.each(tableSources, func(key, value []byte) error {
		s, err := readSource(key, value)
		tenant, source, ok := twoParts(key)
		if err != nil || !ok {
			return b.unreadable(unreadable("source", key))
		}
		n := sourceName{tenant, source}
		if s.Events != b.eventsOf[n] {
			b.rep.fault(&b.rep.WrongSums, 1, "source %q of %q counted %d events, the log has %d", source, tenant, s.Events, b.eventsOf[n])
		}
		if s.Guard != gateway.GuardOff {
			b.twins[n] = s.Generation
		}
		if !b.sources[n] {
			b.rep.fault(&b.rep.WrongIndexes, 1, "source %q of %q has a row, but no record names it", source, tenant)
		}
		delete(b.eventsOf, n)
		return nil
	})
	for n := range b.eventsOf {
		b.rep.fault(&b.rep.WrongSums, 1, "source %q of %q has events and no row", n.source, n.tenant)
	}
	return err
}

func (b *booksVerifier) readKeys() error {
	events := int64(0)
	err := b.each(tableKeys, func(key, value []byte) error {
		b.rep.Keys++
		k, err := readNamedKey(key, value)
		if err != nil {
			return b.unreadable(err)
		}
		if !k.Registered && k.Events == 0 {
			b.rep.fault(&b.rep.WrongSums, 1, "key %q of %q has a row, but neither a registration nor an event", k.Name.Key, k.Source)
		}
		events += k.Events
		b.waiting += k.Waiting
		if k.Registered {
			b.capacities[string(capacityKey(k.Tenant, k.Source, k.LRUCapacity))]++
		}
		return b.checkRepeats(&k)
	})
	if err == nil && events != b.events {
		b.rep.fault(&b.rep.WrongSums, 1, "the keys counted %d events, the log has %d", events, b.events)
	}
	return err
}

func (b *booksVerifier) checkRepeats(k *store.NamedKey) error {
	for i := range k.Hits {
		h := &k.Hits[i]
		if !b.head.Policy.Qualifies(h.Count) {
			continue
		}
		b.repeats++
		row := repeatKey(gateway.BookName{Currency: h.Currency, Tenant: k.Tenant, Source: k.Source}, h.Last.Seq)
		value, _, err := get(b.r, row)
		if err != nil {
			return err
		}
		if !bytes.Equal(value, appendRepeat(nil, h, k.Name.Key)) {
			b.rep.fault(&b.rep.WrongIndexes, 1, "key %q of %q isn't found among those with repeats", k.Name.Key, k.Source)
		}
	}
	return nil
}

func (b *booksVerifier) readRepeats() error {
	return b.counted(tableRepeats, b.repeats, "keys with repeats")
}

// counted expects a table to have so many rows.
func (b *booksVerifier) counted(table byte, want int64, what string) error {
	n := int64(0)
	err := b.each(table, func([]byte, []byte) error { n++; return nil })
	if err == nil && n != want {
		b.rep.fault(&b.rep.WrongIndexes, 1, "%d rows of %s, want %d", n, what, want)
	}
	return err
}

func (b *booksVerifier) readCapacities() error {
	err := b.each(tableCapacity, func(key, value []byte) error {
		n, err := readCount("capacity", key, value)
		if err != nil {
			return b.unreadable(err)
		}
		if n < 1 || n != b.capacities[string(key)] {
			b.rep.fault(&b.rep.WrongSums, 1, "capacity row %x counts %d keys, there are %d", key, n, b.capacities[string(key)])
		}
		delete(b.capacities, string(key))
		return nil
	})
	for key := range b.capacities {
		b.rep.fault(&b.rep.WrongSums, 1, "capacity row %x is missing", key)
	}
	return err
}

func (b *booksVerifier) readBooks() error {
	events := int64(0)
	err := b.each(tableBooks, func(key, value []byte) error {
		k, err := readBook(key, value)
		if _, ok := splitBookKey(key); err != nil || !ok {
			return b.unreadable(unreadable("book", key))
		}
		counted := k.Totals.Counts.Events() + k.Mismatches
		if counted < 1 {
			b.rep.fault(&b.rep.WrongSums, 1, "book %q counts no event", key[1:])
		}
		events += counted
		return nil
	})
	if err == nil && events != b.events {
		b.rep.fault(&b.rep.WrongSums, 1, "the books counted %d events, the log has %d", events, b.events)
	}
	return err
}

// readTwins holds each body of a guarded source against the event that was accepted with it. That none is missing the audit tells.
func (b *booksVerifier) readTwins() error {
	return b.each(tableTwins, func(key, value []byte) error {
		row, err := readIndex(key, value)
		if err != nil {
			return b.unreadable(err)
		}
		event, at, err := b.event(row.Number)
		if err != nil {
			return err
		}
		generation, guarded := b.twins[sourceName{row.Tenant, row.Source}]
		if !guarded || row.Generation > generation || row.Generation < generation-1 || event == nil || event.Decision != gateway.Accept || at != row.At ||
			event.Name != (gateway.Name{Tenant: row.Tenant, Source: row.Source, Key: row.Key}) || event.ID != row.ID || event.Digest != row.Digest {
			b.rep.fault(&b.rep.WrongIndexes, 1, "the body %x of source %q of %q isn't that of an event accepted within the guard's window", row.Digest, row.Source, row.Tenant)
		}
		return nil
	})
}
