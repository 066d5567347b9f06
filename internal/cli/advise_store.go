package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hapax/internal/export"
	"hapax/internal/settlement"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
)

// adviseOnStore exports a gateway's books for a moment and advises on each currency's folder: one rule, and one who knows it.
func adviseOnStore(cmd *cobra.Command, data string, windows []int64, memory int64, asJSON bool) (err error) {
	temp, err := os.MkdirTemp("", "hapax-advise-")
	if err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	defer func() {
		if gone := os.RemoveAll(temp); err == nil && gone != nil {
			err = &ExitError{Code: ExitMachine, Err: gone}
		}
	}()
	out := filepath.Join(temp, "export")
	var summary *export.Summary
	err = readBooks(cmd.Context(), data, func(v store.BooksView) (err error) {
		summary, err = export.Export(cmd.Context(), v, out, pebble.DefaultMode)
		return err
	})
	if err != nil {
		return booksExit(err)
	}
	advices := map[string]*settlement.Advice{}
	for _, c := range summary.Currencies {
		if advices[c.Name], err = settlement.Advise(cmd.Context(), filepath.Join(out, c.Name), windows, memory); err != nil {
			return settleFailed(cmd, asJSON, err)
		}
	}
	if err := printAdvices(cmd.OutOrStdout(), summary, advices, asJSON); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	return nil
}

func printAdvices(w io.Writer, s *export.Summary, advices map[string]*settlement.Advice, asJSON bool) error {
	if asJSON {
		currencies := map[string]any{}
		for name, a := range advices {
			currencies[name] = adviceJSON(a)
		}
		return json.NewEncoder(w).Encode(map[string]any{"number": s.Number, "currencies": currencies})
	}
	for _, c := range s.Currencies {
		if _, err := fmt.Fprintf(w, "%s\n", c.Name); err != nil {
			return err
		}
		if err := printAdvice(w, advices[c.Name]); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "up to record %d\n", s.Number)
	return err
}

// oneOf wants exactly one of two flags.
func oneOf(cmd *cobra.Command, a, b string) error {
	if cmd.Flags().Changed(a) == cmd.Flags().Changed(b) {
		return usage("%s needs either --%s DIR or --%s DIR", cmd.Name(), a, b)
	}
	for _, name := range []string{a, b} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usage("--%s needs a folder", name)
		}
	}
	return nil
}
