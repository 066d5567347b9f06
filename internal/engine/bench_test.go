package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hapax/internal/engine"
	"hapax/internal/fanout/local"
	"hapax/internal/room"
	"hapax/internal/store/pebble"
)

// What is measured: lines, each as a connection does, with sends in flight; their answers come in batches, and as many new sends
// follow. Both sides get the same lines.
const (
	benchLines    = 8
	benchInFlight = 32 // of each line: 256 in all
	benchText     = "The quick brown fox jumps over the lazy dog, once."
)

// sink takes sends: the engine, or the plain log that it is held against.
type sink interface {
	Send(room.Command, engine.Completion)
}

// line keeps benchInFlight sends in flight.
type line struct {
	n     int
	rng   *rand.Rand
	past  []room.Command
	mu    sync.Mutex
	back  []time.Duration // answered since the last look
	ready chan struct{}
}

func newLine(n int) *line {
	return &line{n: n, rng: rand.New(rand.NewPCG(uint64(n), 2)), ready: make(chan struct{}, 1)}
}

func (*line) Actor() string             { return "" }
func (*line) Rows(string, []engine.Row) {}
func (l *line) Flush() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

type sent struct {
	l  *line
	at time.Time
}

func (s sent) Complete(o room.Outcome) {
	if o.Kind != room.Accepted && o.Kind != room.Duplicate {
		panic(o.Kind.String())
	}
	s.l.mu.Lock()
	s.l.back = append(s.l.back, time.Since(s.at))
	s.l.mu.Unlock()
}

func (s sent) Flusher() engine.Subscriber { return s.l }

func (l *line) command() room.Command {
	if len(l.past) > 0 && l.rng.Float64() < .05 {
		return l.past[l.rng.IntN(len(l.past))]
	}
	id := fmt.Sprintf("%016x%016x", l.rng.Uint64(), l.rng.Uint64())
	c := command(fmt.Sprint("actor-", l.n), fmt.Sprint("room-", l.rng.IntN(100)), id, benchText)
	if len(l.past) < 10_000 {
		l.past = append(l.past, c)
	}
	return c
}

// run sends through to until the budget is used up, and returns how long each send took.
func (l *line) run(to sink, budget *atomic.Int64) (took []time.Duration) {
	open := 0
	for {
		for open < benchInFlight && budget.Add(-1) >= 0 {
			to.Send(l.command(), sent{l, time.Now()})
			open++
		}
		if open == 0 {
			return took
		}
		<-l.ready
		l.mu.Lock()
		took, open = append(took, l.back...), open-len(l.back)
		l.back = l.back[:0]
		l.mu.Unlock()
	}
}

