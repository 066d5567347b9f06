package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func newDeadLetters() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deadletters",
		Short: "List the events that their destination would not take; replay or discard them",
		Long: `List dead letters of the gateway: accepted events that their destination refused, or did not take in time. A replay sends one
again under the same id, its tries counted anew. A discarded one is never sent; its event stays pending for ever, and the next
event of its key is no longer held back.

Exit status: 0 done, 1 the server refused or can't be reached, 64 wrong usage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	m := newManagement(cmd)
	cmd.AddCommand(newDeadList(m), newDeadReplay(m), newDeadDiscard(m))
	return cmd
}

// deadLetter is a row of the listing.
type deadLetter struct {
	ID         string `json:"id"`
	Tenant     string `json:"tenant"`
	Source     string `json:"source"`
	Key        string `json:"key"`
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
	Since      int64  `json:"since"`
	Attempts   int    `json:"attempts"`
	Sends      int64  `json:"sends"`
	LastSentAt int64  `json:"lastSentAt,omitempty"`
}

func newDeadList(m *management) *cobra.Command {
	var tenant, source string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list --url URL --token T [--tenant T] [--source S]",
		Short: "Print dead letters with their reasons",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source != "" && tenant == "" {
				return usage("--source goes with --tenant")
			}
			for after := ""; ; {
				var page struct {
					DeadLetters []deadLetter `json:"deadLetters"`
					Next        string       `json:"next"`
				}
				path := "/v1/deadletters" + queryOf("tenant", tenant, "source", source, "after", after, "limit", "200")
				if err := m.call(cmd.Context(), http.MethodGet, path, "", nil, &page); err != nil {
					return failed(err)
				}
				for i := range page.DeadLetters {
					if err := printDeadLetter(cmd.OutOrStdout(), asJSON, &page.DeadLetters[i]); err != nil {
						return &ExitError{Code: ExitMachine, Err: err}
					}
				}
				if after = page.Next; after == "" {
					return nil
				}
			}
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "of this tenant only")
	cmd.Flags().StringVar(&source, "source", "", "of this source of the tenant only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "a line of JSON a dead letter")
	return cmd
}

func printDeadLetter(w io.Writer, asJSON bool, d *deadLetter) error {
	if asJSON {
		return json.NewEncoder(w).Encode(d)
	}
	_, err := fmt.Fprintf(w, "%s  %s  %s  %s  %d sends, last at %s: %s\n", d.ID, shown(d.Tenant), shown(d.Source), shown(d.Key), d.Sends,
		time.UnixMilli(d.LastSentAt).Format(time.DateTime), harmless(d.Reason))
	return err
}

func newDeadReplay(m *management) *cobra.Command {
	var tenant, source, from, to, request string
	cmd := &cobra.Command{
		Use:   "replay --url URL --token T {ID … | --tenant T [--source S] [--from TIME] [--to TIME]}",
		Short: "Send dead letters again: those named, or those of a tenant and a time",
		Long: `Send dead letters again, under the same ids. --from and --to bound when they were last sent, as RFC 3339 (2026-01-31T08:00:00Z); --to is
not included. --request names the request: given again, it replays nothing that it replayed before. Without it each
run is a request of its own.`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if (len(ids) == 0) == (tenant == "") {
				return usage("replay needs either ids or --tenant")
			}
			if request == "" {
				request = rand.Text()
			}
			if len(ids) > 0 {
				if source+from+to != "" {
					return usage("--source, --from and --to go with --tenant")
				}
				return eachID(cmd, ids, "replayed", func(ctx context.Context, id string) error {
					return m.call(ctx, http.MethodPost, "/v1/deadletters/"+url.PathEscape(id)+"/replay", request, nil, nil)
				})
			}
			first, err := unixMs("--from", from)
			if err != nil {
				return err
			}
			last, err := unixMs("--to", to)
			if err != nil {
				return err
			}
			return replayRange(cmd, m, request, map[string]any{"tenant": tenant, "source": source, "from": first, "to": last})
		},
	}
	f := cmd.Flags()
	f.StringVar(&tenant, "tenant", "", "all of this tenant's")
	f.StringVar(&source, "source", "", "of this source of the tenant only")
	f.StringVar(&from, "from", "", "last sent at this time or later")
	f.StringVar(&to, "to", "", "last sent before this time")
	f.StringVar(&request, "request", "", "a name for this request, 1 to 128 bytes")
	return cmd
}

func replayRange(cmd *cobra.Command, m *management, request string, body map[string]any) error {
	replayed := 0
	for {
		var out struct {
			Replayed int    `json:"replayed"`
			Next     string `json:"next"`
		}
		err := m.call(cmd.Context(), http.MethodPost, "/v1/deadletters/replay", request, body, &out)
		replayed += out.Replayed
		if err != nil || out.Next == "" {
			_, told := fmt.Fprintf(cmd.OutOrStdout(), "%d replayed\n", replayed)
			return failed(errors.Join(err, told))
		}
		body["after"] = out.Next
	}
}

// unixMs reads a time; "" is 0.
func unixMs(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UnixMilli() <= 0 {
		return 0, usage("%s: %q is no time like 2026-01-31T08:00:00Z", flag, text)
	}
	return t.UnixMilli(), nil
}

func newDeadDiscard(m *management) *cobra.Command {
	return &cobra.Command{
		Use:   "discard --url URL --token T ID …",
		Short: "Give dead letters up",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return eachID(cmd, ids, "discarded", func(ctx context.Context, id string) error {
				return m.call(ctx, http.MethodPost, "/v1/deadletters/"+url.PathEscape(id)+"/discard", "", nil, nil)
			})
		},
	}
}

// eachID does something with each dead letter. One that is refused doesn't stop the others.
func eachID(cmd *cobra.Command, ids []string, done string, f func(ctx context.Context, id string) error) error {
	var faults []error
	for _, id := range ids {
		err := f(cmd.Context(), id)
		if exit := new(ExitError); errors.As(err, &exit) {
			return err
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", shown(id), err))
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", shown(id), done); err != nil {
			return &ExitError{Code: ExitMachine, Err: err}
		}
	}
	return failed(errors.Join(faults...))
}
