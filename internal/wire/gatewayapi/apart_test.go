package gatewayapi

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"hapax/internal/engine/intake"
	"hapax/internal/export"
	"hapax/internal/settlement"
)

// countedBooks counts the records that are read one by one or in a row.
type countedBooks struct {
	intake.Books
	read *atomic.Int64
}

type countedView struct {
	intake.View
	read *atomic.Int64
}

func (b countedBooks) View(ctx context.Context, f func(intake.View) error) error {
	return b.Books.View(ctx, func(v intake.View) error { return f(countedView{v, b.read}) })
}

func (v countedView) Record(number int64) ([]byte, error) {
	v.read.Add(1)
	return v.View.Record(number)
}

// D12: what a tenant is told, and what it costs, is the same whether others have nothing or a multiple.
func TestPagesTellNothingOfOtherTenants(t *testing.T) {
	read := &atomic.Int64{}
	told := func(others int) (all []string) {
		h := newHarness(t, func(o *Options) { o.Scan, o.Books = 5, countedBooks{o.Books, read} })
		for _, tenant := range []string{"a", "b", "c", "z"} {
			h.source(tenant, "s", false)
		}
		other := func() {
			for range others {
				h.event("z", "s", fmt.Sprint("k", h.ids), "1", "USD")
			}
		}
		other()
		from := h.now.Load()
		for i := range 12 {
			for _, tenant := range []string{"a", "b", "c"}[:1+i%3] {
				h.event(tenant, "s", fmt.Sprint("k", i%2), "1", "USD")
			}
			other()
			h.now.Add(10 * second)
		}
		tokens := []string{h.token("a=r"), h.token("a=r", "b=r"), h.token("c=r")}
		for _, token := range tokens {
			for _, path := range []string{
				"/v1/events?limit=3", "/v1/events?limit=200", "/v1/events?decision=accept&limit=2", "/v1/events?tenant=a&limit=4", "/v1/events?tenant=a&source=s&limit=4", "/v1/events?tenant=c",
				"/v1/events?tenant=a&source=s&key=k1&limit=2", "/v1/advice/a/s", fmt.Sprintf("/v1/decisions?tenant=a&from=%d&to=%d", from-3*tallySpan, from-2*tallySpan),
			} {
				for after := ""; ; {
					before := read.Load()
					a := h.get(path+map[bool]string{true: "&after=" + after}[after != ""], token)
					var keys []any
					for _, e := range a.list("events") {
						keys = append(keys, e["tenant"], e["key"], e["decision"])
					}
					next, more := a.body["next"].(string)
					reads := read.Load() - before
					if path[:7] == "/v1/dec" || path[:6] == "/v1/ad" {
						reads = 0 // a moment is found by halving the log, whose length only the number of steps follows
					}
					all = append(all, fmt.Sprint(path, a.status, keys, more, a.body["complete"], a.body["events"] != nil, reads))
					if after = next; !more {
						break
					}
				}
			}
		}
		return all
	}
	alone, among := told(0), told(40)
	if !slices.Equal(alone, among) {
		for i := range min(len(alone), len(among)) {
			if alone[i] != among[i] {
				t.Fatalf("%s\nbeside others: %s", alone[i], among[i])
			}
		}
		t.Fatalf("%d pages, beside others %d", len(alone), len(among))
	}
}

// B10: the API and the folders of the export, which `hapax advise` reads, have one rule and give one answer.
func TestAdviceIsThatOfTheExport(t *testing.T) {
	for name, events := range map[string][][2]string{ // key, currency
		"USD, EUR, USD, USD": {{"k", "USD"}, {"k", "EUR"}, {"k", "USD"}, {"k", "USD"}},
		"EUR in turn":        {{"k", "USD"}, {"k", "EUR"}, {"k", "USD"}, {"k", "EUR"}, {"k", "USD"}},
		"several keys":       {{"k", "USD"}, {"l", "USD"}, {"k", "EUR"}, {"l", "EUR"}, {"k", "USD"}, {"l", "USD"}, {"m", "JPY"}},
		"one each":           {{"k", "USD"}, {"k", "EUR"}, {"k", "JPY"}},
	} {
		for _, pause := range []int64{1, 100, 4000} { // within the window of an hour, and beyond it
			h := newHarness(t)
			h.source("acme", "shop", false)
			for i, e := range events {
				h.event("acme", "shop", e[0], "1.5", e[1])
				h.now.Add((pause + int64(i*i)) * second)
			}
			a := h.get("/v1/advice/acme/shop", h.token("acme=r"))
			repeats, longest := int64(0), int64(0)
			out := filepath.Join(t.TempDir(), "out")
			err := h.books.View(t.Context(), func(v intake.View) error {
				summary, err := export.Export(t.Context(), v, out, 0o700)
				if err != nil {
					return err
				}
				for _, c := range summary.Currencies {
					advice, err := settlement.Advise(t.Context(), filepath.Join(out, c.Name), nil, 64<<20)
					if err != nil {
						return err
					}
					if repeats += advice.Repeats.Events; advice.Repeats.Events > 0 {
						longest = max(longest, advice.LongestGapS)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if a.status != 200 || a.body["events"] != float64(repeats) || a.body["longestGapS"] != float64(longest) {
				t.Errorf("%s, %d s apart: the export gives %d repeats and %d s, the API %s", name, pause, repeats, longest, a.raw)
			}
		}
	}
}
