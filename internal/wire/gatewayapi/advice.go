package gatewayapi

import (
	"context"
	"math"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// windows are those that an advice tries besides the source's own, in seconds: from a minute to a month.
var windows = []int64{60, 300, 900, 3600, 6 * 3600, 24 * 3600, 48 * 3600, 72 * 3600, 7 * 24 * 3600, 30 * 24 * 3600}

type adviceIn struct {
	Tenant string `path:"tenant" maxLength:"256"`
	Source string `path:"source" maxLength:"256"`
}

// Advice is what other windows would have done to a source's latest events.
type Advice struct {
	Tenant     string   `json:"tenant"`
	Source     string   `json:"source"`
	WindowS    int64    `json:"windowS" doc:"The source's own."`
	Events     int64    `json:"events" doc:"Events with a predecessor that were looked at."`
	Complete   bool     `json:"complete" doc:"False where the log is longer than one request reads: then only its latest records were."`
	LongestGap int64    `json:"longestGapS" doc:"The longest gap between an event and its predecessor that was seen, in seconds."`
	Windows    []Window `json:"windows" doc:"By length."`
}

// Window is what one window would have done.
type Window struct {
	WindowS    int64              `json:"windowS"`
	Repeats    int64              `json:"repeats" doc:"Events that it would have taken for repeats."`
	LetThrough int64              `json:"letThrough" doc:"Repeats by the window in force that it would have accepted."`
	Held       int64              `json:"held" doc:"Accepted by the window in force, that it would have taken for repeats."`
	Amounts    map[string]Decimal `json:"amounts" doc:"By currency: the sum of what it would have let through."`
}

// Decimal is a sum as text.
type Decimal string

type adviceOut struct{ Body Advice }

// judged is an event with its gap: whatever the window, it is measured against the same predecessor.
type judged struct {
	gap      int64
	deduped  bool
	currency string
	amount   settle.Amount
}

func (s *server) advice(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "advice", Method: http.MethodGet, Path: "/v1/advice/{tenant}/{source}",
		Summary: "What other windows would have done to the source's latest events.",
	}, func(ctx context.Context, in *adviceIn) (*adviceOut, error) {
		if err := mayRead(ctx, in.Tenant); err != nil {
			return nil, err
		}
		return scan(ctx, s, func(v intake.View) (*adviceOut, error) {
			own, err := sourcesOf(v, in.Tenant, in.Source)
			if err != nil {
				return nil, err
			}
			info := sourceInfo(&own[0], nil, nil, v.Head().Policy.BlockWindowS)
			part, err := spanOf(v, 0, math.MaxInt64, s.Scan*scanFactor)
			if err != nil {
				return nil, err
			}
			events, err := gaps(v, part, in, v.Head().Policy.ScopeStrict)
			if err != nil {
				return nil, err
			}
			return &adviceOut{Body: advise(info, part.whole, events)}, nil
		})
	})
}

// gaps returns the source's events that have a predecessor within the span.
func gaps(v intake.View, part span, in *adviceIn, strict bool) (events []judged, err error) {
	seen := map[int64]*entry{} // the last event of each key that can be a predecessor, by number
	last := map[string]int64{}
	err = part.each(v, func(b *gateway.Brief, record []byte) error {
		if string(b.Tenant) != in.Tenant || string(b.Source) != in.Source || b.Decision.Rejected() {
			return nil
		}
		e, err := eventOf(record)
		if err != nil {
			return err
		}
		// One of another scope or currency is no repeat by any window.
		if p := seen[e.Predecessor]; p != nil && p.Currency == e.Currency && (!strict || p.Scope == e.Scope) {
			amount, _ := settle.ParseAmount([]byte(e.Amount))
			events = append(events, judged{e.SeenAt - p.SeenAt, e.Decision.Deduped(), e.Currency, amount})
		}
		delete(seen, last[e.Key])
		seen[e.number], last[e.Key] = e, e.number
		return nil
	})
	return events, err
}

func advise(info SourceInfo, whole bool, events []judged) Advice {
	a := Advice{Tenant: info.Tenant, Source: info.Source, WindowS: info.WindowS, Events: int64(len(events)), Complete: whole, Windows: []Window{}}
	for _, e := range events {
		a.LongestGap = max(a.LongestGap, e.gap)
	}
	tried := append([]int64{info.WindowS}, windows...)
	slices.Sort(tried)
	for _, w := range slices.Compact(tried) {
		sums := map[string]*settle.Sum{}
		o := Window{WindowS: w, Amounts: map[string]Decimal{}}
		for _, e := range events {
			switch {
			case e.gap <= w:
				o.Repeats++
				if !e.deduped {
					o.Held++
				}
			case e.deduped:
				o.LetThrough++
				if sums[e.currency] == nil {
					sums[e.currency] = &settle.Sum{}
				}
				sums[e.currency].Add(e.amount)
			}
		}
		for currency, sum := range sums {
			o.Amounts[currency] = Decimal(sum.String())
		}
		a.Windows = append(a.Windows, o)
	}
	return a
}
