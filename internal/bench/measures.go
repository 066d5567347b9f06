package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// engineAgainstLog: durable sends through the engine, 256 in flight, one in twenty a repeat, against a plain synced log of the
// same bytes with the same grouping.
func (p *Plan) engineAgainstLog(ctx context.Context, dir string) (result Result, err error) {
	at := filepath.Join(dir, "part-engine")
	if err := os.Mkdir(at, 0o700); err != nil {
		return result, err
	}
	e, closeEngine, err := openEngine(at)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeEngine()) }()
	load := p.pressure(p.loads.senders, p.loads.window, 20)
	result, err = p.paired(
		Result{
			Name: "engine", Unit: "sends/s", Against: "plain synced log", Target: "≥ 0.35 of the log",
			Conditions: fmt.Sprintf("%d sends in flight, texts of %d bytes, 5 %% repeats, synced before each ack; medians of %d pairs", p.loads.senders*p.loads.window, p.Text, p.Runs),
		},
		func(run string) (Figure, error) { return load.through(ctx, e, run) },
		func(string) (Figure, error) { return load.throughLog(ctx, at) },
	)
	result.Met = result.Ratio >= 0.35
	return result, err
}

// duplicates: the rate of repeats alone against that of first sends alone.
func (p *Plan) duplicates(ctx context.Context, dir string) (result Result, err error) {
	at := filepath.Join(dir, "part-duplicate")
	if err := os.Mkdir(at, 0o700); err != nil {
		return result, err
	}
	e, closeEngine, err := openEngine(at)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeEngine()) }()
	result, err = p.paired(
		Result{
			Name: "duplicates", Unit: "repeats/s", Against: "first sends", Target: "≥ 2 times as many",
			Conditions: fmt.Sprintf("%d in flight, repeats alone against first sends alone; medians of %d pairs", p.loads.senders*p.loads.window, p.Runs),
		},
		func(run string) (Figure, error) {
			return p.pressure(p.loads.senders, p.loads.window, 1).through(ctx, e, run)
		},
		func(run string) (Figure, error) {
			return p.pressure(p.loads.senders, p.loads.window, 0).through(ctx, e, run)
		},
	)
	result.Met = result.Ratio >= 2
	return result, err
}

// webSocketAgainstEngine: the same number of sends in flight through WebSocket and through the engine alone.
func (p *Plan) webSocketAgainstEngine(ctx context.Context, dir string) (result Result, err error) {
	at := filepath.Join(dir, "part-ws")
	if err := os.Mkdir(at, 0o700); err != nil {
		return result, err
	}
	target, err := startTarget(at)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	e, closeEngine, err := openEngine(at)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeEngine()) }()
	load := Load{Connections: p.loads.connections, InFlight: p.loads.inFlight, Text: p.Text, Warm: p.Warm, Measure: p.Measure}
	result, err = p.paired(
		Result{
			Name: "websocket", Unit: "sends/s", Against: "the engine alone", Target: "≥ 20,000 and ≥ 0.40 of the engine",
			Conditions: fmt.Sprintf("%d connections with rooms of their own, %d in flight each, own rows delivered, texts of %d bytes, generator in the same process; medians of %d pairs", p.loads.connections, p.loads.inFlight, p.Text, p.Runs),
		},
		func(run string) (Figure, error) { return throughWebSocket(ctx, target, load, run) },
		func(run string) (Figure, error) {
			return p.pressure(p.loads.connections, p.loads.inFlight, 0).through(ctx, e, run)
		},
	)
	result.Met = result.Ratio >= 0.40 && result.Median.PerSecond >= 20_000
	return result, err
}

// fanOut: one sender and a thousand readers in a room.
func (p *Plan) fanOut(ctx context.Context, dir string) (result Result, err error) {
	at := filepath.Join(dir, "part-fanout")
	if err := os.Mkdir(at, 0o700); err != nil {
		return result, err
	}
	target, err := startTarget(at)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	result = Result{
		Name: "fan-out", Unit: "deliveries/s", Target: "≥ 100,000",
		Conditions: fmt.Sprintf("1 sender with %d in flight, %d readers, texts of %d bytes, times from send to reader; median of %d", p.loads.inFlight, p.loads.readers, p.Text, p.Runs),
	}
	for i := range p.Runs {
		f, err := fanOut(ctx, target, Spread{Readers: p.loads.readers, InFlight: p.loads.inFlight, Text: p.Text, Warm: p.Warm, Measure: p.Measure}, fmt.Sprintf("fan%d", i))
		if err != nil {
			return result, err
		}
		p.say(fmt.Sprintf("  %.0f/s", f.PerSecond))
		result.Runs = append(result.Runs, f)
	}
	result.Median = medianFigure(result.Runs)
	result.Met = result.Median.PerSecond >= 100_000
	return result, nil
}

// idleConnections: what the server's process grows by.
func (p *Plan) idleConnections(ctx context.Context, dir string) (result Result, err error) {
	at := filepath.Join(dir, "part-idle")
	if err := os.Mkdir(at, 0o700); err != nil {
		return result, err
	}
	target, err := startTarget(at)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	each, err := idle(ctx, target, p.Connections, p.IdleClients())
	if err != nil {
		return result, err
	}
	return Result{
		Name: "idle", Unit: "bytes each", Median: Figure{PerSecond: each}, Target: "≤ 20,480 bytes", Met: each <= 20<<10,
		Conditions: fmt.Sprintf("%d connections, each signed in and subscribed to a room; resident memory grown, garbage given back; clients in a second process", p.Connections),
	}, nil
}

// manyKeys: the rate with many keys stored against that of an empty store.
func (p *Plan) manyKeys(ctx context.Context, dir string) (result Result, err error) {
	full, empty := filepath.Join(dir, "part-keys"), filepath.Join(dir, "part-keys-empty")
	if err := errors.Join(os.Mkdir(full, 0o700), os.Mkdir(empty, 0o700)); err != nil {
		return result, err
	}
	e, closeFull, err := openEngine(full)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeFull()) }()
	if err := p.fill(ctx, e); err != nil {
		return result, err
	}
	fresh, closeEmpty, err := openEngine(empty)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, closeEmpty()) }()
	load := p.pressure(p.loads.senders, p.loads.window, 20)
	result, err = p.paired(
		Result{
			Name: "many keys", Unit: "sends/s", Against: "an empty store", Target: "≥ 0.70 of it",
			Conditions: fmt.Sprintf("%d keys stored, then as for the engine; medians of %d pairs", p.Keys, p.Runs),
		},
		func(run string) (Figure, error) { return load.through(ctx, e, run) },
		func(run string) (Figure, error) { return load.through(ctx, fresh, run) },
	)
	result.Met = result.Ratio >= 0.70
	return result, err
}
