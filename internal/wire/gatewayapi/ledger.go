package gatewayapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/settle"
)

// ledgerEntries bounds the most repeated keys of one source and currency in an answer; the report has them all.
const ledgerEntries = 100

// ledgerAnswer bounds those of a whole answer.
const ledgerAnswer = 2000

// Counts are events by decision (contract, The report), and mismatches apart.
type Counts struct {
	Events           int64 `json:"events" doc:"All but mismatches."`
	Accept           int64 `json:"accept"`
	Dedupe           int64 `json:"dedupe"`
	DuplicateDone    int64 `json:"duplicateDone"`
	DuplicatePending int64 `json:"duplicatePending"`
	Reject           int64 `json:"reject"`
	UnknownKey       int64 `json:"unknownKey"`
	BadAmount        int64 `json:"badAmount"`
	Mismatch         int64 `json:"mismatch" doc:"Logged, and in no sum."`
}

// Repeated is an entry of the ledger of repeatedly hit keys.
type Repeated struct {
	Key    string `json:"key"`
	Hits   int64  `json:"hits"`
	SeenAt int64  `json:"seenAt" doc:"Unix seconds of the last repeat."`
}

// Book is what was counted of one source in one currency.
type Book struct {
	Source        string     `json:"source"`
	Currency      string     `json:"currency"`
	Counts        Counts     `json:"counts"`
	AcceptedTotal string     `json:"acceptedTotal" doc:"The sum of the accepted amounts, a decimal."`
	DedupedAmount string     `json:"dedupedAmount" doc:"The sum of the repeats' amounts: what was not counted twice."`
	Repeated      []Repeated `json:"repeated" doc:"Most repeated keys, the most recent first; at most 100 of a book and 2,000 of an answer."`
}

// Sum is what was counted of a tenant in one currency.
type Sum struct {
	Currency      string `json:"currency"`
	Counts        Counts `json:"counts"`
	AcceptedTotal string `json:"acceptedTotal"`
	DedupedAmount string `json:"dedupedAmount"`
}

// Ledger is what was counted of a tenant.
type Ledger struct {
	Tenant     string `json:"tenant"`
	Currencies []Sum  `json:"currencies" doc:"By currency."`
	Books      []Book `json:"books" doc:"By currency and source."`
}

type ledgerIn struct {
	Tenant string `path:"tenant" maxLength:"256"`
}

type ledgerOut struct{ Body Ledger }

func (s *server) ledger(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "ledger", Method: http.MethodGet, Path: "/v1/ledger/{tenant}",
		Summary: "A tenant's totals by currency and source, with its most repeated keys.",
	}, func(ctx context.Context, in *ledgerIn) (*ledgerOut, error) {
		if err := mayRead(ctx, in.Tenant); err != nil {
			return nil, err
		}
		return view(ctx, s, func(v intake.View) (*ledgerOut, error) { return ledgerOf(v, in.Tenant) })
	})
}

func ledgerOf(v intake.View, tenant string) (*ledgerOut, error) {
	if _, err := sourcesOf(v, tenant, ""); err != nil {
		return nil, err
	}
	all, err := v.Books()
	if err != nil {
		return nil, err
	}
	out := &ledgerOut{Body: Ledger{Tenant: tenant, Currencies: []Sum{}, Books: []Book{}}}
	var sum settle.Totals
	var mismatches int64
	left := int64(ledgerAnswer)
	for i := range all { // by currency
		n := &all[i]
		if n.BookName.Tenant != tenant {
			continue
		}
		b := Book{
			Source: n.Source, Currency: n.Currency, Counts: countsOf(&n.Totals.Counts, n.Mismatches),
			AcceptedTotal: n.Totals.Accepted.String(), DedupedAmount: n.Totals.Deduped.String(),
		}
		if b.Repeated, err = repeated(v, n, min(left, ledgerEntries)); err != nil {
			return nil, err
		}
		left -= int64(len(b.Repeated))
		out.Body.Books = append(out.Body.Books, b)
		if last := len(out.Body.Currencies) - 1; last < 0 || out.Body.Currencies[last].Currency != n.Currency {
			sum, mismatches = settle.Totals{}, 0
			out.Body.Currencies = append(out.Body.Currencies, Sum{})
		}
		sum.Merge(&n.Totals)
		mismatches += n.Mismatches
		out.Body.Currencies[len(out.Body.Currencies)-1] = Sum{
			Currency: n.Currency, Counts: countsOf(&sum.Counts, mismatches), AcceptedTotal: sum.Accepted.String(), DedupedAmount: sum.Deduped.String(),
		}
	}
	return out, nil
}

func countsOf(c *settle.Counts, mismatches int64) Counts {
	return Counts{
		Events: c.Events(), Accept: c.Accept, Dedupe: c.Dedupe(), DuplicateDone: c.DuplicateDone, DuplicatePending: c.DuplicatePending,
		Reject: c.Reject(), UnknownKey: c.UnknownKey, BadAmount: c.BadAmount, Mismatch: mismatches,
	}
}

// repeated returns entries of the ledger as the report would have them.
func repeated(v intake.View, n *intake.NamedBook, most int64) ([]Repeated, error) {
	out := []Repeated{}
	capacity, err := v.Capacity(n.BookName.Tenant, n.Source)
	if err != nil {
		return nil, err
	}
	entries, err := v.Repeated(n.Currency, n.BookName.Tenant, n.Source, min(capacity, most))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		out = append(out, Repeated{Key: e.DedupeKey, Hits: e.Hits, SeenAt: e.SeenAt})
	}
	return out, nil
}
