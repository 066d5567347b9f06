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
	From   int64  `query:"from" minimum:"0" maximum:"9007199254740991" doc:"Unix ms; absent: a day before to."`
	To     int64  `query:"to" minimum:"0" maximum:"9007199254740991" doc:"Unix ms, not included; absent: now."`
	Step   int64  `query:"step" minimum:"10000" maximum:"31536000000" doc:"Length of a bucket in ms, rounded up to 10,000; absent: a hundredth of the time. At most 1,000 buckets."`
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
	From     int64    `json:"from" doc:"As asked for, rounded down to 10,000 ms."`
	To       int64    `json:"to" doc:"Rounded up."`
	Step     int64    `json:"step"`
	Complete bool     `json:"complete" doc:"False where more was entered than one request reads: ask again, or see since."`
	Since    int64    `json:"since" doc:"Unix ms from which on the counts are whole, once complete."`
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
			err := s.countDecisions(ctx, v, in, d)
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
	d.From, d.To, d.Step = down(d.From), up(d.To), up(d.Step)
	if d.Step == 0 {
		d.Step = up((d.To - d.From + 99) / 100)
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

// countDecisions fills the buckets: from the running tally where that reaches back far enough, else from the log itself.
func (s *server) countDecisions(ctx context.Context, v intake.View, in *decisionsIn, d *Decisions) error {
	may := s.countable(ctx, in)
	s.tally.mu.Lock()
	defer s.tally.mu.Unlock()
	whole, err := s.tally.update(v, s.Now(), s.Scan*scanFactor)
	if err != nil {
		return err
	}
	if d.From < s.tally.since && d.To < s.Now()-tallySpan/2 {
		return s.countLog(v, in, d, may)
	}
	d.Since = max(d.From, s.tally.since)
	d.Complete = whole && d.Since == d.From
	for c, n := range s.tally.cells {
		if c.at >= d.From && c.at < d.To && may(c.tenant, c.source) {
			b := &d.Buckets[(c.at-d.From)/d.Step]
			for _, decision := range decisionOrder {
				*b.of(decision) += n[decision]
			}
		}
	}
	return nil
}

// countable tells which sources a request counts.
func (s *server) countable(ctx context.Context, in *decisionsIn) func(tenant, source string) bool {
	session, known := sessionOf(ctx), map[string]bool{}
	return func(tenant, source string) bool {
		if in.Tenant != "" && tenant != in.Tenant || in.Source != "" && source != in.Source {
			return false
		}
		may, asked := known[tenant]
		if !asked {
			may = session.CanReadTenant(tenant)
			known[tenant] = may
		}
		return may
	}
}

// countLog reads the records of the time itself, the latest where they are more than one request reads.
func (s *server) countLog(v intake.View, in *decisionsIn, d *Decisions, may func(tenant, source string) bool) (err error) {
	count := func(b *gateway.Brief, _ []byte) error {
		if b.At >= d.From && b.At < d.To && may(string(b.Tenant), string(b.Source)) {
			*d.Buckets[(b.At-d.From)/d.Step].of(b.Decision)++
		}
		return nil
	}
	if in.Tenant != "" {
		d.Complete, d.Since, err = ownEvents(v, in.Tenant, d.From, d.To, s.Scan*scanFactor, count)
		return err
	}
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
	return part.each(v, count)
}

// of is the count of a decision.
func (b *Bucket) of(d gateway.Decision) *int64 {
	switch d {
	case gateway.Accept:
		return &b.Accept
	case gateway.DuplicateDone:
		return &b.DuplicateDone
	case gateway.DuplicatePending:
		return &b.DuplicatePending
	case gateway.Mismatch:
		return &b.Mismatch
	case gateway.BadAmount:
		return &b.BadAmount
	}
	return &b.UnknownKey
}
