package pebble

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// group is how many sends a commit takes: as many as 256 senders have in flight.
const group = 256

// keys fills a store before BenchmarkCommit measures it: go test -bench Commit -args -keys 10000000
var keys = flag.Int("keys", 0, "results stored before BenchmarkCommit begins")

// fill stores n messages without waiting for the disk, then makes all of it durable.
func fill(b *testing.B, dir string, l *load, n int) {
	b.Helper()
	s, err := Open(dir, Options{unsynced: true})
	if err != nil {
		b.Fatal(err)
	}
	batch := &store.Batch{Now: storetest.Start, RetentionMs: 1 << 40, Judge: room.Decide}
	for l.n < n {
		batch.Commands = batch.Commands[:0]
		for range 16 * group {
			batch.Commands = append(batch.Commands, l.fresh())
		}
		if _, err := s.Commit(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if n > 0 { // let the tables come to rest, as they do in a store that grew slowly
		if err := errors.Join(s.db.Flush(), s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, true)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// load makes the sends of a benchmark: 5 of 100 repeat an earlier one, in 100 rooms, with ids as the SDKs make them.
type load struct {
	rng  *rand.Rand
	sent []room.Command
	n    int
}

func newLoad() *load { return &load{rng: rand.New(rand.NewPCG(1, 2))} }

const benchText = "The quick brown fox jumps over the lazy dog, once."

func (l *load) fresh() room.Command {
	l.n++
	c := storetest.Send(fmt.Sprintf("room-%02d", l.n%100), fmt.Sprintf("actor-%d", l.n%1000), fmt.Sprintf("%016x%016x", l.rng.Uint64(), l.rng.Uint64()), benchText)
	if len(l.sent) < 100_000 {
		l.sent = append(l.sent, c)
	} else {
		l.sent[l.rng.IntN(len(l.sent))] = c
	}
	return c
}

func (l *load) batch(repeats float64) *store.Batch {
	b := &store.Batch{Now: storetest.Start, RetentionMs: 1 << 40, Judge: room.Decide}
	for range group {
		if len(l.sent) > 0 && l.rng.Float64() < repeats {
			b.Commands = append(b.Commands, l.sent[l.rng.IntN(len(l.sent))])
		} else {
			b.Commands = append(b.Commands, l.fresh())
		}
	}
	return b
}

// plainLog is the limit: the same bytes with the same grouping, appended to a file and synced.
type plainLog struct {
	f   *os.File
	buf []byte
}

func (p *plainLog) commit(tb testing.TB, b *store.Batch) {
	p.buf = p.buf[:0]
	for i := range b.Commands {
		c := &b.Commands[i]
		p.buf = fmt.Appendf(p.buf, "%s %s %s %s %s\n", c.Key.Room, c.Key.Actor, c.Key.ID, c.Text, c.Data)
	}
	if _, err := p.f.Write(p.buf); err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Fdatasync(int(p.f.Fd())); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkCommit measures sends a second, and their share of the plain synced log's, both in turns of the same run.
func BenchmarkCommit(b *testing.B) {
	dir, l := b.TempDir(), newLoad()
	fill(b, dir, l, *keys)
	s, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	log := &plainLog{f: f}
	for range 100 { // filters and indexes come into memory
		if _, err := s.Commit(context.Background(), l.batch(0.05)); err != nil {
			b.Fatal(err)
		}
	}
	var ours, plain time.Duration
	sends := 0
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		batch := l.batch(0.05)
		began := time.Now()
		log.commit(b, batch)
		plain += time.Since(began)
		b.StartTimer()
		began = time.Now()
		if _, err := s.Commit(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(began)
		sends += len(batch.Commands)
	}
	b.ReportMetric(float64(sends)/ours.Seconds(), "sends/s")
	b.ReportMetric(float64(sends)/plain.Seconds(), "plain/s")
	b.ReportMetric(100*plain.Seconds()/ours.Seconds(), "%ofplain")
}

// BenchmarkDuplicate compares commits of nothing but repeats with commits of nothing but firsts.
func BenchmarkDuplicate(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	l := newLoad()
	var first, again time.Duration
	for b.Loop() {
		batch := l.batch(0)
		began := time.Now()
		if _, err := s.Commit(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		first += time.Since(began)
		batch = l.batch(1)
		began = time.Now()
		if _, err := s.Commit(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		again += time.Since(began)
	}
	b.ReportMetric(100*again.Seconds()/first.Seconds(), "%offirst")
}
