package cli

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hapax/internal/bench"
)

func newBench() *cobra.Command {
	var p bench.Plan
	var asJSON, check bool
	cmd := &cobra.Command{
		Use:   "bench [PART]...",
		Short: "Measure what a server does on this machine",
		Long: `Measure what a server does on this machine, with the load generator on it: ` + strings.Join(bench.Parts(), ", ") + `.
Without a PART all but keys are measured (about two minutes); keys first stores --keys messages, which takes minutes.

Ratios are of two measurements made one after the other; what is shown is the median of --runs such pairs. Let nothing else run
meanwhile. Data goes to a folder of its own in --dir and is removed; for figures of a disk choose a --dir on it.

Exit status: 0 measured, 1 with --check where a target isn't met, 64 an unknown part, 70 the measurement failed.`,
		Args: func(_ *cobra.Command, args []string) error {
			for _, part := range args {
				if !slices.Contains(bench.Parts(), part) {
					return usage("%q is none of %s", part, strings.Join(bench.Parts(), ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.Runs < 1 || p.Measure <= 0 || p.Warm < 0 || p.Text < 1 || p.Text > 16<<10 || p.Keys < 1 || p.Connections < 1 {
				return usage("runs, measure, text (to 16384), keys and connections must be positive")
			}
			if p.Dir != "" {
				if err := outputFolder("--dir", p.Dir, false); err != nil {
					return err
				}
			}
			p.Parts = args
			p.Progress = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
			p.IdleClients = func() *exec.Cmd { return exec.CommandContext(cmd.Context(), os.Args[0], "bench", "idle-clients") }
			report, err := bench.Run(cmd.Context(), p)
			if err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return showReport(cmd, report, asJSON, check)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&check, "check", false, "exit 1 where a target isn't met")
	cmd.Flags().IntVar(&p.Runs, "runs", 5, "pairs of measurements of which the median is taken")
	cmd.Flags().DurationVar(&p.Measure, "measure", 2*time.Second, "how long each measurement counts")
	cmd.Flags().DurationVar(&p.Warm, "warm", 500*time.Millisecond, "how long each runs before it counts")
	cmd.Flags().IntVar(&p.Text, "text", 100, "bytes of a message's text")
	cmd.Flags().IntVar(&p.Keys, "keys", 10_000_000, "messages stored before keys is measured")
	cmd.Flags().IntVar(&p.Connections, "connections", 10_000, "idle connections")
	cmd.Flags().StringVar(&p.Dir, "dir", "", "where data is written (default: the system's place for temporary files)")
	cmd.AddCommand(&cobra.Command{
		Use: "idle-clients", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := bench.IdleClients(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	})
	return cmd
}

func showReport(cmd *cobra.Command, report *bench.Report, asJSON, check bool) error {
	write := report.WriteTable
	if asJSON {
		write = report.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	for _, r := range report.Results {
		if check && !r.Met {
			return &ExitError{Code: ExitFailed, Err: fmt.Errorf("%s missed its target: %s", r.Name, r.Target)}
		}
	}
	return nil
}
