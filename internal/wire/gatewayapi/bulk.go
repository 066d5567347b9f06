package gatewayapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

const (
	bulkBytes = 8 << 20 // some 100,000 rows; a registry file takes more
	bulkGroup = 500     // rows of one commit: others' commits come between
	bulkLines = 10_000  // rows that are answered one by one; of more only those that were skipped
)

type bulkIn struct {
	Tenant  string `path:"tenant" maxLength:"256"`
	Source  string `path:"source" maxLength:"256"`
	RawBody []byte `contentType:"text/tab-separated-values"`
}

// BulkRow is what became of one row.
type BulkRow struct {
	Line   int64  `json:"line" doc:"Counted from 1, skipped lines included."`
	Result string `json:"result" enum:"registered,same,skipped"`
	Reason string `json:"reason,omitempty" doc:"Of a skipped row: line, columns, or the name of the first failing column."`
}

// Bulk is what became of a text of rows.
type Bulk struct {
	Registered int64     `json:"registered"`
	Same       int64     `json:"same" doc:"Stood already."`
	Skipped    int64     `json:"skipped"`
	Rows       []BulkRow `json:"rows" doc:"By line; beyond 10,000 rows skipped ones only, and at most 10,000 of those."`
}

type bulkOut struct{ Body Bulk }

func (s *server) bulk(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "registerMany", Method: http.MethodPost, Path: "/v1/registry/{tenant}/{source}", MaxBodyBytes: bulkBytes,
		Errors:  []int{http.StatusForbidden, http.StatusRequestEntityTooLarge},
		Summary: "Register many keys by rows of the contract's dedupe columns; good rows are entered, broken ones answered by line.",
	}, s.registerMany)
}

// registerMany enters good rows in groups. Where a commit fails, the rows before it stand: the same text may be sent again.
func (s *server) registerMany(ctx context.Context, in *bulkIn) (*bulkOut, error) {
	if err := mayWrite(ctx, in.Tenant); err != nil {
		return nil, err
	}
	if err := s.Books.View(ctx, func(v intake.View) error {
		_, err := sourcesOf(v, in.Tenant, in.Source)
		return err
	}); err != nil {
		return nil, err
	}
	if err := gateway.CheckRegistryFile(in.RawBody); err != nil {
		return nil, problem(codeBadRequest, "the body: "+err.Error())
	}
	out := &bulkOut{Body: Bulk{Rows: []BulkRow{}}}
	var group []gateway.RegistryRow
	for row := range gateway.RegistryRows(in.RawBody) {
		if fault := in.fault(&row); fault != "" {
			out.Body.tell(row.Line, false, fault)
			continue
		}
		if group = append(group, row); len(group) == bulkGroup {
			if err := s.registerGroup(ctx, group, &out.Body); err != nil {
				return nil, err
			}
			group = nil // its commands point into it
		}
	}
	if err := s.registerGroup(ctx, group, &out.Body); err != nil {
		return nil, err
	}
	slices.SortFunc(out.Body.Rows, func(a, b BulkRow) int { return cmp.Compare(a.Line, b.Line) })
	return out, nil
}

// fault is the row's own, or that it is of another source.
func (in *bulkIn) fault(row *gateway.RegistryRow) string {
	switch {
	case row.Fault != "":
		return row.Fault
	case row.Register.Tenant != in.Tenant:
		return "tenant"
	case row.Register.Source != in.Source:
		return "source"
	}
	return ""
}

// registerGroup enters rows in one commit.
func (s *server) registerGroup(ctx context.Context, rows []gateway.RegistryRow, told *Bulk) error {
	commands := make([]command, len(rows))
	for i := range rows {
		rows[i].Register.By = sessionOf(ctx).Actor
		commands[i] = &rows[i].Register
	}
	outcomes, err := s.Books.Enter(ctx, commands...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.Kind != gateway.Done && o.Kind != gateway.Same {
			return nothing() // the source has no settings
		}
		told.tell(rows[i].Line, o.Kind == gateway.Same, "")
	}
	return nil
}

func (b *Bulk) tell(line int64, same bool, fault string) {
	row := BulkRow{Line: line, Result: "registered", Reason: fault}
	switch {
	case fault != "":
		row.Result = "skipped"
		b.Skipped++
	case same:
		row.Result = "same"
		b.Same++
	default:
		b.Registered++
	}
	if len(b.Rows) < bulkLines || fault != "" && len(b.Rows) < 2*bulkLines {
		b.Rows = append(b.Rows, row)
	}
}
