package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"hapax/internal/config"
	"hapax/internal/engine"
	"hapax/internal/fanout/local"
	"hapax/internal/serve"
	"hapax/internal/store"
)

// Plan is what to measure, and how long.
type Plan struct {
	Parts       []string // of Parts(); empty: Standard
	Dir         string   // where data is written; "": the system's place for temporary files
	Runs        int      // pairs of which the median is taken
	Measure     time.Duration
	Warm        time.Duration
	Text        int // bytes of a message
	Keys        int // stored before the measurement of keys
	Connections int // idle ones
	// IdleClients starts the second process of the idle measurement, which is to call IdleClients.
	IdleClients func() *exec.Cmd
	Progress    func(string)

	fillStep time.Duration // between words of progress while keys are stored; 0: ten seconds
	loads    loads         // zero: agreed
}

// The parts of a plan. keys takes minutes, so it is measured on request only.
const (
	partEngine    = "engine"
	partDuplicate = "duplicate"
	partWS        = "ws"
	partFanOut    = "fanout"
	partIdle      = "idle"
	partKeys      = "keys"
)

// Parts lists all that can be measured, Standard what is without being asked for more.
func Parts() []string    { return append(Standard(), partKeys) }
func Standard() []string { return []string{partEngine, partDuplicate, partWS, partFanOut, partIdle} }

// loads are how many press.
type loads struct {
	connections, inFlight int // through WebSocket, with a room each
	senders, window       int // of the engine
	readers               int // of one room
}

// agreed are the loads that the targets speak of.
var agreed = loads{connections: 100, inFlight: 32, senders: 16, window: 16, readers: 1000}

// Run measures and reports.
func Run(ctx context.Context, p Plan) (*Report, error) {
	if p.loads == (loads{}) {
		p.loads = agreed
	}
	dir, err := os.MkdirTemp(p.Dir, "hapax-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &Report{}
	if r.Machine, err = thisMachine(dir); err != nil {
		return nil, err
	}
	parts := p.Parts
	if len(parts) == 0 {
		parts = Standard()
	}
	measures := map[string]func(context.Context, string) (Result, error){
		partEngine: p.engineAgainstLog, partDuplicate: p.duplicates, partWS: p.webSocketAgainstEngine, partFanOut: p.fanOut,
		partIdle: p.idleConnections, partKeys: p.manyKeys,
	}
	for _, part := range parts {
		measure, known := measures[part]
		if !known {
			return nil, fmt.Errorf("%q is none of %v", part, Parts())
		}
		p.say("measuring " + part)
		result, err := measure(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part, err)
		}
		r.Results = append(r.Results, result)
	}
	return r, nil
}

func (p *Plan) say(text string) {
	if p.Progress != nil {
		p.Progress(text)
	}
}

func (p *Plan) pressure(senders, window, repeats int) Pressure {
	return Pressure{Senders: senders, Window: window, Text: p.Text, Repeats: repeats, Warm: p.Warm, Measure: p.Measure}
}

// openEngine opens an engine on a store of its own, with the limits out of the way.
func openEngine(dir string) (*engine.Engine, func() error, error) {
	c := config.Default()
	c.Data = filepath.Join(dir, "engine")
	st, err := serve.OpenStore(c, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	bus := local.New()
	o := engine.DefaultOptions()
	o.Encode = serve.EncodeRow
	e, err := engine.New(st, bus, o)
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return e, func() error { return closeEngine(e, bus.Close, st) }, nil
}

func closeEngine(e *engine.Engine, bus func() error, st store.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(e.Close(ctx), bus(), st.Close())
}

// paired takes Runs pairs of measurements, each of the two first in turn, and reports the first against the second.
func (p *Plan) paired(r Result, this, other func(run string) (Figure, error)) (Result, error) {
	var all pairs
	for i := range p.Runs {
		run := fmt.Sprintf("%s%d", r.Name[:2], i)
		order := []func(string) (Figure, error){this, other}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		first, err := order[0](run + "a")
		if err != nil {
			return r, err
		}
		second, err := order[1](run + "b")
		if err != nil {
			return r, err
		}
		if i%2 == 1 {
			first, second = second, first
		}
		all.add(first, second)
		p.say(fmt.Sprintf("  %.0f/s, %s %.0f/s", first.PerSecond, r.Against, second.PerSecond))
	}
	r.Runs, r.Ratios = all.this, all.ratios()
	r.Median, r.Ratio = medianFigure(all.this), median(r.Ratios)
	return r, nil
}
