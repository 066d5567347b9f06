package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hapax/internal/export"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// whyOfStore tells what happened to a key of a gateway, as its records have it.
func whyOfStore(cmd *cobra.Command, data string, n gateway.Name, asJSON bool) error {
	if !settle.ValidTenant([]byte(n.Tenant)) || !settle.ValidName([]byte(n.Source)) || !settle.ValidName([]byte(n.Key)) {
		return usage("tenant, source and key must be names of 1 to 256 bytes without control characters or outer white space")
	}
	var chain *export.Chain
	err := readBooks(cmd.Context(), data, func(v store.BooksView) (err error) {
		chain, err = export.ChainOf(v, n)
		return err
	})
	if err != nil {
		return booksExit(err)
	}
	show := printStoreChain
	if asJSON {
		show = printStoreChainJSON
	}
	if err := show(cmd.OutOrStdout(), chain); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	if len(chain.Steps) == 0 {
		return &ExitError{Code: ExitFailed}
	}
	return nil
}

func printStoreChain(w io.Writer, c *export.Chain) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s  %s  %s\n", shown(c.Name.Tenant), shown(c.Name.Source), shown(c.Name.Key))
	if len(c.Steps) == 0 {
		fmt.Fprintf(&out, "no event of this key (registered: %t)\n", c.Registered)
	}
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for i := range c.Steps {
		s := &c.Steps[i]
		e := s.Event
		fmt.Fprintf(t, "record %d\tat %d\t%q %s\t%s\t%s", s.Number, e.SeenAt, e.Amount, e.Currency, e.Decision, s.Reason)
		if s.Delivery != "" {
			fmt.Fprintf(t, "; %s", s.Delivery)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&out, "up to record %d\n", c.Number)
	_, err := w.Write(out.Bytes())
	return err
}

type storeStep struct {
	Number   int64  `json:"number"`
	ID       string `json:"id"`
	SeenAt   int64  `json:"seen_at"`
	Named    *int64 `json:"named_at,omitempty"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	State    string `json:"state"`
	Scope    string `json:"scope,omitempty"`
	Decision string `json:"decision"`
	Measured int64  `json:"predecessor,omitempty"`
	Root     int64  `json:"root,omitempty"`
	GapS     int64  `json:"gap_s"`
	WindowS  int64  `json:"window_s"`
	Delivery string `json:"delivery,omitempty"`
	Reason   string `json:"reason"`
}

func printStoreChainJSON(w io.Writer, c *export.Chain) error {
	steps := make([]storeStep, len(c.Steps))
	for i := range c.Steps {
		s := &c.Steps[i]
		e := s.Event
		steps[i] = storeStep{
			Number: s.Number, ID: e.ID, SeenAt: e.SeenAt, Amount: e.Amount, Currency: e.Currency, State: e.State.String(), Scope: e.Scope.String(),
			Decision: e.Decision.String(), Measured: e.Predecessor, Root: e.Root, GapS: s.GapS, WindowS: e.WindowS, Delivery: s.Delivery, Reason: s.Reason,
		}
		if e.Named {
			steps[i].Named = &e.NamedAt
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"tenant": c.Name.Tenant, "source": c.Name.Source, "dedupe_key": c.Name.Key, "registered": c.Registered, "events": steps, "number": c.Number,
	})
}
