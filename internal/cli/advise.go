package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hapax/internal/settlement"
)

func newAdvise() *cobra.Command {
	var dir, data, memory string
	var asJSON bool
	var windows []int64
	cmd := &cobra.Command{
		Use:   "advise --in DIR | --data DIR",
		Short: "Tell what other replay windows would have done to the same events",
		Long: `Judge a folder as settle does and tell, for each of several windows put in the place of all windows of the folder, how
many repeats it would have let through, their amount, and the longest gap between an event and its repeat. A repeat is
an event whose key has an earlier one, of the same scope where SCOPE_STRICT is 1. Nothing is written.

With --data the events are a gateway's, each currency for itself, also while a server runs.

Exit status: 0 told · 2 dedupe.tsv, events.tsv or opening.tsv is unreadable, or the data folder damaged · 3 policy.tsv is wrong, or
there is no store · 64 wrong usage · 70 the machine failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bytes, err := parseSize(memory)
			if err != nil || bytes < settlement.MinMemory {
				return usage("--memory %s: need a size of at least 16MiB, such as 256MB or 2GiB", memory)
			}
			if err := oneOf(cmd, "in", "data"); err != nil {
				return err
			}
			for _, w := range windows {
				if w < 0 {
					return usage("--window %d: seconds can't be negative", w)
				}
			}
			guardProcess(bytes)
			if data != "" {
				return adviseOnStore(cmd, data, windows, bytes, asJSON)
			}
			advice, err := settlement.Advise(cmd.Context(), dir, windows, bytes)
			if err != nil {
				return settleFailed(cmd, asJSON, err)
			}
			show := printAdvice
			if asJSON {
				show = printAdviceJSON
			}
			if err := show(cmd.OutOrStdout(), advice); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "in", "", "folder with policy.tsv, dedupe.tsv, events.tsv and perhaps opening.tsv")
	cmd.Flags().StringVar(&data, "data", "", "the data folder of a gateway, or a backup of one")
	cmd.Flags().Int64SliceVar(&windows, "window", settlement.UsualWindows, "windows to try, `S,S…`, in seconds; the configured one is always among them")
	cmd.Flags().StringVar(&memory, "memory", "512MiB", "memory to keep within")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the advice as JSON")
	return cmd
}

func printAdvice(w io.Writer, a *settlement.Advice) error {
	var out bytes.Buffer
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "repeats\t%d\t%s\n", a.Repeats.Events, a.Repeats.Amount.String())
	if a.Repeats.Events > 0 {
		fmt.Fprintf(t, "longest gap\t%d s\t%s %s %s\n", a.LongestGapS, shown(a.LongestGapKey[0]), shown(a.LongestGapKey[1]), shown(a.LongestGapKey[2]))
	}
	fmt.Fprintf(t, "let through as configured\t%d\t%s\n", a.LetThrough.Events, a.LetThrough.Amount.String())
	for i := range a.Windows {
		win := &a.Windows[i]
		note := ""
		if win.WindowS == a.Configured {
			note = "BLOCK_WINDOW_S"
		}
		fmt.Fprintf(t, "by a window of %d s\t%d\t%s\t%s\n", win.WindowS, win.LetThrough.Events, win.LetThrough.Amount.String(), note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

type flowJSON struct {
	Events int64  `json:"events"`
	Amount string `json:"amount"`
}

type windowJSON struct {
	WindowS int64 `json:"window_s"`
	flowJSON
}

func flow(f *settlement.Flow) flowJSON { return flowJSON{Events: f.Events, Amount: f.Amount.String()} }

func printAdviceJSON(w io.Writer, a *settlement.Advice) error {
	return json.NewEncoder(w).Encode(adviceJSON(a))
}

func adviceJSON(a *settlement.Advice) map[string]any {
	windows := make([]windowJSON, len(a.Windows))
	for i := range a.Windows {
		windows[i] = windowJSON{WindowS: a.Windows[i].WindowS, flowJSON: flow(&a.Windows[i].LetThrough)}
	}
	text := map[string]any{
		"block_window_s": a.Configured, "repeats": flow(&a.Repeats), "let_through": flow(&a.LetThrough), "windows": windows,
	}
	if a.Repeats.Events > 0 {
		text["longest_gap_s"] = a.LongestGapS
		text["longest_gap_key"] = a.LongestGapKey
	}
	return text
}
