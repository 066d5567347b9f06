package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hapax/internal/demo"
)

func newDemo() *cobra.Command {
	var asJSON bool
	var keepDir string
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch messages survive lost acks, cut connections and a kill -9 of the server",
		Long: `Run a server, a network that drops acks, cuts connections and is late, and three clients that send through it into one room. Midway
the server is killed (kill -9) and started again. In the end the stores are read: every message once, in order, for everybody.

Exit status: 0 the proof holds, 1 it doesn't, 64 wrong usage, 70 the demo itself couldn't run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDemo(&o); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			if keepDir != "" {
				if err := outputFolder("--keep", keepDir, true); err != nil {
					return err
				}
			}
			proof, err := runDemo(ctx, cmd, o, keepDir, asJSON)
			if err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			if err := printProof(cmd.OutOrStdout(), proof, asJSON); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			if !proof.OK() {
				return &ExitError{Code: ExitFailed}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&o.Messages, "messages", 250, "messages of each client")
	cmd.Flags().Float64Var(&o.Network.DropAck, "drop-acks", 0.3, "chance that the network drops an ack, 0 to 0.9")
	cmd.Flags().Float64Var(&o.Network.Cut, "cut", 0.004, "chance that it cuts the connection instead of carrying a frame, 0 to 0.1")
	cmd.Flags().DurationVar(&o.Network.MaxDelay, "delay", 30*time.Millisecond, "how late a frame may be")
	cmd.Flags().DurationVar(&o.Downtime, "downtime", 1500*time.Millisecond, "how long the server stays dead")
	cmd.Flags().Uint64Var(&o.Seed, "seed", rand.Uint64(), "of the network's choices")
	cmd.Flags().StringVar(&keepDir, "keep", "", "an empty folder that keeps the stores, to look into them")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the proof as JSON, without the live view")
	return cmd
}

func checkDemo(o *demo.Options) (err error) {
	switch {
	case o.Messages < 1 || o.Messages > 100_000:
		return usage("--messages is a number from 1 to 100,000")
	case o.Network.DropAck < 0 || o.Network.DropAck > 0.9:
		return usage("--drop-acks is a chance from 0 to 0.9")
	case o.Network.Cut < 0 || o.Network.Cut > 0.1:
		return usage("--cut is a chance from 0 to 0.1: beyond it no connection lives long enough to say anything")
	case o.Network.MaxDelay < 0 || o.Network.MaxDelay > time.Second:
		return usage("--delay is from 0 to 1s")
	case o.Downtime < 0 || o.Downtime > time.Minute:
		return usage("--downtime is from 0 to 1m")
	}
	if o.Program, err = os.Executable(); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	return nil
}

func runDemo(ctx context.Context, cmd *cobra.Command, o demo.Options, keepDir string, quiet bool) (proof *demo.Proof, err error) {
	if o.Dir = keepDir; keepDir == "" {
		if o.Dir, err = os.MkdirTemp("", "hapax-demo-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	} else if err := os.MkdirAll(keepDir, 0o700); err != nil {
		return nil, err
	}
	if !quiet {
		v := &demoView{out: cmd.OutOrStdout(), redraw: isTerminal(cmd.OutOrStdout())}
		o.Show = v.show
	}
	return demo.Run(ctx, o)
}

// demoView draws the state over itself on a terminal, and prints a line every two seconds elsewhere.
type demoView struct {
	out    io.Writer
	redraw bool
	lines  int
	last   time.Duration
}

func (v *demoView) show(s demo.State) {
	if !v.redraw {
		if s.Elapsed-v.last < 2*time.Second {
			return
		}
		v.last = s.Elapsed
		sent, confirmed := 0, 0
		for _, c := range s.Clients {
			sent, confirmed = sent+c.Sent, confirmed+c.Confirmed
		}
		fmt.Fprintf(v.out, "%5.1fs  server %s  sent %d  confirmed %d  acks dropped %d  cuts %d\n", s.Elapsed.Seconds(), s.Server, sent, confirmed, s.Network.AcksDropped, s.Network.Cuts)
		return
	}
	if v.lines > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA", v.lines)
	}
	line := func(format string, args ...any) { fmt.Fprintf(v.out, format+"\x1b[K\n", args...) }
	line("server   %-20s %5.1fs", s.Server, s.Elapsed.Seconds())
	line("network  %d connections, %d acks dropped, %d cuts", s.Network.Connections, s.Network.AcksDropped, s.Network.Cuts)
	for _, c := range s.Clients {
		line("%-8s sent %4d  confirmed %4d  in the outbox %4d  sees up to %4d  %s", c.Name, c.Sent, c.Confirmed, c.Queued, c.Seen, c.Connection)
	}
	v.lines = 2 + len(s.Clients)
}

func printProof(w io.Writer, p *demo.Proof, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(struct {
			OK bool `json:"ok"`
			*demo.Proof
		}{p.OK(), p})
	}
	verdict := "every message once, in order, for everybody"
	if !p.OK() {
		verdict = "THE PROOF DOESN'T HOLD"
	}
	_, err := fmt.Fprintf(w, `
sent                %d
stored              %d
repeats recognised  %d
acks dropped        %d
connections cut     %d
kill -9 of server   %d
holes               %d
doubles             %d
out of order        %d
views that differ   %d
store faults        %d
%s
`, p.Sent, p.Stored, p.Repeats, p.AcksDropped, p.Cuts, p.Kills, p.Holes, p.Doubles, p.OutOfOrder, p.ViewsDiffer, len(p.StoreFaults), verdict)
	return err
}
