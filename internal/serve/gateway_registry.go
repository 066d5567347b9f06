package serve

import (
	"context"
	"fmt"

	"hapax/internal/gateway"
)

const (
	registryGroup = 500 // rows of one commit: others' commits come between
	registryTold  = 20  // broken rows that the log names one by one
)

// register enters the rows of registry files, in groups. Broken rows are listed in the log and skipped, as in the contract.
func (g *gatewayHouse) register(ctx context.Context, files []registry) error {
	for _, f := range files {
		if err := g.registerFile(ctx, &f); err != nil {
			return fmt.Errorf("registry file %s: %w", f.path, err)
		}
	}
	return nil
}

func (g *gatewayHouse) registerFile(ctx context.Context, f *registry) error {
	var entered, same, broken int64
	var group []gateway.Command
	flush := func() error {
		outcomes, err := g.intake.Enter(ctx, group...)
		for _, o := range outcomes {
			if o.Kind == gateway.Same {
				same++
			} else {
				entered++
			}
		}
		group = nil // the intake may still hold it where ctx ended
		return err
	}
	for row := range gateway.RegistryRows(f.text) {
		if fault := f.fault(&row); fault != "" {
			if broken++; broken <= registryTold {
				g.log.Warn("a row of a registry file is skipped", "file", f.path, "line", row.Line, "reason", fault)
			}
			continue
		}
		row.Register.File = true
		if group = append(group, &row.Register); len(group) == registryGroup {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	g.log.Info("a registry file was entered", "tenant", f.tenant, "source", f.source, "file", f.path, "entered", entered, "same", same, "skipped", broken)
	return nil
}

// fault is the row's own, or that it is of another source.
func (f *registry) fault(row *gateway.RegistryRow) string {
	switch {
	case row.Fault != "":
		return row.Fault
	case row.Register.Tenant != f.tenant:
		return "tenant"
	case row.Register.Source != f.source:
		return "source"
	}
	return ""
}
