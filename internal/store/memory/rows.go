package memory

import (
	"cmp"
	"maps"
	"slices"

	"hapax/internal/gateway"
)

// rows is what one commit reads and changes: copies, put back when all of its commands were taken.
type rows struct {
	base       *books
	now        int64
	head       gateway.Head
	log        [][]byte
	ids        map[string]int64
	bodies     map[int64]keptBody
	sources    map[sourceName]*gateway.Source
	keys       map[gateway.Name]*gateway.Key
	sums       map[gateway.BookName]*gateway.Book
	deliveries map[int64]*gateway.Delivery // nil: dropped
	twins      map[twinName]gateway.Twin
	dropped    map[sourceName]int64     // twins of generations before one
	asked      map[int64]*gateway.Asked // nil: forgotten
}

var _ gateway.Rows = (*rows)(nil)

func newRows(b *books, now int64) *rows {
	return &rows{
		base: b, now: now, head: b.head, ids: map[string]int64{}, bodies: map[int64]keptBody{},
		sources: map[sourceName]*gateway.Source{}, keys: map[gateway.Name]*gateway.Key{},
		sums: map[gateway.BookName]*gateway.Book{}, deliveries: map[int64]*gateway.Delivery{},
		asked: map[int64]*gateway.Asked{}, twins: map[twinName]gateway.Twin{}, dropped: map[sourceName]int64{},
	}
}

// keep puts what the commit changed back into the books.
func (r *rows) keep() {
	b := r.base
	b.head = r.head
	b.log = append(b.log, r.log...)
	for id, n := range r.ids {
		b.ids[id] = n
	}
	for n, body := range r.bodies {
		b.bodies[n] = body
	}
	for n, s := range r.sources {
		b.sources[n] = *s
	}
	for n, k := range r.keys {
		if b.keys[n] = *k; !k.Registered && k.Events == 0 { // nothing is kept of it
			delete(b.keys, n)
		}
	}
	for n, sum := range r.sums {
		if b.sums[n] = *sum; *sum == (gateway.Book{}) {
			delete(b.sums, n)
		}
	}
	for n, d := range r.deliveries {
		if d == nil {
			delete(b.deliveries, n)
		} else {
			b.deliveries[n] = *d
		}
	}
	maps.DeleteFunc(b.twins, func(n twinName, _ gateway.Twin) bool { return n.generation < r.dropped[n.sourceName] })
	maps.Copy(b.twins, r.twins)
	for n, a := range r.asked {
		if a == nil {
			delete(b.asked, n)
		} else {
			b.asked[n] = *a
		}
	}
}

func (r *rows) Head() *gateway.Head { return &r.head }

func (r *rows) Source(tenant, source string) (*gateway.Source, error) {
	n := sourceName{tenant, source}
	if s := r.sources[n]; s != nil {
		return s, nil
	}
	s, ok := r.base.sources[n]
	if !ok {
		return nil, nil
	}
	r.sources[n] = &s
	return &s, nil
}

func (r *rows) PutSource(tenant, source string) *gateway.Source {
	s := &gateway.Source{}
	r.sources[sourceName{tenant, source}] = s
	return s
}

func (r *rows) Key(n gateway.Name) (*gateway.Key, error) {
	if r.keys[n] == nil {
		k := cloneKey(r.base.keys[n])
		r.keys[n] = &k
	}
	return r.keys[n], nil
}

func (r *rows) Book(n gateway.BookName) (*gateway.Book, error) {
	if r.sums[n] == nil {
		b := r.base.sums[n]
		r.sums[n] = &b
	}
	return r.sums[n], nil
}

func (r *rows) Delivery(number int64) (*gateway.Delivery, error) {
	if d, seen := r.deliveries[number]; seen {
		return d, nil
	}
	d, ok := r.base.deliveries[number]
	if !ok {
		return nil, nil
	}
	d = cloneDelivery(d)
	r.deliveries[number] = &d
	return &d, nil
}

func (r *rows) PutDelivery(d gateway.Delivery) { r.deliveries[d.Number] = &d }

func (r *rows) DropDelivery(number int64) { r.deliveries[number] = nil }

// NextHeld looks at every row of the outbox.
func (r *rows) NextHeld(n gateway.Name) (next *gateway.Delivery, err error) {
	numbers := make([]int64, 0, len(r.base.deliveries)+len(r.deliveries))
	for number := range r.base.deliveries {
		numbers = append(numbers, number)
	}
	for number := range r.deliveries {
		numbers = append(numbers, number)
	}
	for _, number := range numbers {
		if held, read := r.deliveries[number]; !read && r.base.deliveries[number].Name != n || read && (held == nil || held.Name != n) {
			continue
		}
		d, err := r.Delivery(number)
		if err != nil {
			return nil, err
		}
		if d.State == gateway.Waiting && (next == nil || d.Number < next.Number) {
			next = d
		}
	}
	return next, nil
}

func (r *rows) Asked(number int64) (*gateway.Asked, error) {
	if a, seen := r.asked[number]; seen {
		return a, nil
	}
	if a, ok := r.base.asked[number]; ok {
		return &a, nil
	}
	return nil, nil
}

func (r *rows) PutAsked(a gateway.Asked) { r.asked[a.Number] = &a }

// ForgetAsked looks at all that stood before this commit.
func (r *rows) ForgetAsked(before int64) error {
	var old []gateway.Asked
	for n, a := range r.base.asked {
		if _, changed := r.asked[n]; a.At < before && !changed {
			old = append(old, a)
		}
	}
	slices.SortFunc(old, func(a, b gateway.Asked) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number)) })
	for _, a := range old[:min(len(old), gateway.MaxForget)] {
		r.asked[a.Number] = nil
	}
	return nil
}

func (r *rows) Twin(tenant, source string, generation int64, digest gateway.Hash) (*gateway.Twin, error) {
	n := twinName{sourceName{tenant, source}, generation, digest}
	t, ok := r.twins[n]
	if !ok && generation >= r.dropped[n.sourceName] {
		t, ok = r.base.twins[n]
	}
	if !ok {
		return nil, nil
	}
	return &t, nil
}

func (r *rows) PutTwin(tenant, source string, generation int64, digest gateway.Hash, t gateway.Twin) {
	r.twins[twinName{sourceName{tenant, source}, generation, digest}] = t
}

func (r *rows) DropTwins(tenant, source string, before int64) {
	n := sourceName{tenant, source}
	r.dropped[n] = max(r.dropped[n], before)
	maps.DeleteFunc(r.twins, func(t twinName, _ gateway.Twin) bool { return t.sourceName == n && t.generation < before })
}

func (r *rows) Number(id string) (int64, error) {
	if n, ok := r.ids[id]; ok {
		return n, nil
	}
	return r.base.ids[id], nil
}

func (r *rows) Append(_ int64, record []byte) { r.log = append(r.log, slices.Clone(record)) }

func (r *rows) PutEvent(number int64, n gateway.Name, id string, b *gateway.Body) {
	r.ids[id] = number
	if b != nil {
		r.bodies[number] = keptBody{sourceName{n.Tenant, n.Source}, r.now, cloneBody(b)}
	}
}
