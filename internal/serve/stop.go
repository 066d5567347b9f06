package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// stop drains: who asks whether the server is ready hears no, nobody new gets in, clients are told when to come back, what was
// sent is committed and answered, connections are closed; then the gateway, the engine and the store end. Until notice ends all but the readiness goes
// on as before.
func (s *server) stop(notice context.Context) error {
	s.health.Down("drain", "the server is going down")
	if s.config.Drain.Notice > 0 {
		s.log.Info("unready, and serving on until balancers have seen it", "notice", s.config.Drain.Notice.String())
	}
	<-notice.Done()
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Drain.Wait)
	defer cancel()
	s.door.Drain(s.config.Drain.Spread.Milliseconds())
	s.gateway.drain(s.config.Drain.Spread.Milliseconds())
	requests := make(chan error, 1)
	// Shutdown closes the listener at once and waits for requests; connections that became WebSockets aren't its own any more.
	go func() { requests <- shutdown(ctx, s.clients) }()
	s.ws.Drain(ctx)
	err := <-requests
	s.ws.Drain(ctx) // those who were just being let in
	err = errors.Join(err, shutdown(ctx, s.socket), s.removeSocket(), s.closeParts(ctx), shutdown(ctx, s.admin))
	if err == nil {
		s.log.Info("stopped")
	}
	return err
}

// shutdown ends a server, its requests given time until ctx ends.
func shutdown(ctx context.Context, h *http.Server) error {
	if h == nil {
		return nil
	}
	if err := h.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), h.Close())
	}
	return nil
}

// closeListeners closes all at once, for a server that could not start or can't go on.
func (s *server) closeListeners() error {
	var faults []error
	for _, h := range []*http.Server{s.clients, s.admin, s.socket} {
		if h != nil {
			faults = append(faults, h.Close())
		}
	}
	for _, l := range s.listeners {
		// Those that a server has closed already say so; that is no fault.
		_ = l.Close()
	}
	return errors.Join(append(faults, s.removeSocket())...)
}
