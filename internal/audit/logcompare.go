package audit

import "fmt"

// compareShare holds what the pass came to, of its share of the keys, against what the store states of them.
func (p *prover) compareShare() error {
	for _, compare := range []func() error{p.compareKeys, p.compareOutbox, p.compareLedgers} {
		if err := compare(); err != nil {
			return err
		}
	}
	f := &p.fold
	return p.eachKey(func(_ uint32, k *logKey) {
		if k.has(isRegistered) {
			f.sources[k.source].capacity = max(f.sources[k.source].capacity, k.capacity)
		}
	})
}

// eachKey goes over the keys of the pass. It takes a hundredth of a record's work for each, and pauses accordingly.
func (p *prover) eachKey(f func(key uint32, k *logKey)) error {
	for key := range p.fold.keys.total {
		if key%(100*PaceRecords) == 0 {
			if err := p.pause(); err != nil {
				return err
			}
		}
		f(key, p.fold.keys.at(key))
	}
	return nil
}

// compareKeys compares what is kept of each key.
func (p *prover) compareKeys() error {
	f := &p.fold
	var raw []byte
	stated := newKeySet(f.keys.total)
	for s, err := range p.log.Keys() {
		if err != nil {
			return err
		}
		raw = appendName(raw[:0], s.Tenant, s.Source, s.Key)
		id := f.hash.key(raw)
		if !f.mine(id) {
			continue
		}
		p.indexKey(s)
		key, known := f.keys.find(id)
		if !known || f.keys.at(key).blank() {
			p.issues.books("key %q %q %q: something is kept of it, but by the records there is nothing to keep", s.Tenant, s.Source, s.Key)
			continue
		}
		stated.add(key)
		if what := f.keyDiffers(key, s); what != "" {
			p.issues.books("key %q %q %q: %s", s.Tenant, s.Source, s.Key, what)
		}
		if stated.count%PaceRecords == 0 {
			if err := p.pause(); err != nil {
				return err
			}
		}
	}
	return p.eachKey(func(key uint32, k *logKey) {
		if k.blank() {
			return
		}
		p.proof.Keys++
		if !stated.has(key) {
			p.issues.books("key of record %d: nothing is kept of it", max(k.lastEvent, k.since))
		}
	})
}

// keySet is a set of key numbers.
type keySet struct {
	bits  []uint64
	count int
}

func newKeySet(total uint32) *keySet { return &keySet{bits: make([]uint64, total/64+1)} }

func (s *keySet) add(key uint32) {
	if !s.has(key) {
		s.count++
	}
	s.bits[key/64] |= 1 << (key % 64)
}

func (s *keySet) has(key uint32) bool { return s.bits[key/64]>>(key%64)&1 == 1 }

// keyDiffers names the first thing that is kept of a key otherwise than the records say; "" where all is as it must be.
func (f *fold) keyDiffers(key uint32, s *StatedKey) string {
	k := f.keys.at(key)
	for _, c := range [...]struct {
		what         string
		stated, want int64
	}{
		{"its registration", number01(s.Registered), number01(k.has(isRegistered))},
		{"its window", s.WindowS, k.window}, {"its lru_capacity", s.LRUCapacity, k.capacity}, {"the record that registered it", s.Since, k.since},
		{"its last event", s.LastEvent, k.lastEvent}, {"its events", s.Events, int64(k.events)}, {"its accepted events", s.Accepted, int64(k.accepted)},
		{"its deliveries that wait", s.Waiting, int64(k.waiting)}, {"the repeats of its root", s.Repeats, int64(k.repeats)},
		{"the event that the next is measured against", s.Last, k.last}, {"the time of that event", s.LastSeenAt, k.lastSeen}, {"its root", s.Root, k.root},
		{"its root's going to a destination", number01(s.RootForwarded), number01(k.has(rootForwarded))},
		{"its root's delivery", number01(s.RootOK), number01(k.has(rootDelivered))},
	} {
		if c.stated != c.want {
			return fmt.Sprintf("%s: kept is %d, by the records it is %d", c.what, c.stated, c.want)
		}
	}
	currency := ""
	if k.last > 0 {
		currency = currencyText(k.lastCurrency)
	}
	for _, c := range [...]struct{ what, stated, want string }{
		{"its scope", s.Scope, scopeWord(k.scope)},
		{"the scope of its last event", s.LastScope, scopeWord(k.lastScope)},
		{"the currency of its last event", s.LastCurrency, currency},
		{"the state of its last event", s.LastSaid, stateWord(k.has(saidPending))},
	} {
		if c.stated != c.want {
			return fmt.Sprintf("%s: kept is %q, by the records it is %q", c.what, c.stated, c.want)
		}
	}
	switch {
	case k.root == 0 && (s.RootID != "" || s.RootPrint != [32]byte{}):
		return "something is kept of its root, by the records it has none"
	case k.root > 0 && (f.hash.word([]byte(s.RootID)) != k.rootID || f.hash.word(s.RootPrint[:]) != k.rootPrint):
		return fmt.Sprintf("what is kept of its root isn't what record %d says", k.root)
	}
	return f.hitsDiffer(key, s)
}

func (f *fold) hitsDiffer(key uint32, s *StatedKey) string {
	k, total := f.keys.at(key), 0
	if k.hits > 0 {
		total = 1 + f.keys.further[key]
	}
	if len(s.Hits) != total {
		return fmt.Sprintf("its repeats: kept are those in %d currencies, by the records there are %d", len(s.Hits), total)
	}
	for place, h := range s.Hits {
		code, ok := currencyCode([]byte(h.Currency))
		want := f.keys.hitsOf(key, code)
		if !ok || int(want.place) != place || h.Count != int64(want.count) || h.LRURank != want.number || h.LastEvent != want.number || h.SeenAt != want.seen {
			return fmt.Sprintf("its repeats in %s: kept are %d up to %d, by the records %d up to %d", h.Currency, h.Count, h.LRURank, want.count, want.number)
		}
	}
	return ""
}

func number01(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
