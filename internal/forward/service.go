package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/engine/trust"
)

// Clock tells the wall clock in Unix ms, and a time that only goes on. Both are taken together. It is the clock that the
// books are entered by.
type Clock interface {
	Now() (wall int64, mono time.Duration)
}

// Options of a service.
type Options struct {
	Clock    Clock
	Log      *slog.Logger
	Metrics  Metrics        // nil: none
	Rand     func() float64 // in [0, 1); nil: chance
	Resolver *net.Resolver  // nil: the system's
	Pool     int            // requests under way beyond the first of each source; 0: DefaultPool
	Grace    time.Duration  // how long requests under way may go on at the end; 0: DefaultGrace
}

// The bounds of a service.
const (
	DefaultPool  = 256 // each holds a body and a connection
	DefaultGrace = 5 * time.Second
)

// Status is a source whose events don't leave.
type Status struct {
	Tenant, Source string
	Held           bool  // the configuration names no destination
	Until          int64 // Unix ms: the rest's end, where it isn't held
	Rests          int   // taken since the destination last worked
}

// Service forwards. Its methods may be called from any goroutine; Run is called once.
type Service struct {
	books   intake.Books
	o       Options
	ended   chan *flight  // requests that have ended
	swap    chan struct{} // other destinations were set
	stuck   atomic.Pointer[[]Status]
	connect func(Destination) *target

	mu   sync.Mutex
	next map[sourceName]Destination // set, and not yet taken up; nil: nothing new

	// The dispatcher's alone.
	life      context.Context // of requests and commits: it ends later than Run's
	lanes     map[sourceName]*lane
	agenda    agenda
	flights   int           // requests under way
	pooled    int           // of them, those that came out of the pool
	results   []*flight     // ended, to be entered
	heard     int64         // the log has been listened to up to this number
	behind    bool          // there is more to be listened to
	wall      int64         // the clock, as last read
	mono      time.Duration // likewise
	watch     trust.Watch   // of both
	trusted   bool          // the wall clock is: events may come to an end by their age
	mend      bool          // the clock went back: rows may lie ahead of it
	faults    int           // readings and commits that failed in a row
	changed   bool          // Stuck is to be told anew
	published time.Duration // when figures were told last
}

// New returns a service that forwards to no destination yet.
func New(books intake.Books, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Pool == 0 {
		o.Pool = DefaultPool
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	s := &Service{
		books: books, o: o, ended: make(chan *flight, o.Pool), swap: make(chan struct{}, 1), lanes: map[sourceName]*lane{},
	}
	s.connect = func(d Destination) *target { return newTarget(d, o.Resolver, s.life) }
	return s
}

// Set makes destinations stand in place of all earlier ones, or says why not and changes nothing. Requests under way end as they
// began. What waits for a source without a destination is held.
func (s *Service) Set(all []Destination) error {
	next := map[sourceName]Destination{}
	var faults []error
	for _, d := range all {
		name := sourceName{d.Tenant, d.Source}
		if _, twice := next[name]; twice {
			faults = append(faults, fmt.Errorf("source %q of tenant %q has two destinations", d.Source, d.Tenant))
		}
		if err := d.Check(); err != nil {
			faults = append(faults, fmt.Errorf("source %q of tenant %q: %w", d.Source, d.Tenant, err))
		}
		d.Secrets, d.Extra, d.Allow = slices.Clone(d.Secrets), slices.Clone(d.Extra), slices.Clone(d.Allow)
		next[name] = d
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	s.mu.Lock()
	s.next = next
	s.mu.Unlock()
	select {
	case s.swap <- struct{}{}:
	default: // there is word of it already
	}
	return nil
}

// Stuck returns the sources whose events don't leave, by tenant and source; it may be a second old.
func (s *Service) Stuck() []Status {
	if all := s.stuck.Load(); all != nil {
		return *all
	}
	return nil
}
