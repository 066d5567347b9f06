package gatewayapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
)

type reportIn struct {
	Currency string `query:"currency" required:"true" pattern:"^[A-Z]{3}$"`
}

type reportOut struct {
	ContentType string `header:"Content-Type"`
	Record      int64  `header:"Hapax-Record" doc:"The number of the last record that the report counts."`
	Body        []byte `contentType:"application/json"`
}

// ProofInfo is the last full proof of the log.
type ProofInfo struct {
	Proven bool     `json:"proven" doc:"There has been one."`
	OK     bool     `json:"ok"`
	At     int64    `json:"at,omitempty" doc:"Unix ms."`
	Record int64    `json:"record,omitempty" doc:"The number of the last record that it covers."`
	Events int64    `json:"events,omitempty" doc:"Judged again."`
	Head   int64    `json:"head" doc:"The number of the log's last record now."`
	Issues []string `json:"issues,omitempty" doc:"Of a failed one: the first faults."`
}

type proofOut struct{ Body ProofInfo }

// report serves what tenants share, and operators see.
func (s *server) report(api huma.API) {
	forbidden := []int{http.StatusForbidden}
	handle(s, api, huma.Operation{
		OperationID: "report", Method: http.MethodGet, Path: "/v1/report", Errors: forbidden,
		Summary:     "The contract's report of one currency, over all tenants.",
		Description: "The bytes that settling the export of the same record gives. For operators: tokens that read every tenant.",
	}, func(ctx context.Context, in *reportIn) (*reportOut, error) {
		if err := mayOperate(ctx); err != nil {
			return nil, err
		}
		return view(ctx, s, func(v intake.View) (*reportOut, error) {
			r, err := intake.Report(v, strings.ToUpper(in.Currency))
			if err != nil {
				return nil, err
			}
			return &reportOut{ContentType: "application/json", Record: v.Head().Number, Body: r.Bytes()}, nil
		})
	})
	handle(s, api, huma.Operation{
		OperationID: "proof", Method: http.MethodGet, Path: "/v1/proof", Errors: forbidden,
		Summary: "The last full proof of the log: when, over how many, with what result. For operators.",
	}, func(ctx context.Context, _ *struct{}) (*proofOut, error) {
		if err := mayOperate(ctx); err != nil {
			return nil, err
		}
		return view(ctx, s, func(v intake.View) (*proofOut, error) {
			h := v.Head()
			p := h.Proof
			return &proofOut{Body: ProofInfo{
				Proven: p.At > 0, OK: p.OK, At: p.At, Record: p.Number, Events: p.Events, Head: h.Number, Issues: p.Issues,
			}}, nil
		})
	})
}
