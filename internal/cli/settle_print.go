package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"hapax/internal/settle"
	"hapax/internal/settlement"
)

// settleSummary is what `hapax settle --json` prints. The books themselves are in the report.
type settleSummary struct {
	RC            int             `json:"rc"`
	OK            bool            `json:"ok"`
	Report        string          `json:"report"`
	Closing       string          `json:"closing,omitempty"`
	MalformedFile string          `json:"malformed_file"`
	Malformed     int64           `json:"malformed"`
	Skipped       int64           `json:"skipped"`
	Checksum      string          `json:"checksum"`
	Counts        json.RawMessage `json:"counts"`
	AcceptedTotal string          `json:"accepted_total"`
	DedupedAmount string          `json:"deduped_amount"`
}

func printSettled(w io.Writer, asJSON bool, r *settlement.Result) error {
	if asJSON {
		return printSettledJSON(w, r)
	}
	c := &r.Report.Totals.Counts
	var out bytes.Buffer
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "events\t%d\n", c.Events())
	fmt.Fprintf(t, "accepted\t%d\t%s\n", c.Accept, r.Report.Totals.Accepted.String())
	fmt.Fprintf(t, "repeats\t%d\t%s\t(of a pending event: %d)\n", c.Dedupe(), r.Report.Totals.Deduped.String(), c.DuplicatePending)
	fmt.Fprintf(t, "rejected\t%d\t\t(unknown key: %d, bad amount: %d)\n", c.Reject(), c.UnknownKey, c.BadAmount)
	fmt.Fprintf(t, "malformed rows\t%d\t\t%s\n", r.Malformed, r.Paths.Malformed)
	fmt.Fprintf(t, "skipped registry rows\t%d\n", r.Skipped)
	fmt.Fprintf(t, "report\t%s\t\t%s\n", r.Report.Checksum(), r.Paths.Report)
	if r.Paths.Closing != "" {
		fmt.Fprintf(t, "closing\t\t\t%s\n", r.Paths.Closing)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

func printSettledJSON(w io.Writer, r *settlement.Result) error {
	text, err := json.Marshal(settleSummary{
		RC: r.Status(), OK: r.Report.OK(),
		Report: r.Paths.Report, Closing: r.Paths.Closing, MalformedFile: r.Paths.Malformed,
		Malformed: r.Malformed, Skipped: r.Skipped, Checksum: r.Report.Checksum(),
		Counts:        countsJSON(&r.Report.Totals.Counts),
		AcceptedTotal: r.Report.Totals.Accepted.String(), DedupedAmount: r.Report.Totals.Deduped.String(),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

func countsJSON(c *settle.Counts) json.RawMessage {
	text, _ := json.Marshal(map[string]int64{ // integers always marshal
		"events": c.Events(), "accept": c.Accept, "dedupe": c.Dedupe(), "reject": c.Reject(),
		"duplicate_done": c.DuplicateDone, "duplicate_pending": c.DuplicatePending,
		"unknown_key": c.UnknownKey, "bad_amount": c.BadAmount,
	})
	return text
}
