package pebble

import (
	"bytes"
	"slices"

	"hapax/internal/gateway"
)

// entering is what one commit of the gateway reads and changes: copies of rows, each beside its bytes on disk. It is the commit's alone; nothing in
// the store changes before all commands were taken.
type entering struct {
	s       *Store
	now     int64
	head    gateway.Head
	headWas []byte

	keys       map[gateway.Name]*keyCopy
	sources    map[sourceName]*sourceCopy
	books      map[gateway.BookName]*bookCopy
	deliveries map[int64]*deliveryCopy
	twins      map[string]gateway.Twin // by key on disk
	dropped    map[sourceName]int64    // twins of generations before one
	found      map[gateway.Name]int64  // the lowest held row of a key, as of NextHeld
	asked      []gateway.Asked         // put by this commit
	forgotten  map[int64]int64         // number → when it was put
	log        [][]byte                // ends with record head.Number
	events     []event
}

// diskRow is a row's key and its bytes on disk, nil where there are none.
type diskRow struct{ key, was []byte }

type keyCopy struct {
	diskRow
	name gateway.Name
	is   gateway.Key
}

type sourceCopy struct {
	diskRow
	is *gateway.Source // nil where the source has no row
}

type bookCopy struct {
	diskRow
	is gateway.Book
}

type deliveryCopy struct {
	diskRow
	number int64
	is     *gateway.Delivery // nil where there is no row, or no more
}

type sourceName struct{ tenant, source string }

// event is what PutEvent notes.
type event struct {
	number int64
	name   gateway.Name
	id     string
	body   *gateway.Body
}

var _ gateway.Rows = (*entering)(nil)

func (s *Store) newEntering(now int64) (*entering, error) {
	e := &entering{
		s: s, now: now, keys: map[gateway.Name]*keyCopy{}, sources: map[sourceName]*sourceCopy{},
		books: map[gateway.BookName]*bookCopy{}, deliveries: map[int64]*deliveryCopy{}, twins: map[string]gateway.Twin{}, dropped: map[sourceName]int64{}, found: map[gateway.Name]int64{},
		forgotten: map[int64]int64{},
	}
	was, ok, err := get(s.db, headKey)
	if err != nil || !ok {
		return e, err
	}
	e.headWas = was
	e.head, err = readHead(was)
	return e, err
}

// preload reads the rows of the keys that the commands name, in the order in which they lie on disk.
func (e *entering) preload(commands []gateway.Command) error {
	list := make([]*keyCopy, 0, len(commands))
	for _, c := range commands {
		var n gateway.Name
		switch c := c.(type) {
		case *gateway.Event:
			n = c.Name
		case *gateway.Register:
			n = c.Name
		case *gateway.Unregister:
			n = c.Name
		default:
			continue
		}
		if e.keys[n] == nil {
			k := &keyCopy{name: n, diskRow: diskRow{key: nameKey(n)}}
			e.keys[n] = k
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *keyCopy) int { return bytes.Compare(b.key, a.key) }) // downwards: see lookUp
	look, err := e.s.newLookup()
	if err != nil {
		return err
	}
	defer look.close()
	for _, k := range list {
		value, ok, err := look.get(k.key)
		if err != nil {
			return err
		}
		if ok {
			if err := k.read(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *keyCopy) read(value []byte) (err error) {
	k.was = bytes.Clone(value)
	k.is, err = readKey(k.key, k.was)
	return err
}
