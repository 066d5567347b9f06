package intake

import (
	"hapax/internal/settle"
)

// Report is the contract's report of one currency (docs/spec/contract.md, The report) out of the books as they stand in a view, without
// reading the log. Exporting the same view and settling its folder gives the same bytes. A currency of which nothing was entered has an
// empty report. The number that it stands at is v.Head().Number.
func Report(v View, currency string) (*settle.Report, error) {
	all, err := v.Books()
	if err != nil {
		return nil, err
	}
	report := &settle.Report{Tenants: map[string]settle.Sum{}}
	for i := range all {
		b := &all[i]
		if b.Currency != currency {
			continue
		}
		report.Totals.Merge(&b.Totals)
		if b.Book.Tenant.Accepted > 0 {
			sum := report.Tenants[b.BookName.Tenant]
			sum.Merge(&b.Book.Tenant.Total)
			report.Tenants[b.BookName.Tenant] = sum
		}
		capacity, err := v.Capacity(b.BookName.Tenant, b.Source)
		if err != nil {
			return nil, err
		}
		if capacity == 0 {
			continue
		}
		entries, err := v.Repeated(currency, b.BookName.Tenant, b.Source, capacity)
		if err != nil {
			return nil, err
		}
		report.Ledger = append(report.Ledger, entries...)
	}
	settle.SortLedger(report.Ledger)
	return report, nil
}
