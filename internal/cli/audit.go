package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hapax/internal/anchor"
	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/prove"
	"hapax/internal/store"
)

const auditHelp = `Prove the gateway's log in a data folder with code that shares nothing with the gateway: its chain is whole, every decision is
right by the contract, the books equal what the records come to, and the outbox holds what was accepted for a destination and is
neither delivered nor discarded. Nothing is changed. Where a server holds the folder, a checkpoint is asked of it and read.

With --anchor the heads noted in that file must be in the log: so a log whose end was cut off, that was rewritten, or that is an
older copy put back, is found. Without one nobody can tell that.

Exit status: 0 proved · 1 something is wrong, and said with the number of its record · 2 the folder is damaged, or the anchor can't be read ·
3 there is no store, or one of a newer version · 64 wrong usage · 70 the machine failed`

func newAudit() *cobra.Command {
	var data, anchorFile string
	var asJSON bool
	var keys int
	cmd := &cobra.Command{
		Use:   "audit --data DIR [--anchor FILE]",
		Short: "Prove the gateway's log, books and outbox, independently",
		Long:  auditHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("anchor") && anchorFile == "" {
				return usage("--anchor needs a file")
			}
			if keys < 0 {
				return usage("--keys %d: a number of keys can't be negative", keys)
			}
			a, err := runAudit(cmd.Context(), data, anchorFile, keys)
			if err != nil {
				return err
			}
			show := a.print
			if asJSON {
				show = a.printJSON
			}
			if err := show(cmd.OutOrStdout()); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			if !a.proof.OK() {
				return &ExitError{Code: ExitFailed}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the data folder, or a backup")
	cmd.Flags().StringVar(&anchorFile, "anchor", "", "the `FILE` that the server notes the log's head in (its gateway.anchor)")
	cmd.Flags().IntVar(&keys, "keys", 0, "keys to hold at a time, at 200 bytes each; more are proved in several passes (0: 4,194,304)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// audited is a finished audit.
type audited struct {
	proof  *audit.LogProof
	server gateway.Proof // the server's own last one
	file   string        // the anchor, "" for none
	heads  []anchor.Head
}

func runAudit(ctx context.Context, data, anchorFile string, keys int) (*audited, error) {
	a := &audited{file: anchorFile}
	options := audit.ProofOptions{Keys: keys, Whole: true}
	if anchorFile != "" {
		var err error
		if a.heads, err = anchor.Read(anchorFile); err != nil {
			return nil, &ExitError{Code: 2, Err: err}
		}
		for _, h := range a.heads {
			options.Anchors = append(options.Anchors, audit.Anchored{Number: h.Number, Hash: h.Hash, At: h.At.Unix(), When: h.At.Format(time.RFC3339)})
		}
	}
	err := readBooks(ctx, data, func(v store.BooksView) (err error) {
		a.server = v.Head().Proof
		if a.proof, err = audit.ProveLog(ctx, prove.Stated(v), options); err == nil && v.Head().Lost.From > 0 {
			a.proof.Found++
			a.proof.Issues = append(a.proof.Issues, v.Head().Lost.Told()+`; nobody has accepted that (hapax accept-loss)`)
		}
		return err
	})
	return a, booksExit(err)
}

const tailUnknown = "whether the log's end was cut off, or the whole is an older copy, can't be told without --anchor"

func (a *audited) print(w io.Writer) error {
	var out strings.Builder
	for _, issue := range a.proof.Issues {
		fmt.Fprintln(&out, shownLines(issue))
	}
	if more := a.proof.Found - int64(len(a.proof.Issues)); more > 0 {
		fmt.Fprintf(&out, "and %d more\n", more)
	}
	word := "proved"
	if !a.proof.OK() {
		word = "FAULTY"
	}
	p := a.proof
	fmt.Fprintf(&out, "%s: %d records up to %d, hash %x; %d events of %d keys judged again\n", word, p.Records, p.Number, p.Hash, p.Events, p.Keys)
	if a.file == "" {
		fmt.Fprintln(&out, tailUnknown)
	} else {
		last := a.heads[len(a.heads)-1]
		fmt.Fprintf(&out, "compared with %d anchored heads, the last of record %d at %s\n", len(a.heads), last.Number, last.At.Format(time.RFC3339))
	}
	if a.server.At > 0 {
		fmt.Fprintf(&out, "last full proof by the server: %s, over %d events up to record %d\n",
			time.UnixMilli(a.server.At).UTC().Format(time.RFC3339), a.server.Events, a.server.Number)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (a *audited) printJSON(w io.Writer) error {
	p := a.proof
	rc := ExitOK
	if !p.OK() {
		rc = ExitFailed
	}
	text := map[string]any{
		"ok": p.OK(), "rc": rc, "number": p.Number, "hash": hex.EncodeToString(p.Hash[:]), "records": p.Records, "events": p.Events, "keys": p.Keys,
		"issues": append([]string{}, p.Issues...), "found": p.Found,
	}
	if a.file == "" {
		text["unknown"] = tailUnknown
	} else {
		last := a.heads[len(a.heads)-1]
		text["anchor"] = map[string]any{"heads": len(a.heads), "number": last.Number, "at": last.At.Format(time.RFC3339)}
	}
	if a.server.At > 0 {
		text["lastProof"] = map[string]any{"at": a.server.At, "events": a.server.Events, "number": a.server.Number, "ok": a.server.OK}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(text)
}
