package serve

import (
	"context"

	"hapax/internal/wire/admin"
)

// checkpoint is the store's, where it has files to copy.
func (s *server) checkpoint() (admin.Checkpoint, bool) {
	c, can := s.store.(interface {
		Checkpoint(ctx context.Context, dir string) error
	})
	if !can {
		return nil, false
	}
	return c.Checkpoint, true
}
