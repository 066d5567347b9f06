package serve

import (
	"context"
	"errors"
	"reflect"

	"hapax/internal/config"
)

// reload lets another configuration stand, whole or not at all. A bad one leaves the old one in force, is logged, and shows in
// /readyz's detail and a metric until one is taken.
func (s *server) reload(ctx context.Context) {
	err := s.tryReload(ctx)
	s.reloads.count(err)
	if err != nil {
		s.log.Error("the configuration was not taken; the old one stays in force", "error", err)
		s.health.Note("config", "the last reload was refused, the old configuration is in force: "+shortened(err.Error()))
		return
	}
	s.log.Info("the configuration was taken")
	s.health.Note("config", "")
}

// reloadAsAsked reloads as often as it is asked to, until ctx ends.
func (s *server) reloadAsAsked(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.host.Reloads:
			s.reload(ctx)
		}
	}
}

// shortened bounds what a detail shows; the log has all.
func shortened(text string) string {
	const most = 1000
	if len(text) > most {
		return text[:most] + " …"
	}
	return text
}

func (s *server) tryReload(ctx context.Context) error {
	if err := s.certificate.reload(); err != nil {
		return err
	}
	if s.host.Reload == nil {
		return errors.New("this server has nothing to load its configuration from")
	}
	c, err := s.host.Reload()
	if err != nil {
		return err
	}
	if s.gateway == nil {
		if c.Gateway.Configured() {
			return errNoBooks
		}
		return nil
	}
	p, err := planGateway(&c.Gateway)
	if err != nil {
		return err
	}
	if before, after := rest(s.config), rest(c); !reflect.DeepEqual(before, after) {
		s.log.Warn("what changed outside of the gateway's tenants takes a restart")
	}
	g := s.gateway
	if err := g.settle(ctx, p); err != nil {
		return err
	}
	// Rows that were entered stand: they are what a file says of keys, and sent again they change nothing.
	if err := g.register(ctx, p.registries); err != nil {
		return g.undo(ctx, err)
	}
	if err := g.stand(p); err != nil {
		return g.undo(ctx, err)
	}
	g.start()
	return nil
}

// rest is a configuration without what a reload changes.
func rest(c config.Config) config.Config {
	c.Gateway.Tenants, c.Gateway.Policy = nil, config.GatewayPolicy{}
	return c
}
