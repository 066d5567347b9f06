package serve

import (
	"context"
	"os"

	"hapax/internal/wire/admin"
)

// checkpoint is the store's, where it has files to copy.
func (s *server) checkpoint() (admin.Checkpoint, bool) {
	c, can := s.store.(interface {
		Checkpoint(ctx context.Context, dir string, mode os.FileMode) error
	})
	if !can {
		return nil, false
	}
	return c.Checkpoint, true
}

// acceptLoss is the gateway's, where there is one.
func (s *server) acceptLoss() admin.AcceptLoss {
	if s.gateway == nil {
		return nil
	}
	return func(ctx context.Context, by, reason string) (string, error) {
		lost, err := s.gateway.acceptLoss(ctx, by, reason)
		return lost.Told(), err
	}
}
