package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"hapax/internal/settlement"
)

const settleHelp = `Judge every event of a folder by the settlement contract and write the books.

DIR holds policy.tsv, dedupe.tsv (the registry of known keys), events.tsv and perhaps opening.tsv (predecessors from
an earlier period). The report appears whole or not at all; an earlier report, list of malformed rows and closing file
are first set aside with .stale added to their names.

Exit status: 0 report written, nothing rejected, no malformed row · 2 report written, but an event was rejected or a
row malformed; or dedupe.tsv, events.tsv or opening.tsv is unreadable and there is no report · 3 policy.tsv is wrong,
no report · 64 wrong usage, nothing was read or moved · 70 the machine failed, no report.`

type settleFlags struct {
	settlement.Paths
	memory string
	json   bool
}

func newSettle() *cobra.Command {
	var f settleFlags
	cmd := &cobra.Command{
		Use:     "settle --in DIR",
		Short:   "Settle a folder of delivered events into exact books",
		Long:    settleHelp,
		Example: "  hapax settle --in june --closing july/opening.tsv\n  hapax settle --in june --json | jq .counts",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSettle(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Dir, "in", "", "folder with policy.tsv, dedupe.tsv, events.tsv and perhaps opening.tsv")
	flags.StringVar(&f.Report, "report", "", "where the report goes (default: report.json in the folder); - is standard output, and the summary goes to standard error")
	flags.StringVar(&f.Malformed, "malformed", "", "where malformed rows are listed (default: malformed.tsv beside the report; needed with --report -)")
	flags.StringVar(&f.Closing, "closing", "", "also write the next period's opening.tsv here")
	flags.StringVar(&f.memory, "memory", "512MiB", "memory to keep within; what doesn't fit is sorted in a scratch file beside the report")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON")
	cmd.AddCommand(newSettleGenerate())
	return cmd
}

func runSettle(cmd *cobra.Command, f settleFlags) error {
	memory, err := parseSize(f.memory)
	if err != nil || memory < settlement.MinMemory {
		return usage("--memory %s: need a size of at least 16MiB, such as 256MB or 2GiB", f.memory)
	}
	if f.Dir == "" {
		return usage("settle needs --in DIR")
	}
	for _, name := range []string{"report", "malformed", "closing"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return usage("--%s needs a file", name)
		}
	}
	toStdout := f.Report == settlement.StandardOutput
	switch {
	case toStdout && f.Malformed == "":
		return usage("--report - goes to standard output, so --malformed FILE is needed")
	case toStdout && f.json:
		return usage("--report - and --json both want standard output")
	case f.Malformed == settlement.StandardOutput || f.Closing == settlement.StandardOutput:
		return usage("only the report goes to standard output; a file named - is ./-")
	}
	guardProcess(memory)
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends a run that a read holds up: a pipe, a disk that went away
	skipped := bufio.NewWriter(cmd.ErrOrStderr())
	result, err := settlement.Run(ctx, settlement.Options{
		Paths:  f.Paths,
		Memory: memory,
		Skipped: func(line int64, why string) {
			fmt.Fprintf(skipped, "%s line %d skipped: %s\n", settlement.DedupeFile, line, why)
		},
		Progress: progressOn(cmd.ErrOrStderr(), "settling"),
	})
	skipped.Flush()
	if err != nil {
		return settleFailed(cmd, f.json, err)
	}
	if toStdout {
		if _, err := cmd.OutOrStdout().Write(result.Report.Bytes()); err != nil {
			return &ExitError{Code: ExitMachine, Err: fmt.Errorf("the report can't be written: %w", err)}
		}
		if err := printSettled(cmd.ErrOrStderr(), false, result); err != nil {
			return &ExitError{Code: ExitMachine, Err: err}
		}
		return settledExit(result)
	}
	told := false
	defer func() {
		if !told { // a summary that nobody got is a failed run, and a failed run has no report
			os.Remove(result.Paths.Report)
		}
	}()
	if err := printSettled(cmd.OutOrStdout(), f.json, result); err != nil {
		return &ExitError{Code: ExitMachine, Err: fmt.Errorf("the summary can't be written, so the report is removed: %w", err)}
	}
	told = true
	return settledExit(result)
}

func settledExit(r *settlement.Result) error {
	if code := r.Status(); code != ExitOK {
		return &ExitError{Code: code}
	}
	return nil
}

// settleFailed gives a fault its status; with --json it is also printed for programs.
func settleFailed(cmd *cobra.Command, asJSON bool, err error) error {
	code := settlement.Status(err)
	if asJSON {
		text, _ := json.Marshal(map[string]any{"rc": code, "error": err.Error()})
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
	}
	return &ExitError{Code: code, Err: err}
}

// guardProcess prepares the process for a run whose exit statuses mean something. The runtime ends a process that it
// can't go on with by status 2, which would read as "report written": made to abort it dies by a signal. And it sets
// the collector to the run's memory.
func guardProcess(memory int64) {
	debug.SetTraceback("crash")
	ignoreWriteSignals()
	const runtimeShare = 24 << 20 // stacks, code, what the collector itself needs
	debug.SetMemoryLimit(max(memory-runtimeShare, memory/2))
}

// progressOn returns a progress function for a terminal and nil for anything else.
func progressOn(w io.Writer, what string) func(done, total int64) {
	if !isTerminal(w) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
				progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100_000_000))
		}
		_ = bar.Set64(done) // a bar that can't be drawn is no fault of the run
	}
}

// parseSize reads 268435456, 256MB (10^6) or 256MiB (2^20); K, M, G.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "KMGiB")
	var n int64
	if _, err := fmt.Sscanf(digits, "%d", &n); err != nil || fmt.Sprint(n) != digits {
		return 0, fmt.Errorf("%q is no size", text)
	}
	unit, ok := map[string]int64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}[text[len(digits):]]
	if !ok || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is no size", text)
	}
	return n * unit, nil
}
