package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"hapax/internal/config"
	"hapax/internal/serve"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
	"hapax/internal/telemetry"
)

// asServer makes the test binary a room server that obeys orders, asClient one client of the SDK. So tests run the very code under
// test as processes of their own, without building it a second time.
const (
	asServer = "TEST_AS_SERVER"
	asClient = "TEST_AS_CLIENT"
	asHapax  = "TEST_AS_HAPAX" // the command line
)

// order is one line on a server's standard input. Each is answered by one line.
type order struct {
	Do    string
	How   string
	N     int64
	Wall  int64 // ms by which the wall clock is moved
	Mono  int64 // ms by which the monotonic clock is moved
	Stand int64 // Unix ms at which the wall clock stands from now on
	Seqs  int64 // before the start only: how old rooms are
}

// reply is the answer; Error says why an order could not be obeyed.
type reply struct {
	Error string `json:",omitempty"`
	Now   int64  `json:",omitempty"` // the server's wall clock, Unix ms
}

// serverMain runs the real server, with hooks in its clock, its store's commits and its disk's syncs.
func serverMain() int {
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	config.AddFlags(flags)
	first := flags.String("first", "{}", "the order that comes before the start: the clock, the rooms' age")
	file := flags.String("file", "", "the configuration's file")
	every := flags.Duration("purge-every", 0, "shorter than the configuration lets it be")
	hooked := flags.Bool("hooked-disk", false, "put hooks into the disk: then its files have no identity")
	if err := flags.Parse(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 64
	}
	load := func() (config.Config, error) { return config.Load(*file, nil, flags) }
	c, err := load()
	if err == nil {
		err = errors.Join(c.Validate(), serve.CheckGateway(&c))
	}
	var start order
	if err == nil {
		err = json.Unmarshal([]byte(*first), &start)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if *every > 0 {
		c.Retention.Every = *every
	}
	h := &hooks{gate: newGate(), disk: newDisk(), data: c.Data}
	h.clock.shift(start)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	err = serve.Run(context.Background(), c, serve.Host{
		Log: telemetry.NewLogger(os.Stderr, c.Log.Level, c.Log.Format), Signals: signals, Clock: &h.clock,
		Started: func(serve.Addresses) { go h.obey() },
		Store: func(c config.Config, log *slog.Logger) (store.Store, error) {
			o := pebble.Options{Logger: log, CacheBytes: 8 << 20, MemTableBytes: 4 << 20}
			if *hooked {
				o.FS = h.disk
			}
			st, err := pebble.Open(c.Data, o)
			if err != nil {
				return nil, err
			}
			h.gate.Store = st
			if start.Seqs > 0 {
				h.gate.Store = aged{st, start.Seqs}
			}
			return gatedBooks{h.gate, st}, nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	return 0
}

// hooks are what orders move.
type hooks struct {
	clock clock
	gate  *gate
	disk  *disk
	data  string
}

// obey answers order after order until standard input ends.
func (h *hooks) obey() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var o order
		err := json.Unmarshal(lines.Bytes(), &o)
		if err == nil {
			err = h.do(o)
		}
		wall, _ := h.clock.Now()
		r := reply{Now: wall}
		if err != nil {
			r.Error = err.Error()
		}
		if out.Encode(r) != nil {
			return // the test is gone
		}
	}
}

// patience bounds every wait; where all is well it is never waited out.
const patience = 2 * time.Minute

func (h *hooks) do(o order) error {
	switch o.Do {
	case "now":
		return nil
	case "clock", "stand":
		h.clock.shift(o)
		return nil
	case "hold":
		h.gate.hold()
		return nil
	case "release":
		h.gate.release()
		h.disk.release()
		return nil
	case "held":
		return wait(func() <-chan struct{} { return h.gate.arrived(o.N) })
	case "fail":
		return h.gate.failWith(o.How, o.N)
	case "purge":
		return wait(h.gate.purged)
	case "hold_sync":
		h.disk.hold()
		return nil
	case "sync_held":
		return wait(func() <-chan struct{} { return h.disk.arrived() })
	case "power_cut":
		return h.disk.cut()
	}
	return errors.New("unknown order " + o.Do)
}

func wait(arrived func() <-chan struct{}) error {
	select {
	case <-arrived():
		return nil
	case <-time.After(patience):
		return errors.New("it doesn't happen")
	}
}
