package pebble

import (
	"encoding/binary"
	"iter"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
)

// The index of each tenant's events lies in chunks, so that a commit writes one row a tenant and not one an event. A chunk's key ends in its first
// event's number; its value holds the steps from each to the next as unsigned varints.
const eventChunk = 128

// chunk is the last one of a tenant, as a commit continues it.
type chunk struct {
	key   []byte // nil: the tenant has none
	steps []byte
	count int
	last  int64
}

// tenantRows adds the events of a commit to the chunks of their tenants.
func (w *writer) tenantRows() error {
	numbers := map[string][]int64{}
	for i := range w.e.events {
		ev := &w.e.events[i]
		numbers[ev.name.Tenant] = append(numbers[ev.name.Tenant], ev.number)
	}
	for tenant, list := range numbers {
		slices.Sort(list)
		c, err := lastChunk(w.e.s.db, tenant)
		if err != nil {
			return err
		}
		for _, n := range list {
			if c.key == nil || c.count == eventChunk {
				w.setChunk(&c)
				c = chunk{key: appendNumber(tenantPrefix(tenant), n), count: 1, last: n}
				continue
			}
			c.steps = binary.AppendUvarint(c.steps, uint64(n-c.last))
			c.count++
			c.last = n
		}
		w.setChunk(&c)
	}
	return nil
}

func (w *writer) setChunk(c *chunk) {
	if c.key != nil {
		w.set(c.key, c.steps)
	}
}

func tenantPrefix(tenant string) []byte { return appendPart([]byte{tableTenants}, tenant) }

func lastChunk(r lsm.Reader, tenant string) (c chunk, err error) {
	prefix := tenantPrefix(tenant)
	it, err := r.NewIter(&lsm.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return c, damage(err)
	}
	defer it.Close()
	if !it.Last() {
		return c, damage(it.Error())
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return c, damage(err)
	}
	numbers, err := readChunk(it.Key(), value)
	if err != nil {
		return c, err
	}
	return chunk{key: slices.Clone(it.Key()), steps: slices.Clone(value), count: len(numbers), last: numbers[len(numbers)-1]}, nil
}

// readChunk returns the numbers of a chunk, rising.
func readChunk(key, value []byte) (numbers []int64, err error) {
	n := lastNumber(key)
	for numbers = append(numbers, n); len(value) > 0; numbers = append(numbers, n) {
		step, width := binary.Uvarint(value)
		if width <= 0 || step == 0 || len(numbers) == eventChunk {
			return nil, unreadable("tenant's events", key)
		}
		value = value[width:]
		n += int64(step)
	}
	return numbers, nil
}

// TenantEvents reads chunks from the last one down. See store.BooksView.
func (v *booksView) TenantEvents(tenant string, before int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		prefix := tenantPrefix(tenant)
		it, err := v.r.NewIter(&lsm.IterOptions{LowerBound: prefix, UpperBound: appendNumber(prefix, max(before, 0))})
		if err != nil {
			yield(0, damage(err))
			return
		}
		defer it.Close()
		for ok := it.Last(); ok; ok = it.Prev() {
			value, err := it.ValueAndErr()
			if err != nil {
				yield(0, damage(err))
				return
			}
			numbers, err := readChunk(it.Key(), value)
			if err != nil {
				yield(0, err)
				return
			}
			for _, n := range slices.Backward(numbers) {
				if n < before && !yield(n, nil) {
					return
				}
			}
		}
		if err := it.Error(); err != nil {
			yield(0, damage(err))
		}
	}
}

// indexTenants makes the index anew from the log, which a store of format 1 hasn't.
func (s *Store) indexTenants() error {
	from, to := table(tableTenants)
	if err := s.db.DeleteRange(from, to, lsm.Sync); err != nil {
		return damage(err)
	}
	chunks := map[string]*chunk{}
	batch := s.db.NewBatch()
	defer func() { _ = batch.Close() }()
	flush := func() error {
		for _, c := range chunks {
			_ = batch.Set(c.key, c.steps, nil) // a batch that isn't indexed can't fail
		}
		err := damage(s.db.Apply(batch, lsm.Sync))
		batch.Reset()
		return err
	}
	from, to = table(tableLog)
	for row, err := range scan(s.db, from, to) {
		if err != nil {
			return err
		}
		b, err := gateway.ReadBrief(row[1])
		if err != nil || !b.Event {
			continue // what can't be read is the proof's to tell
		}
		c := chunks[string(b.Tenant)]
		switch {
		case c == nil:
			c = &chunk{}
			chunks[string(b.Tenant)] = c
			fallthrough
		case c.count == eventChunk:
			if c.key != nil {
				_ = batch.Set(c.key, c.steps, nil)
			}
			*c = chunk{key: appendNumber(tenantPrefix(string(b.Tenant)), b.Number), count: 1, last: b.Number}
		default:
			c.steps = binary.AppendUvarint(c.steps, uint64(b.Number-c.last))
			c.count++
			c.last = b.Number
		}
		if batch.Len() > 1<<20 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// readTenants holds the index against the log: each event once, under its tenant.
func (b *booksVerifier) readTenants() error {
	if b.self.Format < 2 {
		return nil // it has none yet
	}
	found := int64(0)
	err := b.each(tableTenants, func(key, value []byte) error {
		numbers, err := readChunk(key, value)
		tenant, rest, ok := takePart(key[1:])
		if err != nil || !ok || len(rest) != lenNumber {
			return b.unreadable(unreadable("tenant's events", key))
		}
		for _, n := range numbers {
			event, _, err := b.event(n)
			if err != nil {
				return err
			}
			if found++; event == nil || event.Tenant != tenant {
				b.rep.fault(&b.rep.WrongIndexes, 1, "number %d is no event of tenant %q, which names it", n, tenant)
			}
		}
		return nil
	})
	if err == nil && found != b.events {
		b.rep.fault(&b.rep.WrongIndexes, max(found-b.events, b.events-found), "tenants name %d events, the log has %d", found, b.events)
	}
	return err
}
