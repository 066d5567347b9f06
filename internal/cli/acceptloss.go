package cli

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"hapax/internal/engine/intake"
	"hapax/internal/prove"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
	"hapax/internal/wire/admin"
)

func newAcceptLoss() *cobra.Command {
	var data, anchorFile, reason string
	cmd := &cobra.Command{
		Use:   "accept-loss --data DIR [--reason TEXT] [--anchor FILE]",
		Short: "Accept that the gateway's log lost its end, and let deliveries in again",
		Long: `Enter into the gateway's log that you accept what it lost, by the head note beside the store or by the anchor. Until then a server that finds such a
loss takes no deliveries, since it no longer knows what it accepted: a repeat of what was lost would count again. Where you have the folder that holds
the lost records, put it back instead.

Where a server holds the folder it is asked to. Else the folder is opened, and --anchor names the file to hold its log against.

Exit status: 0 accepted, 1 nothing is lost, or it can't be accepted, 3 the folder is of a newer version, 64 wrong usage, 70 it can't be read or written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := acceptLoss(cmd.Context(), data, anchorFile, userName(), reason)
			if errors.Is(err, store.ErrLocked) {
				if text, err = admin.AskAcceptLoss(cmd.Context(), data, userName(), reason); err != nil {
					return &ExitError{Code: ExitFailed, Err: err}
				}
			}
			switch {
			case errors.Is(err, prove.ErrNoLoss), errors.Is(err, prove.ErrNoPolicy), errors.Is(err, prove.ErrReason):
				return &ExitError{Code: ExitFailed, Err: err}
			case err != nil:
				return storeExit(err)
			}
			return said(cmd, "accepted: %s\n", text)
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the data folder")
	cmd.Flags().StringVar(&anchorFile, "anchor", "", "the `FILE` that the server notes the log's head in, where no server holds the folder")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever reads the log later")
	return cmd
}

// acceptLoss accepts the loss in a folder that no process holds.
func acceptLoss(ctx context.Context, data, anchorFile, by, reason string) (text string, err error) {
	// An opening makes a store where there is none.
	if err := pebble.ReadBooks(ctx, data, pebble.Options{}, func(store.BooksView) error { return nil }); err != nil {
		return "", err
	}
	st, err := pebble.Open(data, pebble.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	books, err := intake.New(st, intake.DefaultOptions())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, books.Close(ctx)) }()
	if _, err := prove.Hold(ctx, books, anchorFile); err != nil {
		return "", err
	}
	lost, err := prove.AcceptLoss(ctx, books, by, reason)
	return lost.Told(), err
}

// userName is who runs this program, by the system.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
