package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hapax/client/store"
	"hapax/client/store/sqlite"
	"hapax/protocol"
)

func newOutbox() *cobra.Command {
	k := &keep{}
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Look into a client's outbox, and decide about rows that can't go on by themselves",
		Long: `Look into the outbox of a client's store, also while another process sends from it.

Exit status: 0 done, 1 there is no such row or its state forbids it, 64 wrong usage, 70 the store can't be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&k.file, "store", "", "the client's store")
	cmd.PersistentFlags().StringVar(&k.key, "store-key", "", "a file with 64 hex digits: the key with which bodies are encrypted")
	cmd.AddCommand(
		newOutboxList(k),
		newOutboxChange(k, "retry ROOM ID", "Send a parked, uncertain or held row again, with the same id",
			`An uncertain row may have been stored already, so long ago that the server can't tell: retrying it may make a second copy.`,
			func(ctx context.Context, s store.Store, key store.Key) (store.Row, error) {
				return s.Retry(ctx, key, time.Now().UnixMilli())
			}),
		newOutboxChange(k, "cancel ROOM ID", "Remove a row that was never sent", `A row that may have been sent stays as it is.`,
			func(ctx context.Context, s store.Store, key store.Key) (store.Row, error) { return s.Cancel(ctx, key) }),
		newOutboxChange(k, "discard ROOM ID", "Remove a row whatever its state", `If it was sent, the server may have stored it, or may still.`,
			func(ctx context.Context, s store.Store, key store.Key) (store.Row, error) { return s.Discard(ctx, key) }),
		newOutboxExport(k),
		newOutboxClaim(k), newOutboxEncrypt(k), newOutboxReset(k),
	)
	return cmd
}

// with opens the store for one command.
func (k *keep) with(cmd *cobra.Command, f func(store.Store) error) error {
	if k.file == "" {
		return usage("--store is missing")
	}
	if err := outputFile("--store", k.file); err != nil {
		return err
	}
	if _, err := os.Stat(k.file); err != nil { // opening would make one, and a misspelt name would look like an empty outbox
		return &ExitError{Code: ExitMachine, Err: err}
	}
	s, err := k.open(cmd.Context())
	if err != nil {
		return err
	}
	err = f(s)
	if exit := new(ExitError); err != nil && !errors.As(err, &exit) {
		err = &ExitError{Code: ExitMachine, Err: err}
	}
	if cause := s.Close(); cause != nil {
		err = errors.Join(err, &ExitError{Code: ExitMachine, Err: cause})
	}
	return err
}

// outboxRow is a row as JSON. Times are Unix ms; a body only where it was asked for.
type outboxRow struct {
	Room          string          `json:"room"`
	ID            string          `json:"clientMessageId"`
	State         string          `json:"state"`
	Reason        string          `json:"reason,omitempty"`
	Attempts      int             `json:"attempts"`
	NextAt        int64           `json:"nextAt,omitempty"` // of a row that waits for its time
	QueuedAt      int64           `json:"queuedAt"`
	FirstSentAt   int64           `json:"firstSentAt,omitempty"` // server time; with it the row may have been accepted
	LastAttemptAt int64           `json:"lastAttemptAt,omitempty"`
	Fingerprint   string          `json:"fingerprint"`
	Text          *string         `json:"text,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`
}

func rowJSON(r store.Row) outboxRow {
	o := outboxRow{Room: r.Room, ID: r.ID, State: r.State.String(), Reason: r.Reason, Attempts: r.Attempts, QueuedAt: r.QueuedAt,
		FirstSentAt: r.FirstSentAt, LastAttemptAt: r.LastAttemptAt, Fingerprint: r.Fingerprint}
	if r.State == store.Queued && r.Interval > 0 {
		o.NextAt = r.LastAttemptAt + r.Interval
	}
	return o
}

// listPage is how many rows are read at a time: the outbox is never copied whole.
const listPage = 500

func newOutboxList(k *keep) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list --store FILE",
		Short: "Print the rows in their order",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.with(cmd, func(s store.Store) error {
				for after := int64(0); ; {
					rows, err := s.List(cmd.Context(), after, listPage)
					if err != nil || len(rows) == 0 {
						return errors.Join(err, notAllReadable(cmd, s))
					}
					for _, r := range rows {
						after = r.Position
						if err := printRow(cmd, asJSON, r); err != nil {
							return err
						}
					}
				}
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a line of JSON a row")
	return cmd
}

func printRow(cmd *cobra.Command, asJSON bool, r store.Row) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(rowJSON(r))
	}
	o := rowJSON(r)
	line := fmt.Sprintf("%s %s %s, attempts %d", shown(o.Room), o.ID, o.State, o.Attempts)
	if o.NextAt > 0 {
		line += ", next at " + time.UnixMilli(o.NextAt).Format(time.DateTime)
	}
	if o.Reason != "" {
		line += ", " + o.Reason
	}
	if o.FirstSentAt > 0 {
		line += ", may have been sent"
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
	return err
}