// measure sends n commands, and returns the rate and the 99th percentile.
func measure(to sink, n int) (rate float64, p99 time.Duration) {
	var budget atomic.Int64
	budget.Store(int64(n))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	began := time.Now()
	for i := range benchLines {
		l := newLine(i + int(lines.Add(1))*benchLines)
		wg.Go(func() {
			took := l.run(to, &budget)
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	slices.Sort(all)
	return float64(n) / elapsed.Seconds(), all[len(all)*99/100]
}

var lines atomic.Int64

// plainLog is the limit: the same bytes, grouped in the same way, appended to a file and synced. It judges nothing.
type plainLog struct {
	f     *os.File
	mu    sync.Mutex
	queue []pendingLine
	wake  chan struct{}
	ended chan struct{}
}

type pendingLine struct {
	cmd  room.Command
	done engine.Completion
}

func startLog(b *testing.B) *plainLog {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	p := &plainLog{f: f, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go p.commits()
	return p
}

func (p *plainLog) Send(cmd room.Command, done engine.Completion) {
	p.mu.Lock()
	p.queue = append(p.queue, pendingLine{cmd, done})
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *plainLog) commits() {
	defer close(p.ended)
	var buf []byte
	for range p.wake {
		p.mu.Lock()
		group := p.queue
		p.queue = nil
		p.mu.Unlock()
		buf = buf[:0]
		for i := range group {
			c := &group[i].cmd
			buf = fmt.Appendf(buf, "%s %s %s %x %s %s\n", c.Key.Room, c.Key.Actor, c.Key.ID, c.Fingerprint[:], c.Text, c.Data)
		}
		if _, err := p.f.Write(buf); err != nil {
			panic(err)
		}
		if err := syscall.Fdatasync(int(p.f.Fd())); err != nil {
			panic(err)
		}
		touched := map[engine.Subscriber]bool{}
		for i := range group {
			group[i].done.Complete(room.Outcome{Kind: room.Accepted})
			touched[group[i].done.(engine.Flusher).Flusher()] = true
		}
		for c := range touched {
			c.Flush()
		}
	}
}

func (p *plainLog) stop(b *testing.B) {
	close(p.wake)
	<-p.ended
	if err := p.f.Close(); err != nil {
		b.Error(err)
	}
}

// BenchmarkDurable runs the engine on Pebble and the plain log in turns and reports medians of five pairs: durable sends a
// second of each, the ratio, and the engine's 99th percentile. 256 in flight, 5 of 100 repeats, each synced before its answer.
func BenchmarkDurable(b *testing.B) {
	st, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.New(st, local.New(), options())
	if err != nil {
		b.Fatal(err)
	}
	log := startLog(b)
	const each = 60_000
	measure(e, each/4)
	measure(log, each/4)
	var rates, plain, ratios, p99s []float64
	for b.Loop() {
		rates, plain, ratios, p99s = nil, nil, nil, nil
		for range 5 {
			limit, _ := measure(log, each)
			rate, p99 := measure(e, each)
			rates, plain, ratios = append(rates, rate), append(plain, limit), append(ratios, 100*rate/limit)
			p99s = append(p99s, float64(p99.Microseconds())/1000)
		}
	}
	b.ReportMetric(median(rates), "sends/s")
	b.ReportMetric(median(plain), "plain/s")
	b.ReportMetric(median(ratios), "%ofplain")
	b.ReportMetric(median(p99s), "p99-ms")
	s := e.Stats()
	b.ReportMetric(s.GroupSize.Sum/float64(s.GroupSize.Count()), "a-group")
	b.ReportMetric(1000*s.CommitSeconds.Sum/float64(s.CommitSeconds.Count()), "commit-ms")
	if err := e.Close(context.Background()); err != nil {
		b.Error(err)
	}
	if err := st.Close(); err != nil {
		b.Error(err)
	}
	log.stop(b)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// crowd is a reader that only counts.
type crowd struct {
	actor   string
	rows    *atomic.Int64
	flushes *atomic.Int64
}

func (c *crowd) Actor() string { return c.actor }
func (c *crowd) Rows(_ string, rows []engine.Row) {
	c.rows.Add(int64(len(rows)))
}
func (c *crowd) Flush() { c.flushes.Add(1) }

// BenchmarkFanOut has one sender with 32 in flight and 1,000 readers in its room, and reports deliveries a second.
func BenchmarkFanOut(b *testing.B) {
	r := start(b, nil, options())
	defer r.stop()
	var rows, flushes atomic.Int64
	for i := range 1000 {
		c := &crowd{fmt.Sprint("reader-", i), &rows, &flushes}
		if err := r.Subscribe(context.Background(), c, "room-0", nil, engine.Page{}, func(engine.Catchup) {}); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	b.ResetTimer()
	began := time.Now()
	for b.Loop() {
		answers := make([]<-chan room.Outcome, 32)
		for i := range answers {
			n++
			answers[i] = r.post(nil, command("ann", "room-0", fmt.Sprint("id", n), benchText))
		}
		for _, a := range answers {
			<-a
		}
	}
	b.ReportMetric(float64(rows.Load())/time.Since(began).Seconds(), "deliveries/s")
}
