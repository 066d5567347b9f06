package audit

// compareWhole compares what all passes came to together.
func (p *prover) compareWhole() error {
	if p.fold.strays != nil {
		p.fold.strays.each(func(n int64) { p.issues.record(n, "what became of an event that isn't in the outbox") })
	}
	p.comparePolicy()
	if err := p.compareSources(); err != nil {
		return err
	}
	books, err := p.log.Books()
	if err != nil {
		return err
	}
	p.compareBooks(books)
	if err := p.compareIndexes(); err != nil || !p.options.Whole {
		return err
	}
	if err := p.compareIDs(); err != nil {
		return err
	}
	return p.compareBodies()
}

func (p *prover) comparePolicy() {
	f, h := &p.fold, &p.head
	stated := policy{window: h.Policy.BlockWindowS, strict: h.Policy.ScopeStrict, minHits: h.Policy.LRUMinHits}
	if h.Ruled != f.ruled || stated != f.policy {
		p.issues.books("the policy kept is %+v, by the records it is %+v", stated, f.policy)
	}
}

func (p *prover) compareSources() error {
	f := &p.fold
	stated, err := p.log.Sources()
	if err != nil {
		return err
	}
	seen := map[uint32]bool{}
	for i := range stated {
		s := &stated[i]
		n, known := f.sourceAt[string(appendPair(nil, s.Tenant, s.Source))]
		if !known || !f.sources[n].known || seen[n] {
			p.issues.books("source %q %q: something is kept of it, but no record names it", s.Tenant, s.Source)
			continue
		}
		seen[n] = true
		want := &f.sources[n]
		kept := settings{window: s.WindowS, capacity: s.LRUCapacity, parts: s.Parts, open: s.Open, forward: s.Forward, guardWindow: s.GuardS}
		kept.scope, _ = statedScope([]byte(s.Scope))
		kept.guard = statedGuard(s.Guard)
		capacity, err := p.log.Capacity(s.Tenant, s.Source)
		switch {
		case err != nil:
			return err
		case kept != want.settings:
			p.issues.books("source %q %q: its settings are kept as %+v, by the records they are %+v", s.Tenant, s.Source, kept, want.settings)
		case s.Generation != want.bodies.generation:
			p.issues.books("source %q %q: its guard's generation is kept as %d, by the records it is %d", s.Tenant, s.Source, s.Generation, want.bodies.generation)
		case s.Events != want.events:
			p.issues.books("source %q %q: kept are %d events, by the records it had %d", s.Tenant, s.Source, s.Events, want.events)
		case capacity != want.capacity:
			p.issues.books("source %q %q: the largest lru_capacity is kept as %d, by the records it is %d", s.Tenant, s.Source, capacity, want.capacity)
		}
	}
	for n := range f.sources {
		if f.sources[n].known && !seen[uint32(n)] {
			p.issues.books("source %q %q: nothing is kept of it", f.sources[n].tenant, f.sources[n].source)
		}
	}
	return nil
}

// compareBooks compares counts and sums, and that each ledger is whole.
func (p *prover) compareBooks(stated []StatedBook) {
	f := &p.fold
	seen := map[bookID]bool{}
	for i := range stated {
		s := &stated[i]
		id, ok := f.bookOf(s)
		if !ok || seen[id] || f.books[id] == nil {
			p.issues.books("book of %q %q in %s: it is kept, but no record is of it", s.Tenant, s.Source, s.Currency)
			continue
		}
		seen[id] = true
		p.compareBook(s, f.books[id])
		if c := p.ledgers[id]; c != nil && c.found != c.listed {
			p.issues.books("ledger of %q %q in %s: %d keys are listed, by the records it has %d", s.Tenant, s.Source, s.Currency, c.listed, c.found)
		}
	}
	for id := range f.books {
		if !seen[id] {
			s := &f.sources[id.source]
			p.issues.books("book of %q %q in %s: nothing is kept of it", s.tenant, s.source, currencyText(id.currency))
		}
	}
}

func (p *prover) compareBook(s *StatedBook, want *logBook) {
	say := func(what string, kept, right any) {
		p.issues.books("book of %q %q in %s: %s: kept is %v, by the records it is %v", s.Tenant, s.Source, s.Currency, what, kept, right)
	}
	for d, n := range s.counts() {
		if n != want.counts[d] {
			say(decision(d).String(), n, want.counts[d])
		}
	}
	if s.Accepted != want.accepted.text() {
		say("accepted_total", s.Accepted, want.accepted.text())
	}
	if s.Deduped != want.deduped.text() {
		say("deduped_amount", s.Deduped, want.deduped.text())
	}
	if s.TenantAccepted != want.counts[acceptEvent] || s.TenantTotal != want.accepted.text() {
		say("tenant_totals", s.TenantTotal, want.accepted.text())
	}
}

func (s *StatedBook) counts() [len(decisionWords)]int64 {
	return [...]int64{s.Accept, s.DuplicateDone, s.DuplicatePending, s.Mismatches, s.BadAmount, s.UnknownKey}
}

// bookOf is the book that a stated one speaks of; ok is false where no record names its source, or its currency is none.
func (f *fold) bookOf(s *StatedBook) (id bookID, ok bool) {
	source, known := f.sourceAt[string(appendPair(nil, s.Tenant, s.Source))]
	code, isCurrency := currencyCode([]byte(s.Currency))
	return bookID{source, code}, known && isCurrency
}
