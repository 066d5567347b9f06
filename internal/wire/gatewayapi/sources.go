package gatewayapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
)

// SourceInfo is what stands for a source.
type SourceInfo struct {
	Tenant      string `json:"tenant"`
	Source      string `json:"source"`
	WindowS     int64  `json:"windowS" doc:"Replay window in seconds of keys that have none of their own."`
	Registry    string `json:"registry" enum:"open,required"`
	Scope       string `json:"scope,omitempty" enum:"schema,wire" doc:"Of events that name none, and of keys that register themselves."`
	LRUCapacity int64  `json:"lruCapacity"`
	Forward     bool   `json:"forward" doc:"Accepted events go to a destination."`
	Events      int64  `json:"events" doc:"Events ever, whatever their decision."`
	Waiting     int64  `json:"waiting" doc:"Accepted events that their destination has not taken yet."`
	Dead        int64  `json:"dead" doc:"Dead letters."`
	Held        bool   `json:"held,omitempty" doc:"Events wait, and the configuration names no destination any more."`
	RestsUntil  int64  `json:"restsUntil,omitempty" doc:"Unix ms: the destination is down and is given rest; the next try comes then."`
}

type sourcesOut struct {
	Body struct {
		Sources []SourceInfo `json:"sources"`
	}
}

func (s *server) sources(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "listSources", Method: http.MethodGet, Path: "/v1/sources",
		Summary: "The sources that the token may see, by tenant and name.",
	}, func(ctx context.Context, _ *struct{}) (*sourcesOut, error) {
		return view(ctx, s, func(v intake.View) (*sourcesOut, error) {
			out := &sourcesOut{}
			out.Body.Sources = []SourceInfo{}
			all, err := v.Sources()
			if err != nil {
				return nil, err
			}
			counts, err := v.Outbox()
			if err != nil {
				return nil, err
			}
			policy := v.Head().Policy
			stuck := s.stuck()
			for _, n := range all {
				if sessionOf(ctx).CanReadTenant(n.Tenant) {
					out.Body.Sources = append(out.Body.Sources, sourceInfo(&n, counts, stuck, policy.BlockWindowS))
				}
			}
			return out, nil
		})
	})
}

func (s *server) stuck() []Stuck {
	if s.Stuck == nil {
		return nil
	}
	return s.Stuck()
}

func sourceInfo(n *intake.NamedSource, counts []intake.OutboxCount, stuck []Stuck, window int64) SourceInfo {
	i := SourceInfo{
		Tenant: n.Tenant, Source: n.Name, WindowS: n.WindowS, Registry: "required", Scope: n.Scope.String(), LRUCapacity: n.LRUCapacity,
		Forward: n.Forward, Events: n.Events,
	}
	if n.WindowS == 0 {
		i.WindowS = window
	}
	if n.Open {
		i.Registry = "open"
	}
	for _, c := range counts {
		if c.Tenant == n.Tenant && c.Source == n.Name {
			i.Waiting, i.Dead = c.Waiting, c.Dead
		}
	}
	for _, t := range stuck {
		if t.Tenant == n.Tenant && t.Source == n.Name {
			i.Held, i.RestsUntil = t.Held, t.RestsUntil
		}
	}
	return i
}
