package settle

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Report is contract.md, The report. Its texts are made by Bytes; the same Report gives the same bytes.
type Report struct {
	Totals  Totals
	Tenants map[string]Sum // tenants with an accepted event only
	Ledger  []Entry        // in the order of SortLedger
}

// OK is true exactly where nothing was rejected.
func (r *Report) OK() bool { return r.Totals.Counts.Reject() == 0 }

// Bytes is the report file: RFC 8785 order, two spaces, a final newline.
func (r *Report) Bytes() []byte {
	w := jsonWriter{indent: true}
	w.open('{')
	w.member("accepted_total")
	w.sum(&r.Totals.Accepted)
	w.member("checksum")
	w.text(r.Checksum())
	r.middle(&w)
	w.member("ok")
	w.boolean(r.OK())
	r.last(&w)
	w.close('}')
	return append(w.out, '\n')
}

// Checksum is the first 16 hex digits of the SHA-256 of the canonical JSON of the six fields of the table above it.
func (r *Report) Checksum() string {
	hash := sha256.Sum256(r.Canonical())
	return hex.EncodeToString(hash[:8])
}

// Canonical is the RFC 8785 text of the six fields that the checksum covers.
func (r *Report) Canonical() []byte {
	var w jsonWriter
	w.open('{')
	w.member("accepted_total")
	w.sum(&r.Totals.Accepted)
	r.middle(&w)
	r.last(&w)
	w.close('}')
	return w.out
}

// middle writes counts, deduped_amount and lru.
func (r *Report) middle(w *jsonWriter) {
	c := &r.Totals.Counts
	w.member("counts")
	w.open('{')
	for _, m := range []struct {
		name  string
		value int64
	}{
		{"accept", c.Accept},
		{"bad_amount", c.BadAmount},
		{"dedupe", c.Dedupe()},
		{"duplicate_done", c.DuplicateDone},
		{"duplicate_pending", c.DuplicatePending},
		{"events", c.Events()},
		{"reject", c.Reject()},
		{"unknown_key", c.UnknownKey},
	} {
		w.member(m.name)
		w.integer(m.value)
	}
	w.close('}')
	w.member("deduped_amount")
	w.sum(&r.Totals.Deduped)
	w.member("lru")
	w.open('[')
	for i := range r.Ledger {
		w.item()
		w.entry(&r.Ledger[i])
	}
	w.close(']')
}

// last writes tenant_totals and window_hits.
func (r *Report) last(w *jsonWriter) {
	tenants := make([]string, 0, len(r.Tenants))
	for tenant := range r.Tenants {
		tenants = append(tenants, tenant)
	}
	slices.SortFunc(tenants, compareUTF16)
	w.member("tenant_totals")
	w.open('{')
	for _, tenant := range tenants {
		sum := r.Tenants[tenant]
		w.member(tenant)
		w.sum(&sum)
	}
	w.close('}')
	w.member("window_hits")
	w.integer(r.Totals.Counts.Dedupe())
}
