package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hapax/internal/store"
	"hapax/internal/store/pebble"
	"hapax/internal/wire/admin"
)

func newVerify() *cobra.Command {
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify --data DIR",
		Short: "Read a whole data folder and say whether anything is lost, doubled or out of order",
		Long: `Read every row of a data folder: messages, rooms, results; look for holes, double keys, results without their message and
messages without their result. Nothing is changed. Where a server holds the folder, a checkpoint is asked of it and read.

Exit status: 0 nothing is wrong, 1 something is, 3 the folder is of a newer version, 64 wrong usage, 70 it can't be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := verify(cmd.Context(), data)
			if err != nil {
				return storeExit(err)
			}
			if err := printReport(cmd, asJSON, report); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			if !report.OK() {
				return &ExitError{Code: ExitFailed}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the data folder, or a backup")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// verify reads the folder itself, or a checkpoint where a server holds it.
func verify(ctx context.Context, data string) (*pebble.Report, error) {
	report, err := pebble.Verify(ctx, data, pebble.Options{})
	if !errors.Is(err, store.ErrLocked) {
		return report, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(data)), ".hapax-verify-")
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(temp, "checkpoint")
	if err = admin.AskCheckpoint(ctx, data, copied, 0); err == nil {
		report, err = pebble.Verify(ctx, copied, pebble.Options{})
	}
	return report, errors.Join(err, os.RemoveAll(temp))
}

func printReport(cmd *cobra.Command, asJSON bool, r *pebble.Report) error {
	out := cmd.OutOrStdout()
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			OK bool `json:"ok"`
			*pebble.Report
		}{r.OK(), r})
	}
	for _, fault := range r.Faults {
		if _, err := fmt.Fprintln(out, shownLines(fault)); err != nil {
			return err
		}
	}
	word := "sound"
	if !r.OK() {
		word = "FAULTY"
	}
	_, err := fmt.Fprintf(out, "%s: %d messages in %d rooms, %d results, %d holes, %d double keys (epoch %s)\n",
		word, r.Messages, r.Rooms, r.Results, r.Holes, r.DoubleKeys, r.Epoch)
	if err == nil && r.Records+r.Keys+r.Deliveries > 0 {
		_, err = fmt.Fprintf(out, "gateway: %d records, %d keys, %d deliveries\n", r.Records, r.Keys, r.Deliveries)
	}
	return err
}

// storeExit gives what can be wrong with a data folder its exit status.
func storeExit(err error) error {
	switch {
	case errors.Is(err, store.ErrNewer):
		return &ExitError{Code: ExitConfig, Err: err}
	case errors.Is(err, pebble.ErrNotEmpty):
		return &ExitError{Code: ExitUsage, Err: err}
	case errors.Is(err, store.ErrLocked):
		return &ExitError{Code: ExitConfig, Err: fmt.Errorf("%w: stop the server first", err)}
	}
	return &ExitError{Code: ExitMachine, Err: err}
}
