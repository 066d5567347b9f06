package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hapax/internal/audit"
)

const healthHelp = `Recompute the books from policy.tsv, dedupe.tsv, events.tsv and opening.tsv with code that shares nothing with
'hapax settle', and compare the report field by field. Nothing is written or moved. One JSON line goes to standard output.

Exit status: 0 all eight fields agree · 1 some field is missing or differs · 2 a fact or the report can't be read, or all
agrees but a row of events.tsv is malformed · 3 policy.tsv can't be obeyed · 64 wrong usage · 70 the machine failed`

func newHealth() *cobra.Command {
	var in, report string
	cmd := &cobra.Command{
		Use:   "health --in DIR [--report FILE]",
		Short: "Check a settlement report against its input files, independently",
		Long:  healthHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in == "" {
				return usage("health needs --in DIR")
			}
			if report == "" && cmd.Flags().Changed("report") {
				return usage("--report needs a file")
			}
			return runHealth(in, report, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&in, "in", "", "folder with the input files")
	cmd.Flags().StringVar(&report, "report", "", "the report to check (default DIR/report.json)")
	return cmd
}

func runHealth(in, report string, stdout, stderr io.Writer) error {
	ignoreWriteSignals()
	verdict, err := audit.Health(in, report)
	if err == nil {
		tellRows(stderr, verdict)
		_, err = stdout.Write(verdict.Line())
	}
	if err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	if isTerminal(stderr) {
		tellVerdict(stderr, verdict)
	}
	if verdict.Status == ExitOK {
		return nil
	}
	return &ExitError{Code: verdict.Status}
}

// tellRows says what the JSON line has no place for: rows of dedupe.tsv that register nothing, and why a file can't be
// read. A standard error that can't be written doesn't change what was found.
func tellRows(stderr io.Writer, v *audit.Verdict) {
	out := bufio.NewWriter(stderr)
	for _, row := range v.Skipped {
		fmt.Fprintf(out, "dedupe.tsv:%d: row skipped: %s\n", row.Line, row.Reason)
	}
	for _, detail := range v.Details {
		fmt.Fprintln(out, detail)
	}
	_ = out.Flush()
}

// tellVerdict is the verdict in a line, for people.
func tellVerdict(stderr io.Writer, v *audit.Verdict) {
	switch {
	case v.Status == ExitOK:
		fmt.Fprintf(stderr, "healthy: all %d fields agree\n", v.Checks)
	case v.Checks == 0:
		fmt.Fprintf(stderr, "not checked: %s\n", strings.Join(v.Issues, "; "))
	default:
		fmt.Fprintf(stderr, "degraded: %d of %d fields differ, %d malformed rows\n", v.Differing, v.Checks, v.Malformed)
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
