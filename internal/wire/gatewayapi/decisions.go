package gatewayapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// buckets bounds the steps of one answer: as many as a chart has pixels.
const buckets = 1000

// scanFactor is how many times more records than a listing a chart or an advice reads: it reads them in a row.
const scanFactor = 20

type decisionsIn struct {
	Tenant string `query:"tenant" maxLength:"256" doc:"Absent: all that the token may see."`
	Source string `query:"source" maxLength:"256" doc:"With tenant."`
	From   int64  `query:"from" minimum:"0" doc:"Unix ms; absent: a day before to."`
	To     int64  `query:"to" minimum:"0" doc:"Unix ms, not included; absent: now."`
	Step   int64  `query:"step" minimum:"1000" maximum:"31536000000" doc:"Length of a bucket in ms; absent: a hundredth of the time. At most 1,000 buckets."`
}

// Bucket counts the decisions of a time.
type Bucket struct {
	At               int64 `json:"at" doc:"Unix ms at which it begins."`
	Accept           int64 `json:"accept"`
	DuplicateDone    int64 `json:"duplicateDone"`
	DuplicatePending int64 `json:"duplicatePending"`
	Mismatch         int64 `json:"mismatch"`
	BadAmount        int64 `json:"badAmount"`
	UnknownKey       int64 `json:"unknownKey"`
}

// Decisions are counted over time.
type Decisions struct {
	From     int64    `json:"from"`
	To       int64    `json:"to"`
	Step     int64    `json:"step"`
	Complete bool     `json:"complete" doc:"False where more was entered than one request reads: then only the latest of it is counted, from since on."`
	Since    int64    `json:"since" doc:"Unix ms from which on the counts are whole."`
	Buckets  []Bucket `json:"buckets" doc:"One for each step, in order."`
}

type decisionsOut struct{ Body Decisions }

func (s *server) decisions(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "decisions", Method: http.MethodGet, Path: "/v1/decisions",
		Summary: "Decisions over time, by when they were entered.",
	}, func(ctx context.Context, in *decisionsIn) (*decisionsOut, error) {
		if in.Source != "" && in.Tenant == "" {
			return nil, problem(codeBadRequest, "source goes with tenant")
		}
		if in.Tenant != "" {
			if err := mayRead(ctx, in.Tenant); err != nil {
				return nil, err
			}
		}
		d, err := s.emptyBuckets(in)
		if err != nil {
			return nil, err
		}
		return scan(ctx, s, func(v intake.View) (*decisionsOut, error) {
			if in.Tenant != "" {
				if _, err := sourcesOf(v, in.Tenant, in.Source); err != nil {
					return nil, err
				}
			}
			err := s.count(ctx, v, in, d)
			return &decisionsOut{Body: *d}, err
		})
	})
}

func (s *server) emptyBuckets(in *decisionsIn) (*Decisions, error) {
	d := &Decisions{From: in.From, To: in.To, Step: in.Step}
	if d.To == 0 {
		d.To = s.Now() + 1
	}
	if d.From == 0 {
		d.From = max(0, d.To-(24*time.Hour).Milliseconds())
	}
	if d.To <= d.From {
		return nil, problem(codeBadRequest, "to lies not after from")
	}
	if d.Step == 0 {
		d.Step = max(1000, (d.To-d.From+99)/100)
	}
	n := (d.To - d.From + d.Step - 1) / d.Step
	if n > buckets {
		return nil, problem(codeBadRequest, "more than 1,000 buckets: take a longer step")
	}
	d.Buckets = make([]Bucket, n)
	for i := range d.Buckets {
		d.Buckets[i].At = d.From + int64(i)*d.Step
	}
	return d, nil
}

// count fills the buckets.
func (s *server) count(ctx context.Context, v intake.View, in *decisionsIn, d *Decisions) error {
	part, err := spanOf(v, d.From, d.To, s.Scan*scanFactor)
	if err != nil {
		return err
	}
	d.Complete, d.Since = part.whole, d.From
	if !part.whole {
		if d.Since, err = atOf(v, part.after+1); err != nil {
			return err
		}
	}
	session := sessionOf(ctx)
	mine := map[string]bool{}
	return part.each(v, func(e *entry) {
		if in.Tenant != "" && e.Tenant != in.Tenant || in.Source != "" && e.Source != in.Source || e.at < d.From || e.at >= d.To {
			return
		}
		may, known := mine[e.Tenant]
		if !known {
			may = session.CanReadTenant(e.Tenant)
			mine[e.Tenant] = may
		}
		if may {
			d.Buckets[(e.at-d.From)/d.Step].add(e.Decision)
		}
	})
}

func (b *Bucket) add(d gateway.Decision) {
	switch d {
	case gateway.Accept:
		b.Accept++
	case gateway.DuplicateDone:
		b.DuplicateDone++
	case gateway.DuplicatePending:
		b.DuplicatePending++
	case gateway.Mismatch:
		b.Mismatch++
	case gateway.BadAmount:
		b.BadAmount++
	case gateway.UnknownKey:
		b.UnknownKey++
	}
}
