package pebble

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// bookKeys fills a store before BenchmarkEnter measures it: go test -bench Enter -args -bookkeys 2000000
var bookKeys = flag.Int("bookkeys", 0, "keys stored before BenchmarkEnter begins")

// enterGroup is how many events a commit takes: as many as 64 connections have in flight.
const enterGroup = 64

// intake makes the events of a benchmark, in ten sources that register their keys themselves.
type intake struct {
	rng  *rand.Rand
	keys int
	n    int
	body []byte
}

func newIntake() *intake {
	return &intake{rng: rand.New(rand.NewPCG(5, 6)), body: []byte(fmt.Sprintf("%0300d", 7))}
}

// event delivers a fresh key, or one of those known.
func (l *intake) event(fresh bool) *gateway.Event {
	key := l.keys
	if fresh {
		l.keys++
	} else {
		key = l.rng.IntN(l.keys)
	}
	l.n++
	e := storetest.NewEvent(gateway.Name{Tenant: "acme", Source: fmt.Sprint("source-", key%10), Key: fmt.Sprintf("evt_%x%08x", uint64(key)*0x9e3779b97f4a7c15, key)}, fmt.Sprintf("ev_%016x%010x", l.rng.Uint64(), l.n))
	e.Body = &gateway.Body{ContentType: "application/json", Bytes: l.body}
	return e
}

func (l *intake) batch(n int, known float64) []gateway.Command {
	commands := make([]gateway.Command, n)
	for i := range commands {
		commands[i] = l.event(l.keys == 0 || l.rng.Float64() >= known)
	}
	return commands
}

// fillBooks stores events of n keys without waiting for the disk, then makes all of it durable.
func (l *intake) fillBooks(b *testing.B, dir string, forward bool) {
	b.Helper()
	s, err := Open(dir, Options{unsynced: true})
	if err != nil {
		b.Fatal(err)
	}
	commands := []gateway.Command{&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600, LRUMinHits: 1}}}
	for i := range 10 {
		commands = append(commands, &gateway.SetSource{Tenant: "acme", Source: fmt.Sprint("source-", i), Settings: gateway.Settings{
			Scope: settle.ScopeWire, LRUCapacity: 1000, Open: true, Forward: forward, Parts: 1,
		}})
	}
	for {
		if _, err := s.Enter(context.Background(), storetest.Start, commands); err != nil {
			b.Fatal(err)
		}
		if l.keys >= *bookKeys {
			break
		}
		commands = l.batch(4096, 0)
	}
	if err := errors.Join(s.db.Flush(), s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, true), s.Close()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkEnter measures events a second of the store alone, each group of 64 durable before the next: half of them of keys known from before.
func BenchmarkEnter(b *testing.B) {
	for _, forward := range []bool{false, true} {
		b.Run(fmt.Sprint("forward=", forward), func(b *testing.B) {
			dir, l := b.TempDir(), newIntake()
			l.fillBooks(b, dir, forward)
			s, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for range 100 { // filters and indexes come into memory
				if _, err := s.Enter(context.Background(), storetest.Start, l.batch(enterGroup, 0.5)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			began := cpu(b)
			for b.Loop() {
				b.StopTimer()
				commands := l.batch(enterGroup, 0.5)
				b.StartTimer()
				if _, err := s.Enter(context.Background(), storetest.Start, commands); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*enterGroup/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(cpu(b)-began)/1e3/float64(b.N*enterGroup), "µs-cpu/event") // also of flushes, merges and the benchmark itself
		})
	}
}

// cpu is the time that all threads of the process have worked, which a busy machine doesn't stretch.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOutbox measures deliveries a second of the store alone, as the forwarder asks for them: 64 that are due, a commit before they leave, a commit with
// their ends. The backlog is there from the start, so that it gets slower where the front of the queue does.
func BenchmarkOutbox(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	commands := []gateway.Command{&gateway.SetPolicy{}, &gateway.SetSource{Tenant: "acme", Source: "source-0", Settings: gateway.Settings{
		Scope: settle.ScopeWire, Open: true, Forward: true, Parts: 1,
	}}}
	for n := 0; n < b.N*enterGroup; { // each of a key of its own
		if _, err := s.Enter(ctx, storetest.Start, commands); err != nil {
			b.Fatal(err)
		}
		commands = commands[:0]
		for range min(4096, b.N*enterGroup-n) {
			n++
			commands = append(commands, storetest.NewEvent(gateway.Name{Tenant: "acme", Source: "source-0", Key: fmt.Sprint(n)}, fmt.Sprint("ev_", n)))
		}
	}
	if _, err := s.Enter(ctx, storetest.Start, commands); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		var leaving, ends []gateway.Command
		err := s.ViewBooks(ctx, func(v store.BooksView) error {
			rows, _, err := v.Due("acme", "source-0", storetest.Start+int64(i), enterGroup)
			for _, d := range rows {
				leaving = append(leaving, &gateway.Attempt{Number: d.Number, IntervalMs: 1 << 40})
				ends = append(ends, &gateway.Settled{Number: d.Number, OK: true})
			}
			return err
		})
		if err != nil || len(leaving) != enterGroup {
			b.Fatal(len(leaving), err)
		}
		for _, commands := range [][]gateway.Command{leaving, ends} {
			if _, err := s.Enter(ctx, storetest.Start+int64(i), commands); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*enterGroup/b.Elapsed().Seconds(), "deliveries/s")
}
