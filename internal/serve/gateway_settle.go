package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hapax/internal/config"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/room"
	"hapax/internal/wire/ingest"
)

// settleWait bounds what a start or a reload enters; a store that takes longer is failing.
const settleWait = time.Minute

// settle enters policy and settings into the log, where they aren't what stands.
func (g *gatewayHouse) settle(ctx context.Context, p *plan) error {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	var ruled bool
	var settings []gateway.Command
	if err := g.intake.View(ctx, func(v intake.View) (err error) {
		ruled = v.Head().Ruled
		if err = p.fits(v); err == nil {
			settings, err = p.settings(v)
		}
		return err
	}); err != nil {
		return err
	}
	if len(p.sources) == 0 {
		g.serving.Store(ruled)
		return nil
	}
	commands := append([]gateway.Command{&gateway.SetPolicy{Policy: p.policy}}, settings...)
	outcomes, err := g.intake.Enter(ctx, commands...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.Kind != gateway.Done && o.Kind != gateway.Same {
			return g.undo(ctx, fmt.Errorf("%w: a source got its first event meanwhile (setting %d)", ErrConfig, i))
		}
	}
	g.serving.Store(true)
	return nil
}

// settings are the commands that let a plan's sources stand, beside what stands now.
func (p *plan) settings(v intake.View) (commands []gateway.Command, err error) {
	all, err := v.Sources()
	if err != nil {
		return nil, err
	}
	for _, s := range p.sources {
		var standing *gateway.Source
		for i := range all {
			if all[i].Tenant == s.Source.Tenant && all[i].Name == s.Source.Name {
				standing = &all[i].Source
			}
		}
		commands = append(commands, &gateway.SetSource{Tenant: s.Source.Tenant, Source: s.Source.Name, Settings: s.SettingsBeside(standing)})
	}
	return commands, nil
}

// undo lets the settings stand again that stood before a reload that came too late.
func (g *gatewayHouse) undo(ctx context.Context, cause error) error {
	before := g.standing.Load()
	if before == nil {
		return cause
	}
	var commands []gateway.Command
	err := g.intake.View(ctx, func(v intake.View) (err error) { commands, err = before.settings(v); return err })
	if err == nil {
		_, err = g.intake.Enter(ctx, commands...)
	}
	return errors.Join(cause, err)
}

// unmade says that a source or its tenant isn't there yet and can't be made under its name: one that ends in "*" passes for a prefix in a token's
// pattern, and no URL can name dots alone or one slash.
func unmade(s *ingest.Source, standing []intake.NamedSource) error {
	tenant, source := room.Makeable(s.Tenant), s.Name != "." && s.Name != ".." && s.Name != "/"
	for _, n := range standing {
		tenant, source = tenant || n.Tenant == s.Tenant, source || n.Tenant == s.Tenant && n.Name == s.Name
	}
	switch {
	case !tenant:
		return fmt.Errorf("%w: gateway.tenants: no tenant is made whose name ends in * or is ., .. or /: %q", ErrConfig, s.Tenant)
	case !source:
		return fmt.Errorf("%w: gateway.tenants: no source is made under the name %q", ErrConfig, s.Name)
	}
	return nil
}

// fits says what of a plan can't stand beside what the log holds.
func (p *plan) fits(v intake.View) error {
	head := v.Head()
	if len(p.sources) > 0 && head.Ruled && head.Policy != p.policy {
		h := head.Policy
		return fmt.Errorf("%w: gateway.policy: the store was made with block_window %ds, scope_strict %t, lru_min_hits %d, and its books rest on that: "+
			"set these again, or start with another data folder", ErrConfig, h.BlockWindowS, h.ScopeStrict, h.LRUMinHits)
	}
	standing, err := v.Sources()
	if err != nil {
		return err
	}
	var faults []error
	for _, s := range p.sources {
		if fault := unmade(&s.Source, standing); fault != nil {
			faults = append(faults, fault)
		}
		for _, n := range standing {
			if n.Tenant == s.Source.Tenant && n.Name == s.Source.Name && n.Events > 0 && n.Parts != s.Settings().Parts {
				faults = append(faults, fmt.Errorf("%w: %s.key: the source has events whose keys have %d parts; their number can't change",
					ErrConfig, config.SourcePath(n.Tenant, n.Name), n.Parts))
			}
		}
	}
	return errors.Join(faults...)
}
