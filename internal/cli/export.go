package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hapax/internal/engine/intake"
	"hapax/internal/export"
	"hapax/internal/settle"
	"hapax/internal/store"
)

func newExport() *cobra.Command {
	var data, out, mode string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export --data DIR --out DIR",
		Short: "Write the gateway's books as folders of the contract, one a currency",
		Long: `Write what the gateway judged into a folder for each currency, with policy.tsv, dedupe.tsv, events.tsv and mismatches.tsv: "hapax settle
--in OUT/CURRENCY" gives the online report. OUT must be empty or missing, and appears whole or not at all. Where a server holds the
data folder, a checkpoint is asked of it and read.

Exit status: 0 written · 2 the data folder is damaged · 3 there is no store, or one of a newer version · 64 wrong usage, or OUT isn't empty ·
70 the machine failed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usage("export needs --out DIR")
			}
			if err := outputFolder("--out", out, true); err != nil {
				return err
			}
			m, err := folderMode(mode)
			if err != nil {
				return err
			}
			var summary *export.Summary
			err = readBooks(cmd.Context(), data, func(v store.BooksView) (err error) {
				summary, err = export.Export(cmd.Context(), v, out, m)
				return err
			})
			if errors.Is(err, export.ErrNotEmpty) {
				return &ExitError{Code: ExitUsage, Err: err}
			}
			if err != nil {
				return booksExit(err)
			}
			show := printSummary
			if asJSON {
				show = printSummaryJSON
			}
			if err := show(cmd.OutOrStdout(), summary); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the data folder, or a backup")
	cmd.Flags().StringVar(&out, "out", "", "the folder to write, empty or missing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addMode(cmd, &mode)
	return cmd
}

func printSummary(w io.Writer, s *export.Summary) error {
	var out strings.Builder
	for _, c := range s.Currencies {
		fmt.Fprintf(&out, "%s: %d events, %d mismatches\n", c.Name, c.Events, c.Mismatches)
	}
	fmt.Fprintf(&out, "exported up to record %d: %d currencies, %d rows of the registry\n", s.Number, len(s.Currencies), s.Registrations)
	_, err := io.WriteString(w, out.String())
	return err
}

func printSummaryJSON(w io.Writer, s *export.Summary) error {
	currencies := map[string]any{}
	for _, c := range s.Currencies {
		currencies[c.Name] = map[string]any{"events": c.Events, "mismatches": c.Mismatches}
	}
	return json.NewEncoder(w).Encode(map[string]any{"number": s.Number, "registrations": s.Registrations, "currencies": currencies})
}

func newReport() *cobra.Command {
	var data, currency string
	cmd := &cobra.Command{
		Use:   "report --data DIR --currency CUR",
		Short: "Print the gateway's report of one currency",
		Long: `Print the contract's report of one currency as the books have it, and on standard error the number of the log's last record in it. Settling
the export of the same record gives the same bytes. Where a server holds the data folder, a checkpoint is asked of it and read.

Exit status: 0 printed, nothing was rejected · 2 printed, and something was rejected; or the data folder is damaged · 3 there is no store, or one of
a newer version · 64 wrong usage · 70 the machine failed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isCurrency(currency) {
				return usage("--currency %q: three letters are needed, like EUR", currency)
			}
			var report *settle.Report
			var number int64
			err := readBooks(cmd.Context(), data, func(v store.BooksView) (err error) {
				number = v.Head().Number
				report, err = intake.Report(v, strings.ToUpper(currency))
				return err
			})
			if err != nil {
				return booksExit(err)
			}
			if _, err := cmd.OutOrStdout().Write(report.Bytes()); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "up to record %d\n", number)
			if !report.OK() {
				return &ExitError{Code: 2}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the data folder, or a backup")
	cmd.Flags().StringVar(&currency, "currency", "", "the currency, like EUR")
	return cmd
}

func isCurrency(text string) bool {
	for _, c := range text {
		if (c|0x20) < 'a' || (c|0x20) > 'z' {
			return false
		}
	}
	return len(text) == 3
}
