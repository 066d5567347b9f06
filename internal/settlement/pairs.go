package settlement

import "hash/maphash"

// pairs numbers (tenant, source) pairs and their tenants.
type pairs struct {
	seed    maphash.Seed
	slots   []uint32 // pair + 1; a power of two, at most ½ full
	list    []pair
	tenants map[string]uint32
	names   []string // of tenants, by number
	size    int64
}

type pair struct {
	text     string // tenant TAB source: no name holds a tab, so no two pairs share a text
	hash     uint32
	tenant   uint32
	source   string
	capacity int64 // the largest lru_capacity among its keys, each by its last good row
}

func newPairs(seed maphash.Seed) pairs {
	return pairs{seed: seed, slots: make([]uint32, firstSlots), tenants: map[string]uint32{}}
}

func (p *pairs) find(text []byte) (uint32, bool) {
	hash := uint32(maphash.Bytes(p.seed, text))
	for i := hash & uint32(len(p.slots)-1); ; i = (i + 1) & uint32(len(p.slots)-1) {
		at := p.slots[i]
		if at == 0 {
			return 0, false
		}
		if found := &p.list[at-1]; found.hash == hash && found.text == string(text) {
			return at - 1, true
		}
	}
}

func (p *pairs) add(name keyName) uint32 {
	if at, ok := p.find(name.pair()); ok {
		return at
	}
	tenant := name.tenant
	t, ok := p.tenants[string(tenant)]
	if !ok {
		t = uint32(len(p.names))
		p.names = append(p.names, string(tenant))
		p.tenants[p.names[t]] = t
	}
	text := string(name.pair())
	p.list = append(p.list, pair{text: text, hash: uint32(maphash.String(p.seed, text)), tenant: t, source: text[len(tenant)+1:]})
	p.size += int64(len(text)) + 128
	if 2*len(p.list) > len(p.slots) {
		p.slots = make([]uint32, 2*len(p.slots))
		for i := range p.list {
			p.place(uint32(i))
		}
	} else {
		p.place(uint32(len(p.list) - 1))
	}
	return uint32(len(p.list) - 1)
}

func (p *pairs) place(at uint32) {
	i := p.list[at].hash & uint32(len(p.slots)-1)
	for p.slots[i] != 0 {
		i = (i + 1) & uint32(len(p.slots)-1)
	}
	p.slots[i] = at + 1
}

func (p *pairs) bytes() int64 { return p.size + int64(len(p.slots))*4 }
