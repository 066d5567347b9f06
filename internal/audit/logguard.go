package audit

import "encoding/binary"

// bodies are what was accepted with a body at a guarded source: in the present generation, a span of the guard's window, and in the one before.
type bodies struct {
	generation  int64
	now, before map[[32]byte]accepted
}

// accepted is the last event that was accepted with a body.
type accepted struct {
	number, at int64 // at: Unix ms
	key        keyID
	id         uint64 // word of the event's id
}

// find returns the event of another key that was accepted with the body of one that would be accepted now, within the window (in seconds); 0 for none.
func (b *bodies) find(rec *logRecord, key keyID, window int64) int64 {
	b.turn(rec.at, window)
	for _, m := range [...]map[[32]byte]accepted{b.now, b.before} {
		t, ok := m[rec.event.digest]
		switch {
		case !ok:
			continue
		case t.key == key || rec.at-t.at > window*1000:
			return 0
		}
		return t.number
	}
	return 0
}

// turn lets go of what lies two generations back.
func (b *bodies) turn(at, window int64) {
	g := at / (window * 1000)
	if g <= b.generation {
		return
	}
	if b.before = nil; g == b.generation+1 {
		b.before = b.now
	}
	b.generation, b.now = g, nil
}

func (b *bodies) put(rec *logRecord, key keyID, id uint64) {
	if b.now == nil {
		b.now = map[[32]byte]accepted{}
	}
	b.now[rec.event.digest] = accepted{rec.number, rec.at, key, id}
}

// takeBody takes in what an event of another share of the keys says of itself: whether that is right is told where it is judged.
func (f *fold) takeBody(rec *logRecord) {
	r := fieldReader{text: rec.raw}
	s := &f.sources[f.sourceOf(r.pair())]
	if e := &rec.event; s.guard != guardOff && (e.decision == acceptEvent || e.twin > 0) {
		if s.bodies.turn(rec.at, s.guardWindow); e.decision == acceptEvent {
			s.bodies.put(rec, f.hash.key(rec.raw), f.hash.word(e.id))
		}
	}
}

// wantTwins says which bodies must be found: those of the guarded sources, as the first pass left them.
func (p *prover) wantTwins() {
	for i := range p.fold.sources {
		s := &p.fold.sources[i]
		for g, m := range map[int64]map[[32]byte]accepted{s.bodies.generation: s.bodies.now, s.bodies.generation - 1: s.bodies.before} {
			for digest, t := range m {
				p.addTwin(p.indexes.want, s.tenant, s.source, g, digest, t)
			}
		}
	}
}

// foundTwin takes in a body as it is found by.
func (p *prover) foundTwin(s *StatedIndex) {
	h := &p.fold.hash
	key := h.key(appendName(nil, s.Tenant, s.Source, s.Key))
	p.addTwin(p.indexes.found, s.Tenant, s.Source, s.Generation, s.Digest, accepted{s.Number, s.At, key, h.word([]byte(s.ID))})
}

func (p *prover) addTwin(into map[string]*rowSet, tenant, source string, generation int64, digest [32]byte, t accepted) {
	set := into[IndexTwin]
	if set == nil {
		set = &rowSet{}
		into[IndexTwin] = set
	}
	fact := append(appendPair(p.indexes.fact[:0], tenant, source), digest[:]...)
	for _, n := range [...]uint64{uint64(generation), uint64(t.number), uint64(t.at), t.key[0], t.key[1], t.id} {
		fact = binary.BigEndian.AppendUint64(fact, n)
	}
	set.add(&p.fold.hash, fact, 1)
	p.indexes.fact = fact
}

// statedGuard reads the word of a guard; of what is none it gives one that equals none.
func statedGuard(word string) guard {
	for g, w := range guardWords {
		if w == word {
			return guard(g)
		}
	}
	return guard(len(guardWords))
}
