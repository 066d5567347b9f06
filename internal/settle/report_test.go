package settle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

const emptyReport = `{
  "accepted_total": "0.00",
  "checksum": "CHECKSUM",
  "counts": {
    "accept": 0,
    "bad_amount": 0,
    "dedupe": 0,
    "duplicate_done": 0,
    "duplicate_pending": 0,
    "events": 0,
    "reject": 0,
    "unknown_key": 0
  },
  "deduped_amount": "0.00",
  "lru": [],
  "ok": true,
  "tenant_totals": {},
  "window_hits": 0
}
`

func TestEmptyReport(t *testing.T) {
	canonical := `{"accepted_total":"0.00","counts":{"accept":0,"bad_amount":0,"dedupe":0,"duplicate_done":0,"duplicate_pending":0,"events":0,"reject":0,"unknown_key":0},` +
		`"deduped_amount":"0.00","lru":[],"tenant_totals":{},"window_hits":0}`
	sum := sha256.Sum256([]byte(canonical))
	var r Report
	if got := string(r.Canonical()); got != canonical {
		t.Errorf("canonical:\n%s\nwant:\n%s", got, canonical)
	}
	if got, want := string(r.Bytes()), strings.Replace(emptyReport, "CHECKSUM", hex.EncodeToString(sum[:])[:16], 1); got != want {
		t.Errorf("report:\n%s\nwant:\n%s", got, want)
	}
}

func TestOKWhereNothingIsRejected(t *testing.T) {
	for _, c := range []struct {
		counts Counts
		want   bool
	}{{Counts{Accept: 1, DuplicateDone: 1, DuplicatePending: 1}, true}, {Counts{UnknownKey: 1}, false}, {Counts{BadAmount: 1}, false}} {
		r := Report{Totals: Totals{Counts: c.counts}}
		if r.OK() != c.want || !strings.Contains(string(r.Bytes()), `"ok": `+map[bool]string{true: "true", false: "false"}[c.want]) {
			t.Errorf("%+v: ok %t", c.counts, r.OK())
		}
	}
}

// TestReportIsJSON reads reports with hard names back, by encoding/json.
func TestReportIsJSON(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b\"c", `d\e`, "</script>", "é", "\u2028", "\ufeff", "\uffff", "\ue000", "\U0001F600", "\U00010000x", "a\u200b", "~", "z"})
	rapid.Check(t, func(t *rapid.T) {
		r := Report{Tenants: map[string]Sum{}}
		for _, tenant := range rapid.SliceOf(name).Draw(t, "tenants") {
			r.Tenants[tenant] = Sum{low: uint64(len(r.Tenants)), fraction: 12_500_000}
		}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			r.Ledger = append(r.Ledger, Entry{Tenant: name.Draw(t, "tenant"), Source: name.Draw(t, "source"), DedupeKey: name.Draw(t, "key"), Hits: 999999999999999, Recency: Recency{1, 2, 3}})
		}
		var back struct {
			Lru []struct {
				Dedupe_key, Source, Tenant   string
				Hits, Lru_rank, Seen_at, Seq int64
			}
			Tenant_totals map[string]string
		}
		if err := json.Unmarshal(r.Bytes(), &back); err != nil {
			t.Fatalf("%v: %s", err, r.Bytes())
		}
		if len(back.Tenant_totals) != len(r.Tenants) || len(back.Lru) != len(r.Ledger) {
			t.Fatalf("something is lost: %s", r.Bytes())
		}
		for tenant, sum := range r.Tenants {
			if back.Tenant_totals[tenant] != sum.String() {
				t.Errorf("%q has %q, want %s", tenant, back.Tenant_totals[tenant], sum.String())
			}
		}
		for i, e := range r.Ledger {
			b := back.Lru[i]
			if b.Tenant != e.Tenant || b.Source != e.Source || b.Dedupe_key != e.DedupeKey || b.Hits != e.Hits || b.Lru_rank != 1 || b.Seen_at != 2 || b.Seq != 3 {
				t.Errorf("%+v reads as %+v", e, b)
			}
		}
		checkMemberOrder(t, &r)
	})
}

// checkMemberOrder holds the tenants of a report to the order of their UTF-16 code units.
func checkMemberOrder(t *rapid.T, r *Report) {
	var tenants []string
	for tenant := range r.Tenants {
		tenants = append(tenants, tenant)
	}
	slices.SortFunc(tenants, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	canonical := string(r.Canonical())
	at := strings.Index(canonical, `"tenant_totals":`)
	for _, tenant := range tenants {
		var member jsonWriter
		member.text(tenant)
		next := strings.Index(canonical[at:], string(member.out)+`:"`)
		if next < 0 {
			t.Fatalf("%q isn't in its place in %s", tenant, canonical)
		}
		at += next
	}
}

func TestEscapes(t *testing.T) {
	var w jsonWriter
	w.text("\b\t\n\f\r\"\\\x00\x1f\x7f/<>&é\u2028")
	if got, want := string(w.out), `"\b\t\n\f\r\"\\\u0000\u001f`+"\x7f/<>&é\u2028\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
