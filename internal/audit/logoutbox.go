package audit

// compareOutbox compares the outbox with what was accepted for a destination and is neither delivered nor discarded. Of a key's rows that wait
// exactly one must not be held, or the key stands still, or overtakes itself.
func (p *prover) compareOutbox() error {
	f := &p.fold
	var raw []byte
	due := map[uint32]int{} // key → rows that wait and aren't held
	for s, err := range p.log.Outbox() {
		if err != nil {
			return err
		}
		raw = appendName(raw[:0], s.Tenant, s.Source, s.Key)
		id := f.hash.key(raw)
		if !f.mine(id) {
			continue
		}
		p.indexRow(s)
		row, known := f.outbox[s.Number]
		if !known || row.stated || f.keys.at(row.key).id != id {
			p.issues.record(s.Number, "the outbox has it for %q %q %q, by the records it isn't to be delivered there", s.Tenant, s.Source, s.Key)
			continue
		}
		row.stated = true
		f.outbox[s.Number] = row
		switch {
		case s.Dead != row.dead:
			p.issues.record(s.Number, "it is a dead letter in the outbox: %t, by the records: %t", s.Dead, row.dead)
		case s.Ordinal != int64(row.ordinal):
			p.issues.record(s.Number, "in the outbox it is number %d of its key, by the records number %d", s.Ordinal, row.ordinal)
		case f.hash.word([]byte(s.ID)) != row.id:
			p.issues.record(s.Number, "in the outbox it has the id %q, in its record another", s.ID)
		case s.Since > row.since:
			p.issues.record(s.Number, "in the outbox its tries began at %d, by the records at %d", s.Since, row.since)
		case s.Dead && (!s.Held || f.hash.word([]byte(s.Reason)) != row.reason):
			p.issues.record(s.Number, "in the outbox it is a dead letter for %q, by the records for something else", s.Reason)
		case s.Attempts < 0 || s.Attempts > s.Sends || s.IntervalMs < 0 || s.LastMs < 0:
			p.issues.record(s.Number, "in the outbox it has %d tries of %d, %d ms from %d: no schedule is so", s.Attempts, s.Sends, s.IntervalMs, s.LastMs)
		}
		if !s.Dead && !s.Held {
			due[row.key]++
		}
		if p.options.Whole {
			p.bodiless.add(s.Number)
		}
	}
	p.compareHeld(due)
	return nil
}

func (p *prover) compareHeld(due map[uint32]int) {
	f := &p.fold
	told := map[uint32]bool{}
	for number, row := range f.outbox {
		if !row.stated {
			p.issues.record(number, "it is to be delivered, but the outbox doesn't have it")
			continue
		}
		if !row.dead && due[row.key] != 1 && !told[row.key] {
			told[row.key] = true
			p.issues.record(number, "of what its key has to deliver, %d are due or in flight at a time, not one", due[row.key])
		}
	}
}
