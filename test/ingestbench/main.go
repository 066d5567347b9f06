package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store/pebble"
	"hapax/internal/wire/ingest"
)

func main() {
	b := bench{}
	flag.IntVar(&b.runs, "runs", 5, "pairs of which the median is taken")
	flag.DurationVar(&b.measure, "measure", 3*time.Second, "how long each measurement counts")
	flag.DurationVar(&b.warm, "warm", time.Second, "how long each runs before it counts")
	flag.IntVar(&b.connections, "connections", 64, "connections, each with one delivery in flight")
	flag.IntVar(&b.body, "body", 300, "bytes of a delivery's body, about")
	flag.IntVar(&b.repeats, "repeats", 20, "one delivery in so many is a repeat; 0: none")
	flag.StringVar(&b.dir, "dir", "", "where the data goes (default: a temporary folder, removed afterwards)")
	flag.BoolVar(&b.naive, "naive", true, "also measure the naive way")
	flag.StringVar(&b.profile, "cpuprofile", "", "write a profile of the measurements of ingest to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ingestbench:", err)
		os.Exit(1)
	}
}

// bench is what to measure.
type bench struct {
	runs, connections, body, repeats int
	measure, warm                    time.Duration
	dir, profile                     string
	naive                            bool

	work   string
	ours   *target
	them   *target
	intake *intake.Intake
	pg     *postgres // nil: the naive way isn't measured
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.work, err = os.MkdirTemp(b.dir, "ingestbench-*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	books, closeBooks, err := openBooks(filepath.Join(b.work, "store"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeBooks()) }()
	b.intake = books
	if b.ours, err = b.start(books); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.ours.close()) }()
	if b.naive {
		naive, closeNaive, err := b.startNaive(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeNaive()) }()
		if b.them, err = b.start(naive); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.them.close()) }()
	}
	fmt.Printf("%d connections, bodies of about %d bytes, one in %d a repeat, %d cores, generator included; a small append and its sync takes %.2f ms\n",
		b.connections, b.body, b.repeats, runtime.GOMAXPROCS(0), syncTime(b.work))
	return b.pairs(ctx)
}

// pairs measures both in turn, each first in every second run.
func (b *bench) pairs(ctx context.Context) error {
	var rates, ratios, p99 []float64
	for i := range b.runs {
		order := []*target{b.ours}
		if b.naive {
			order = append(order, b.them)
		}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		figures := map[*target]figure{}
		for _, t := range order {
			f, err := b.press(ctx, t, i)
			if err != nil {
				return err
			}
			figures[t] = f
		}
		f := figures[b.ours]
		rates, p99 = append(rates, f.perSecond), append(p99, f.p99)
		fmt.Printf("  ingest %s", f)
		if b.naive {
			n := figures[b.them]
			ratios = append(ratios, f.perSecond/n.perSecond)
			fmt.Printf("   a row a transaction %s   ratio %.1f", n, f.perSecond/n.perSecond)
		}
		fmt.Printf("   sync %.2f ms, load average %s\n", syncTime(b.work), loadAverage())
	}
	st := b.intake.Stats()
	commits := float64(st.CommitSeconds.Count())
	fmt.Printf("commits of %.1f events in %.2f ms, by the mean\n", st.GroupSize.Sum/commits, st.CommitSeconds.Sum/commits*1000)
	fmt.Printf("median: ingest %.0f events a second, p99 %.1f ms", median(rates), median(p99))
	if b.naive {
		fmt.Printf(", %.1f times the naive way", median(ratios))
	}
	fmt.Println()
	return nil
}

// target is the handler over HTTP.
type target struct {
	address string
	server  *http.Server
	ended   chan error
}

const (
	tenant = "acme"
	source = "pay"
	secret = "a secret of the benchmark"
)

func (b *bench) start(books intake.Books) (*target, error) {
	s, err := ingest.New(ingest.Options{Books: books, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Wait: 30 * time.Second, RetryAfter: time.Second, Requests: 4 * b.connections})
	if err != nil {
		return nil, err
	}
	c, err := ingest.Compile(ingest.Source{
		Tenant: tenant, Name: source, Verify: ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: []ingest.Secret{{Label: "bench", Value: secret}}},
		Key: []ingest.Field{{Pointer: "/id"}}, Amount: ingest.Field{Pointer: "/amount"}, Currency: ingest.Field{Pointer: "/currency"}, Registry: ingest.RegistryOpen,
	})
	if err != nil {
		return nil, err
	}
	if _, err := books.Enter(context.Background(), &gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600, LRUMinHits: 1}},
		&gateway.SetSource{Tenant: tenant, Source: source, Settings: c.Settings()}); err != nil {
		return nil, err
	}
	s.Set([]*ingest.Compiled{c})
	mux := http.NewServeMux()
	mux.Handle(ingest.Route, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &target{address: l.Addr().String(), server: &http.Server{Handler: mux}, ended: make(chan error, 1)}
	go func() { t.ended <- t.server.Serve(l) }()
	return t, nil
}

func (t *target) close() error {
	err := t.server.Close()
	if ended := <-t.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// openBooks opens the embedded store, as a server does.
func openBooks(dir string) (*intake.Intake, func() error, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, nil, err
	}
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		return nil, nil, err
	}
	i, err := intake.New(st, intake.DefaultOptions())
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return i, func() error { return errors.Join(i.Close(context.Background()), st.Close()) }, nil
}

// press measures one of the two. Only what is ours is profiled.
func (b *bench) press(ctx context.Context, t *target, run int) (f figure, err error) {
	if b.profile != "" && t == b.ours {
		file, err := os.Create(b.profile)
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return f, err
		}
		defer pprof.StopCPUProfile()
	}
	before := b.cpuTime()
	if f, err = b.load(ctx, t.address, run); err == nil {
		f.cpu = (b.cpuTime() - before) / time.Duration(max(1, f.all))
	}
	return f, err
}

// syncTime is how long a small append and its sync take, the median of some, in ms.
func syncTime(dir string) float64 {
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var times []float64
	for range 32 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 256)); err != nil || f.Sync() != nil {
			return 0
		}
		times = append(times, time.Since(began).Seconds()*1000)
	}
	return median(times)
}

// loadAverage is that of the last minute: what else the machine had to do.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
