package online

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hapax/internal/audit"
	"hapax/internal/engine/intake"
	"hapax/internal/export"
	"hapax/internal/gateway"
	"hapax/internal/prove"
	"hapax/internal/store"
	"hapax/test/agree"
)

// Folder is an exported currency, and what it must settle to.
type Folder struct {
	Dir    string
	Report string // the online one
	OK     bool
}

// Export exports a view and holds what was written against the books: as many rows as were counted.
func Export(v store.BooksView, out string) (folders []Folder, err error) {
	summary, err := export.Export(context.Background(), v, out, 0o700)
	if err != nil {
		return nil, err
	}
	books, err := v.Books()
	if err != nil {
		return nil, err
	}
	for _, c := range summary.Currencies {
		report, err := intake.Report(v, c.Name)
		if err != nil {
			return nil, err
		}
		mismatches := int64(0)
		for _, b := range books {
			if b.Currency == c.Name {
				mismatches += b.Mismatches
			}
		}
		dir := filepath.Join(out, c.Name)
		listed, err := os.ReadFile(filepath.Join(dir, "mismatches.tsv"))
		if err != nil {
			return nil, err
		}
		if c.Events != report.Totals.Counts.Events() || c.Mismatches != mismatches || int64(bytes.Count(listed, []byte("\n"))) != mismatches {
			return nil, fmt.Errorf("%s: exported %+v, in the books %d events and %d mismatches", c.Name, c, report.Totals.Counts.Events(), mismatches)
		}
		folders = append(folders, Folder{Dir: dir, Report: string(report.Bytes()), OK: report.OK()})
	}
	return folders, nil
}

// Settle settles a folder by the settlement, the audit and the health check.
func (f *Folder) Settle() error {
	want := agree.Reading{Report: f.Report}
	if !f.OK {
		want.Status = 2
	}
	for name, read := range map[string]func(string) (agree.Reading, error){"settlement": agree.BySettlement, "audit": agree.ByAudit} {
		got, err := read(f.Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if got != want {
			return fmt.Errorf("%s of %s:\n%+v\nonline:\n%+v", name, f.Dir, got, want)
		}
	}
	if status, line := agree.HealthOf(f.Dir); status != 0 {
		return fmt.Errorf("health of %s: %s", f.Dir, line)
	}
	return nil
}

// Prove proves the log of a view whole, in shares of its keys, and its tail behind each of some records.
func Prove(v store.BooksView, from []gateway.Head) error {
	for _, keys := range []int{0, 12} {
		proof, err := audit.ProveLog(context.Background(), prove.Stated(v), audit.ProofOptions{Keys: keys, Whole: true})
		if err != nil {
			return err
		}
		if h := v.Head(); !proof.OK() || proof.Number != h.Number || proof.Hash != h.Hash {
			return fmt.Errorf("not proved, %d keys at a time: %+v", keys, proof)
		}
	}
	for _, h := range from {
		proof, err := audit.ProveTail(context.Background(), prove.Stated(v), h.Number, h.Hash)
		if err != nil {
			return err
		}
		if !proof.OK() || proof.Records != v.Head().Number-h.Number {
			return fmt.Errorf("the tail since %d isn't proved: %+v", h.Number, proof)
		}
	}
	return nil
}
