package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hapax/internal/gateway"
	"hapax/internal/settlement"
)

func newWhy() *cobra.Command {
	var dir, data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why (--in DIR | --data DIR) TENANT SOURCE KEY",
		Short: "Tell what happened to one key, event by event, and why",
		Long: `Judge the events of one key of a folder as settle does and give each decision with its reason. Nothing is written.

With --data the key is a gateway's: its events as they were recorded, in all currencies, mismatches too, also while a server runs.

Exit status: 0 the key has events · 1 it has none · 2 dedupe.tsv, events.tsv or opening.tsv is unreadable, or the data folder
damaged · 3 policy.tsv is wrong, or there is no store · 64 wrong usage · 70 the machine failed.`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "in", "data"); err != nil {
				return err
			}
			if data != "" {
				return whyOfStore(cmd, data, gateway.Name{Tenant: args[0], Source: args[1], Key: args[2]}, asJSON)
			}
			chain, err := settlement.Why(cmd.Context(), dir, args[0], args[1], args[2])
			if err != nil {
				return settleFailed(cmd, asJSON, err)
			}
			show := printChain
			if asJSON {
				show = printChainJSON
			}
			if err := show(cmd.OutOrStdout(), chain); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			if len(chain.Steps) == 0 {
				return &ExitError{Code: ExitFailed}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "in", "", "folder with policy.tsv, dedupe.tsv, events.tsv and perhaps opening.tsv")
	cmd.Flags().StringVar(&data, "data", "", "the data folder of a gateway, or a backup of one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the chain as JSON")
	return cmd
}

func printChain(w io.Writer, c *settlement.Chain) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s  %s  %s\n", shown(c.Tenant), shown(c.Source), shown(c.DedupeKey))
	if len(c.Steps) == 0 {
		fmt.Fprintf(&out, "no event of this key (registered: %t)\n", c.Registered)
	}
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for i := range c.Steps {
		s := &c.Steps[i]
		fmt.Fprintf(t, "line %d\tseq %d\tat %d\t%q\t%s\t%s\n", s.Line, s.Event.Seq, s.Event.SeenAt, s.Amount, s.Outcome.Decision, s.Reason)
	}
	for _, b := range c.Broken {
		fmt.Fprintf(t, "line %d\t\t\t\tmalformed\t%s\n", b.Line, b.Why)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

type chainStep struct {
	Line     int64  `json:"line"`
	Seq      int64  `json:"seq"`
	SeenAt   int64  `json:"seen_at"`
	Amount   string `json:"amount"`
	State    string `json:"state"`
	Scope    string `json:"scope,omitempty"`
	Decision string `json:"decision"`
	GapS     int64  `json:"gap_s"`
	WindowS  int64  `json:"window_s"`
	Reason   string `json:"reason"`
}

func printChainJSON(w io.Writer, c *settlement.Chain) error {
	steps := make([]chainStep, len(c.Steps))
	for i := range c.Steps {
		s := &c.Steps[i]
		steps[i] = chainStep{
			Line: s.Line, Seq: s.Event.Seq, SeenAt: s.Event.SeenAt, Amount: s.Amount, State: s.Event.State.String(),
			Scope: s.Outcome.Scope.String(), Decision: s.Outcome.Decision.String(), GapS: s.Outcome.GapS, WindowS: s.Outcome.WindowS, Reason: s.Reason,
		}
	}
	malformed := []map[string]any{}
	for _, b := range c.Broken {
		malformed = append(malformed, map[string]any{"line": b.Line, "reason": b.Why})
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"tenant": c.Tenant, "source": c.Source, "dedupe_key": c.DedupeKey, "registered": c.Registered,
		"events": steps, "malformed": malformed,
	})
}
