package audit

// ledgerCheck is one ledger as stated, and how many keys of it the records know.
type ledgerCheck struct {
	listed    int64
	threshold int64 // the least recent number that is listed, where the ledger is full; else 0
	found     int64 // keys that qualify, at the threshold or above
}

// compareLedgers holds the stated ledgers against the keys of this pass: each entry is a key that qualifies, with its repeats, the most recent
// first; and as many keys qualify, down to the last that is listed, as are listed. So none is missing. All books are looked at in each pass: an
// entry under a wrong name may be anybody's.
func (p *prover) compareLedgers() error {
	books, err := p.log.Books()
	if err != nil {
		return err
	}
	for i := range books {
		if err := p.compareLedger(&books[i]); err != nil {
			return err
		}
	}
	f := &p.fold
	err = p.eachKey(func(_ uint32, k *logKey) {
		if k.hits > 0 {
			p.countEntry(bookID{k.source, k.hitCurrency}, k.hitNumber, k.hits)
		}
	})
	for at, h := range f.keys.more {
		p.countEntry(bookID{f.keys.at(at.key).source, at.currency}, h.number, h.count)
	}
	return err
}

func (p *prover) countEntry(book bookID, number int64, hits uint32) {
	if c := p.ledgers[book]; c != nil && number >= c.threshold && int64(hits) >= max(1, p.fold.policy.minHits) {
		c.found++
	}
}

func (p *prover) compareLedger(b *StatedBook) error {
	f := &p.fold
	id, ok := f.bookOf(b)
	if !ok {
		return nil // told where books are compared
	}
	capacity, err := p.log.Capacity(b.Tenant, b.Source)
	if err != nil || capacity == 0 {
		return err
	}
	entries, err := p.log.Ledger(b.Currency, b.Tenant, b.Source, capacity)
	if err != nil {
		return err
	}
	check := p.ledgers[id]
	if check == nil {
		check = &ledgerCheck{listed: int64(len(entries))}
		if check.listed >= capacity {
			check.threshold = entries[len(entries)-1].LRURank
		}
		p.ledgers[id] = check
	}
	var raw []byte
	for i := range entries {
		e := &entries[i]
		if f.firstPass() && (e.Tenant != b.Tenant || e.Source != b.Source || i > 0 && e.LRURank >= entries[i-1].LRURank) {
			p.issues.books("ledger of %q %q in %s: entry %d is out of place", b.Tenant, b.Source, b.Currency, i)
		}
		raw = appendName(raw[:0], e.Tenant, e.Source, e.Key)
		if key := f.hash.key(raw); f.mine(key) {
			p.compareEntry(b, e, key, id.currency)
		}
	}
	return nil
}

func (p *prover) compareEntry(b *StatedBook, e *StatedEntry, id keyID, currency uint16) {
	f := &p.fold
	var want hitsAbroad
	if key, known := f.keys.find(id); known {
		want = f.keys.hitsOf(key, currency)
	}
	if e.Hits != int64(want.count) || e.LRURank != want.number || e.Seq != want.number || e.SeenAt != want.seen || e.Hits < max(1, f.policy.minHits) {
		p.issues.books("ledger of %q %q in %s: key %q has %d repeats up to %d, by the records %d up to %d",
			b.Tenant, b.Source, b.Currency, e.Key, e.Hits, e.LRURank, want.count, want.number)
	}
}
