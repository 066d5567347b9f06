package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

var _ store.Books = (*Store)(nil)

// books is the gateway's half of a Disk. Its values are never changed in place: a commit works on copies and puts them back.
type books struct {
	head       gateway.Head
	log        [][]byte // record n lies at n−1
	ids        map[string]int64
	bodies     map[int64]keptBody
	sources    map[sourceName]gateway.Source
	keys       map[gateway.Name]gateway.Key
	sums       map[gateway.BookName]gateway.Book
	deliveries map[int64]gateway.Delivery
	twins      map[twinName]gateway.Twin
	asked      map[int64]gateway.Asked
}

type sourceName struct{ tenant, name string }

// twinName is a body of a guarded source, in a generation.
type twinName struct {
	sourceName
	generation int64
	digest     gateway.Hash
}

type keptBody struct {
	sourceName
	at   int64
	body *gateway.Body
}

func newBooks() *books {
	return &books{
		ids: map[string]int64{}, bodies: map[int64]keptBody{}, sources: map[sourceName]gateway.Source{},
		keys: map[gateway.Name]gateway.Key{}, sums: map[gateway.BookName]gateway.Book{}, deliveries: map[int64]gateway.Delivery{}, twins: map[twinName]gateway.Twin{},
		asked: map[int64]gateway.Asked{},
	}
}

func (b *books) copy() *books {
	return &books{
		head: b.head, log: slices.Clone(b.log), ids: maps.Clone(b.ids), bodies: maps.Clone(b.bodies), sources: maps.Clone(b.sources),
		keys: maps.Clone(b.keys), sums: maps.Clone(b.sums), deliveries: maps.Clone(b.deliveries), twins: maps.Clone(b.twins),
		asked: maps.Clone(b.asked),
	}
}

// Enter carries out a batch. See store.Books.
func (s *Store) Enter(ctx context.Context, now int64, commands []gateway.Command) ([]gateway.Outcome, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	r := newRows(s.disk.books, now)
	outcomes := make([]gateway.Outcome, len(commands))
	for i, c := range commands {
		var err error
		if outcomes[i], err = gateway.Take(r, now, c); err != nil {
			return nil, err // what it changed are r's copies
		}
	}
	r.keep()
	return outcomes, nil
}

// ViewBooks calls f with the disk as it stands; commits wait until f returns. See store.Books.
func (s *Store) ViewBooks(ctx context.Context, f func(store.BooksView) error) error {
	s.disk.mu.RLock()
	defer s.disk.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return f(booksView{s.disk.books})
}

// EraseBodies erases old bodies. See store.Books.
func (s *Store) EraseBodies(ctx context.Context, tenant, source string, before int64) (int64, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	b := s.disk.books
	n := len(b.bodies)
	maps.DeleteFunc(b.bodies, func(number int64, k keptBody) bool {
		_, queued := b.deliveries[number]
		return k.sourceName == sourceName{tenant, source} && k.at < before && !queued
	})
	return int64(n - len(b.bodies)), nil
}

// cloneKey, cloneDelivery and cloneBody give the caller slices of its own.
func cloneKey(k gateway.Key) gateway.Key {
	k.Hits = slices.Clone(k.Hits)
	return k
}

func cloneDelivery(d gateway.Delivery) gateway.Delivery {
	d.Replays = slices.Clone(d.Replays)
	return d
}

func cloneBody(b *gateway.Body) *gateway.Body {
	return &gateway.Body{ContentType: b.ContentType, Headers: slices.Clone(b.Headers), Bytes: bytes.Clone(b.Bytes)}
}