// notAllReadable tells of rows that were set aside: they are in no list.
func notAllReadable(cmd *cobra.Command, s store.Store) error {
	n, err := s.Counts(cmd.Context())
	if err == nil && n.SetAside > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "hapax: %d rows can't be read and are set aside with their bytes\n", n.SetAside)
	}
	return err
}

func newOutboxChange(k *keep, use, short, long string, f func(context.Context, store.Store, store.Key) (store.Row, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " --store FILE", Short: short, Long: short + ".\n\n" + long,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !protocol.ValidRoom(args[0]) || !protocol.ValidClientID(args[1]) {
				return usage("ROOM must be a room's name and ID a client message id")
			}
			return k.with(cmd, func(s store.Store) error {
				_, err := f(cmd.Context(), s, store.Key{Room: args[0], ID: args[1]})
				if errors.Is(err, store.ErrNoRow) || errors.Is(err, store.ErrMayHaveBeenSent) || errors.Is(err, store.ErrInFlight) {
					return &ExitError{Code: ExitFailed, Err: err}
				}
				return err
			})
		},
	}
}

func newOutboxExport(k *keep) *cobra.Command {
	return &cobra.Command{
		Use:   "export --store FILE",
		Short: "Print every row with its body, a line of JSON each",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.with(cmd, func(s store.Store) error {
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetEscapeHTML(false)
				err := s.Export(cmd.Context(), func(r store.Row, b store.Body) error {
					o := rowJSON(r)
					o.Text, o.Data = &b.Text, b.Data
					return out.Encode(o)
				})
				return errors.Join(err, notAllReadable(cmd, s))
			})
		},
	}
}

func newOutboxReset(k *keep) *cobra.Command {
	return &cobra.Command{
		Use:   "reset --store FILE",
		Short: "Make a store of a newer version usable: ids and outbox are kept, rooms are fetched anew",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k.file == "" {
				return usage("--store is missing")
			}
			key, err := k.readKey()
			if err != nil {
				return err
			}
			r, err := sqlite.Reset(cmd.Context(), k.file, sqlite.Options{Key: key})
			if err != nil {
				return &ExitError{Code: ExitMachine, Err: fmt.Errorf("%s: %w", k.file, err)}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "version %d is now %d; %d rows can't be read and are set aside with their bytes\n", r.From, r.To, r.SetAside)
			return err
		},
	}
}

func newOutboxEncrypt(k *keep) *cobra.Command {
	return &cobra.Command{
		Use:   "encrypt --store FILE --store-key FILE",
		Short: "Encrypt the bodies of a store that holds them in the clear",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k.file == "" || k.key == "" {
				return usage("--store and --store-key are needed")
			}
			key, err := k.readKey()
			if err != nil {
				return err
			}
			if _, err := os.Stat(k.file); err != nil {
				return &ExitError{Code: ExitConfig, Err: err}
			}
			s, err := sqlite.Open(cmd.Context(), k.file, sqlite.Options{Key: key, Encrypt: true})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				return &ExitError{Code: ExitMachine, Err: fmt.Errorf("%s: %w", k.file, err)}
			}
			return nil
		},
	}
}

func newOutboxClaim(k *keep) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "claim --store FILE --actor NAME",
		Short: "Say whose the rows of a store are that name no actor",
		Long: `Say whose the rows of a store are that name no actor, as they were stored by "send --offline" without --actor or --token.
They are sent by nobody else from then on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k.file == "" || k.actor == "" {
				return usage("--store and --actor are needed")
			}
			key, err := k.readKey()
			if err != nil {
				return err
			}
			if _, err := os.Stat(k.file); err != nil {
				return &ExitError{Code: ExitConfig, Err: err}
			}
			s, err := sqlite.Open(cmd.Context(), k.file, sqlite.Options{Key: key, Claimant: store.Claimant{Actor: k.actor, Claim: true}})
			if err == nil {
				err = s.Close()
			}
			switch {
			case errors.Is(err, store.ErrWrongStore):
				return &ExitError{Code: ExitFailed, Err: fmt.Errorf("%s: %w%s", k.file, store.ErrWrongStore, k.owner(cmd.Context(), key))}
			case err != nil:
				return &ExitError{Code: ExitMachine, Err: fmt.Errorf("%s: %w", k.file, err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&k.actor, "actor", "", "the actor")
	return cmd
}
