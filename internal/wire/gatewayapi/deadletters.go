package gatewayapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// Delivery is an outbox row: an accepted event that its destination has not taken yet.
type Delivery struct {
	ID         string `json:"id" doc:"The event's, and the Idempotency-Key that its destination gets."`
	Tenant     string `json:"tenant"`
	Source     string `json:"source"`
	Key        string `json:"key"`
	State      string `json:"state" enum:"waiting,held,dead" doc:"Held: an earlier event of its key is still to be delivered."`
	Reason     string `json:"reason,omitempty" doc:"What the last try said."`
	Since      int64  `json:"since" doc:"Unix ms at which it was accepted, or last replayed."`
	Attempts   int    `json:"attempts" doc:"Since then."`
	Sends      int64  `json:"sends" doc:"Ever."`
	LastSentAt int64  `json:"lastSentAt,omitempty" doc:"Unix ms of the last try."`
	DueAt      int64  `json:"dueAt,omitempty" doc:"Unix ms of the next try."`
}

func deliveryOf(d *gateway.Delivery) Delivery {
	o := Delivery{
		ID: d.ID, Tenant: d.Name.Tenant, Source: d.Name.Source, Key: d.Name.Key, State: "waiting", Reason: d.Reason, Since: d.Since,
		Attempts: d.Attempts, Sends: d.Sends, LastSentAt: d.LastMs,
	}
	switch {
	case d.State == gateway.Dead:
		o.State = "dead"
	case d.Due == gateway.Held:
		o.State = "held"
	default:
		o.DueAt = d.Due
	}
	return o
}

type deadIn struct {
	Tenant string `query:"tenant" maxLength:"256" doc:"Absent: all that the token may see."`
	Source string `query:"source" maxLength:"256" doc:"With tenant."`
	After  string `query:"after" maxLength:"64" doc:"The next of the page before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// DeadPage is a part of a listing.
type DeadPage struct {
	DeadLetters []Delivery `json:"deadLetters" doc:"By tenant, then in the order in which they were accepted."`
	Next        string     `json:"next,omitempty" doc:"To be given as after, to go on; absent at the end."`
}

type deadOut struct{ Body DeadPage }

func (s *server) deadLetters(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "listDeadLetters", Method: http.MethodGet, Path: "/v1/deadletters",
		Summary: "Events that their destination would not take, with the reason.",
	}, func(ctx context.Context, in *deadIn) (*deadOut, error) {
		if in.Source != "" && in.Tenant == "" {
			return nil, problem(codeBadRequest, "source goes with tenant")
		}
		if in.Tenant != "" {
			if err := mayRead(ctx, in.Tenant); err != nil {
				return nil, err
			}
		}
		return view(ctx, s, func(v intake.View) (*deadOut, error) { return s.deadPage(ctx, v, in) })
	})
}

// deadPage goes through the tenants that the session may see, in each by number. A cursor is the number of the last row told, and so names
// its tenant too.
func (s *server) deadPage(ctx context.Context, v intake.View, in *deadIn) (*deadOut, error) {
	tenants, err := readable(ctx, v, in.Tenant, in.Source)
	if err != nil {
		return nil, err
	}
	q := query{"deadletters", in.Tenant, in.Source}
	out, last, from := &deadOut{Body: DeadPage{DeadLetters: []Delivery{}}}, int64(0), int64(0)
	if in.After != "" {
		if last, err = s.cursors.open(q, in.After); err != nil {
			return nil, err
		}
		if tenants, from, err = resume(v, tenants, last); err != nil {
			return nil, err
		}
	}
	for _, tenant := range tenants {
		rows, err := v.DeadLetters(tenant, in.Source, from, in.Limit-len(out.Body.DeadLetters)+1)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if len(out.Body.DeadLetters) == in.Limit {
				out.Body.Next = s.cursors.seal(q, last)
				return out, nil
			}
			last = rows[i].Number
			out.Body.DeadLetters = append(out.Body.DeadLetters, deliveryOf(&rows[i]))
		}
		from = 0 // the next tenant's numbers have nothing to do with this one's
	}
	return out, nil
}

// resume returns the tenants from that of the last row told on, and where to go on in the first of them.
func resume(v intake.View, tenants []string, last int64) ([]string, int64, error) {
	e, err := newReading(v).event(last)
	if err != nil || e == nil {
		return nil, 0, err
	}
	for len(tenants) > 0 && tenants[0] < e.Tenant {
		tenants = tenants[1:]
	}
	if len(tenants) > 0 && tenants[0] == e.Tenant {
		return tenants, last, nil
	}
	return tenants, 0, nil
}

// readable returns the tenants of a listing, rising: the one named, which must have the source named, or all that the session may see.
func readable(ctx context.Context, v intake.View, tenant, source string) ([]string, error) {
	if tenant != "" {
		_, err := sourcesOf(v, tenant, source)
		return []string{tenant}, err
	}
	all, err := v.Sources()
	var tenants []string
	for _, n := range all { // by tenant
		if sessionOf(ctx).CanReadTenant(n.Tenant) && (len(tenants) == 0 || tenants[len(tenants)-1] != n.Tenant) {
			tenants = append(tenants, n.Tenant)
		}
	}
	return tenants, err
}
