package pebble

import (
	"iter"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// readIndex takes a row apart that others are found or counted by. What it says is held against what it is of by the audit.
func readIndex(key, value []byte) (row store.IndexRow, err error) {
	parts, numbers := []*string{&row.Tenant, &row.Source}, []*int64{&row.Number}
	switch key[0] {
	case tableDue:
		row.Kind, numbers = store.IndexDue, []*int64{&row.At, &row.Number}
	case tableHeld:
		row.Kind, parts = store.IndexHeld, append(parts, &row.Key)
	case tableDead:
		row.Kind = store.IndexDead
	case tableQueued:
		c, err := readQueued(key, value)
		return store.IndexRow{Kind: store.IndexQueued, Tenant: c.Tenant, Source: c.Source, Waiting: c.Waiting, Dead: c.Dead}, err
	case tableCapacity:
		row.Kind = store.IndexCapacity
		row.Count, err = readCount("capacity", key, value)
	case tableTwins:
		if len(key) < lenDigest {
			return row, unreadable("index", key)
		}
		var t gateway.Twin
		t, err = readTwin(key, value)
		row.Kind, row.Number, row.At, row.Key, row.ID = store.IndexTwin, t.Number, t.At, t.Key, t.ID
		row.Digest, key, numbers = gateway.Hash(key[len(key)-lenDigest:]), key[:len(key)-lenDigest], []*int64{&row.Generation}
	case tableRepeats:
		var p repeat
		p, err = readRepeat(key, value)
		row.Kind, row.Key, row.At, row.Count = store.IndexRepeats, p.key, p.seenAt, p.hits
		parts = append([]*string{&row.Currency}, parts...)
	}
	if err == nil && !splitKey(key, parts, numbers) {
		err = unreadable("index", key)
	}
	if row.Kind == store.IndexDead && row.Source == "" {
		row.Kind = store.IndexTenantDead
	}
	return row, err
}

// splitKey reads a key of parts and then numbers.
func splitKey(key []byte, parts []*string, numbers []*int64) (ok bool) {
	rest := key[1:]
	for _, part := range parts {
		if *part, rest, ok = takePart(rest); !ok {
			return false
		}
	}
	if len(rest) != len(numbers)*lenNumber {
		return false
	}
	for i, n := range numbers {
		*n = number(rest[i*lenNumber:])
	}
	return true
}

const indexTables = string(tableDue) + string(tableHeld) + string(tableDead) + string(tableQueued) + string(tableCapacity) + string(tableTwins) + string(tableRepeats)

const lenDigest = len(gateway.Hash{})

func (v *booksView) Index() iter.Seq2[*store.IndexRow, error] {
	return func(yield func(*store.IndexRow, error) bool) {
		var out store.IndexRow
		for i := range len(indexTables) {
			from, to := table(indexTables[i])
			for row, err := range scan(v.r, from, to) {
				if err == nil {
					out, err = readIndex(row[0], row[1])
				}
				if !yield(&out, err) || err != nil {
					return
				}
			}
		}
	}
}

func (v *booksView) IDs() iter.Seq2[store.EventID, error] {
	return func(yield func(store.EventID, error) bool) {
		from, to := table(tableIDs)
		for row, err := range scan(v.r, from, to) {
			var id store.EventID
			if err == nil {
				id.ID = string(row[0][1:])
				id.Number, err = readCount("event id", row[0], row[1])
			}
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

func (v *booksView) Bodies() iter.Seq2[*store.KeptBody, error] {
	return func(yield func(*store.KeptBody, error) bool) {
		from, to := table(tableBodies)
		for row, err := range scan(v.r, from, to) {
			var body store.KeptBody
			if err == nil {
				body, err = readKeptBody(row[0], row[1])
			}
			if !yield(&body, err) || err != nil {
				return
			}
		}
	}
}

func readKeptBody(key, value []byte) (k store.KeptBody, err error) {
	if !splitKey(key, []*string{&k.Tenant, &k.Source}, []*int64{&k.At, &k.Number}) {
		return k, unreadable("body", key)
	}
	k.Body, err = readBody(key, value)
	return k, err
}

func (v *booksView) LastDue(tenant, source string) (int64, error) {
	prefix := sourcePrefix(tableDue, tenant, source)
	it, err := v.r.NewIter(&lsm.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return 0, damage(err)
	}
	defer it.Close()
	if !it.Last() || len(it.Key()) != len(prefix)+2*lenNumber {
		return 0, damage(it.Error())
	}
	return number(it.Key()[len(prefix):]), nil
}
