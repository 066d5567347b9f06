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
	Complete   bool     `json:"complete" doc:"False where the tenant has more events than one request reads: then only its latest were."`
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

// judged is an event with its gap: whatever the window, it is measured against the same predecessor of its currency's book.
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
			events, whole, err := gaps(v, s.Scan*scanFactor, in, v.Head().Policy.ScopeStrict)
			if err != nil {
				return nil, err
			}
			return &adviceOut{Body: advise(info, whole, events)}, nil
		})
	})
}

// gaps returns the source's events that have a predecessor among the tenant's latest, most of them at most. The rule is that of settling the
// export (`hapax advise`): each currency is a book of its own, so an event is measured against the key's one before in the same currency, and one
// of another scope is no repeat where the policy is strict.
func gaps(v intake.View, most int, in *adviceIn, strict bool) (events []judged, whole bool, err error) {
	type book struct{ key, currency string }
	last := map[book]*entry{} // the event that the next one is measured against
	whole, _, err = ownEvents(v, in.Tenant, 0, math.MaxInt64, most, func(b *gateway.Brief, record []byte) error {
		if string(b.Source) != in.Source || b.Decision.Rejected() {
			return nil
		}
		e, err := eventOf(record)
		if err != nil {
			return err
		}
		at := book{e.Key, e.Currency}
		if p := last[at]; p != nil && (!strict || p.Scope == e.Scope) {
			amount, _ := settle.ParseAmount([]byte(e.Amount))
			events = append(events, judged{e.SeenAt - p.SeenAt, e.Decision.Deduped(), e.Currency, amount})
		}
		last[at] = e
		return nil
	})
	return events, whole, err
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
