package gateway_test

import (
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// TestOtherContent (G07): a repeat of other content is never silent. Flagged it is a dedupe that says so; rejected it takes no part in the books.
func TestOtherContent(t *testing.T) {
	t.Run("flag", func(t *testing.T) {
		r := newRig(t, open)
		r.judged(accept, r.event("k", amount("5.00", "USD"), content("five")))
		o := r.judged(done, r.event("k", amount("6.00", "USD"), content("six")))
		if !o.Differs || o.Currencies {
			t.Errorf("%+v", o)
		}
		if o := r.judged(done, r.event("k", content("five"), amount("5.00", "USD"))); o.Differs {
			t.Errorf("compared with the last, not with the accepted one: %+v", o)
		}
		if b := r.book("USD"); b.Mismatches != 0 || b.Totals.Deduped.String() != "11.00" {
			t.Errorf("%+v", b)
		}
	})
	t.Run("reject", func(t *testing.T) {
		r := newRig(t, open)
		first := r.judged(accept, r.event("k", amount("5.00", "USD"), content("five"), strict))
		r.pass(100)
		o := r.judged(gateway.Mismatch, r.event("k", amount("6.00", "USD"), content("six"), strict))
		if !o.Differs || o.Currencies || o.RootID != first.ID || o.RootNumber != first.Number || o.GapS != 100 || o.WindowS != 120 {
			t.Errorf("%+v", o)
		}
		if rec := last[*gateway.EventRecord](r); !rec.Strict || rec.Scope != settle.ScopeSchema || rec.WindowS != 120 || rec.Root != first.Number {
			t.Errorf("%+v", rec)
		}
		if b := r.book("USD"); b.Mismatches != 1 || b.Totals.Counts.Events() != 1 {
			t.Errorf("%+v", b)
		}
		if k := r.key("k"); k.Repeats != 0 || len(k.Hits) != 0 || k.Last.Number != first.Number || k.Events != 2 {
			t.Errorf("%+v", k)
		}
		r.pass(100) // 200 s after the accepted one: the mismatch was no predecessor
		r.judged(accept, r.event("k", content("six"), amount("6.00", "USD"), strict))
		r.judged(done, r.event("k", content("six"), amount("6.00", "USD"), strict))
	})
	t.Run("reject, out of the window", func(t *testing.T) {
		r := newRig(t, open)
		r.judged(accept, r.event("k", content("five"), strict))
		r.pass(121)
		if o := r.judged(accept, r.event("k", content("six"), strict)); o.Differs {
			t.Errorf("%+v", o)
		}
	})
	t.Run("reject, of another scope", func(t *testing.T) {
		r := ruledRig(t, settle.Policy{ScopeStrict: true}, open)
		r.judged(accept, r.event("k", content("five"), strict))
		if o := r.judged(accept, r.event("k", content("six"), strict, scope(settle.ScopeWire))); o.Differs {
			t.Errorf("%+v", o)
		}
	})
	t.Run("reject and no amount", func(t *testing.T) {
		r := newRig(t, open)
		r.judged(accept, r.event("k", content("five"), strict))
		r.judged(gateway.BadAmount, r.event("k", content("six"), strict, amount("?", "XXX")))
	})
}

// TestCurrencies (G29): each has its own book. A repeat in another currency within the window is a mismatch whatever the source says, and
// whatever scopes say.
func TestCurrencies(t *testing.T) {
	r := ruledRig(t, settle.Policy{ScopeStrict: true}, open)
	first := r.judged(accept, r.event("k", amount("1.00", "USD")))
	r.judged(accept, r.event("j", amount("500", "JPY")))
	o := r.judged(gateway.Mismatch, r.event("k", amount("500", "JPY")))
	if !o.Currencies || o.Differs || o.RootID != first.ID {
		t.Errorf("%+v", o)
	}
	r.judged(gateway.Mismatch, r.event("k", amount("500", "JPY"), scope(settle.ScopeWire)))
	r.judged(gateway.Mismatch, r.event("k", amount("500", "JPY"), content("other")))
	r.judged(done, r.event("k", amount("1.00", "USD")))
	r.judged(gateway.BadAmount, r.event("k", amount("-500", "JPY")))
	usd, jpy := r.book("USD"), r.book("JPY")
	if usd.Tenant.Total.String() != "1.00" || usd.Mismatches != 0 || usd.Totals.Counts.Events() != 2 {
		t.Errorf("USD %+v", usd)
	}
	if jpy.Tenant.Total.String() != "500.00" || jpy.Mismatches != 3 || jpy.Totals.Counts.Events() != 2 {
		t.Errorf("JPY %+v", jpy)
	}
	r.pass(121) // the same key in another currency, out of the window
	if o := r.judged(accept, r.event("k", amount("500", "JPY"))); o.Currencies || o.GapS != 121 {
		t.Errorf("%+v", o)
	}
	r.judged(done, r.event("k", amount("500", "JPY")))
	r.judged(gateway.Mismatch, r.event("k", amount("1.00", "USD")))
	k := r.key("k")
	if len(k.Hits) != 2 || k.Hits[0].Currency != "USD" || k.Hits[0].Count != 1 || k.Hits[1].Currency != "JPY" || k.Hits[1].Count != 1 {
		t.Errorf("hits %+v", k.Hits)
	}
}
