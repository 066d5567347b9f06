package pebble

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// bookLoad makes commands of all kinds: few keys, so that rows are held, die, come back and repeat.
type bookLoad struct {
	rng    *rand.Rand
	prefix string // of event ids
	n      int
	now    int64
	sent   []*gateway.Outcome // accepted lately
}

func newBookLoad(seed, life uint64) *bookLoad {
	return &bookLoad{rng: rand.New(rand.NewPCG(seed, life+1)), prefix: fmt.Sprintf("ev_%d-%d-", seed, life), now: storetest.Start + int64(life)*1_000_000}
}

var loadSources = []string{"s", "s2"}

// ruling makes the log's policy and its sources. Said again it changes nothing.
func ruling() []gateway.Command {
	c := []gateway.Command{&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 30, LRUMinHits: 1}}}
	for i, source := range loadSources {
		c = append(c, &gateway.SetSource{Tenant: "t", Source: source, Settings: gateway.Settings{
			Scope: settle.ScopeWire, LRUCapacity: int64(2 + i), Open: true, Forward: true, Parts: 1,
		}})
	}
	guarded := c[2].(*gateway.SetSource)
	guarded.Settings.Guard, guarded.Settings.GuardS = gateway.GuardFlag, 30
	return c
}

// batch is the next batch.
func (l *bookLoad) batch() []gateway.Command {
	l.now += l.rng.Int64N(40_000)
	var c []gateway.Command
	for range 1 + l.rng.IntN(8) {
		next := l.command()
		if end, ok := next.(*gateway.Settled); ok && end.OK { // nothing is delivered without being sent
			c = append(c, &gateway.Attempt{Number: end.Number, IntervalMs: 1000})
		}
		c = append(c, next)
	}
	return c
}

func (l *bookLoad) command() gateway.Command {
	if len(l.sent) == 0 || l.rng.IntN(3) > 0 {
		l.n++
		name := gateway.Name{Tenant: "t", Source: loadSources[l.rng.IntN(2)], Key: fmt.Sprint("k", l.rng.IntN(6))}
		e := storetest.NewEvent(name, fmt.Sprint(l.prefix, l.n))
		e.Body.Bytes = make([]byte, l.rng.IntN(300))
		e.Digest = sha256.Sum256(e.Body.Bytes)
		e.Fingerprint[0], e.Strict = byte(l.rng.IntN(2)), l.rng.IntN(2) == 0
		if l.rng.IntN(10) == 0 {
			e.Currency = "USD"
		}
		return e
	}
	at := l.sent[l.rng.IntN(len(l.sent))]
	switch l.rng.IntN(7) {
	case 0, 1:
		return &gateway.Attempt{Number: at.Number, IntervalMs: l.rng.Int64N(5_000)}
	case 2:
		return &gateway.Failed{Number: at.Number, Reason: "503"}
	case 3:
		return &gateway.Settled{Number: at.Number, Reason: "404"}
	case 4:
		return &gateway.Replay{Tenant: "t", ID: at.ID, Key: l.rng.Uint64(), By: "ann"}
	case 5:
		return &gateway.Discard{Tenant: "t", ID: at.ID, By: "ann"}
	}
	return &gateway.Settled{Number: at.Number, OK: true}
}

// took learns which events were accepted.
func (l *bookLoad) took(out []gateway.Outcome) {
	for i := range out {
		if out[i].Kind == gateway.Done && out[i].Decision == gateway.Accept {
			l.sent = append(l.sent[max(0, len(l.sent)-20):], &out[i])
		}
	}
}

// enter carries out the next batch.
func (l *bookLoad) enter(s store.Books) error {
	c := l.batch()
	if l.n == 0 || l.sent == nil {
		c = append(ruling(), c...)
	}
	out, err := s.Enter(context.Background(), l.now, c)
	l.took(out)
	return err
}

// toldBooks is what was told or shown of the log: its end, and of each event how often it was sent.
type toldBooks struct {
	number int64
	hash   gateway.Hash
	sends  map[int64]int64
}

// sawBooks notes what a view shows of the books.
func (a *acked) sawBooks(s store.Books) error {
	return s.ViewBooks(context.Background(), func(v store.BooksView) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if h := v.Head(); h.Number >= a.books.number {
			a.books.number, a.books.hash = h.Number, h.Hash
		}
		for d, err := range v.Deliveries() {
			if err != nil {
				return err
			}
			a.books.sends[d.Number] = max(a.books.sends[d.Number], d.Sends)
		}
		return nil
	})
}

// lostBooks counts what was told of the books and isn't there. The record of that number with that hash holds, by the chain, all before it.
func (a *acked) lostBooks(t testing.TB, s store.Books, whole bool) (lost int) {
	t.Helper()
	err := s.ViewBooks(t.Context(), func(v store.BooksView) error {
		record, err := v.Record(a.books.number)
		if err != nil {
			return err
		}
		if a.books.number > 0 && (v.Head().Number < a.books.number || gateway.HashOf(record) != a.books.hash) {
			lost++
		}
		for d, err := range v.Deliveries() {
			if err != nil {
				return err
			}
			if d.Sends < a.books.sends[d.Number] {
				lost++
			}
		}
		if whole && lost == 0 {
			storetest.FoldsTo(t, v)
			storetest.SettlesTo(t, v)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading the books: %v", err)
	}
	return lost
}
