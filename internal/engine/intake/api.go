package intake

import (
	"context"
	"errors"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

// Errors of an intake. None of them says whether the commands were stored: whoever gets one sends them again with the same keys.
var (
	ErrUnavailable = errors.New("intake: the store can't answer now")
	ErrDraining    = errors.New("intake: the server is going down")
	ErrBusy        = errors.New("intake: as much is waiting as may be")
)

// ErrDamage says that a View read a row that isn't as it was written.
var ErrDamage = store.ErrDamage

// View is a consistent reading of what has been synced.
type View = store.BooksView

// What a View returns.
type (
	NamedSource = store.NamedSource
	NamedKey    = store.NamedKey
	NamedBook   = store.NamedBook
	OutboxCount = store.OutboxCount
)

// Books is the gateway as the wire, the forwarder and the proof see it.
type Books interface {
	// Enter carries commands out in their order, in one commit, and returns once it is synced. Either all are stored or none.
	// The errors are those of this package, and ctx's: then the commands may still be stored, and the caller leaves them as they are.
	Enter(ctx context.Context, commands ...gateway.Command) ([]gateway.Outcome, error)
	// View calls f with a consistent reading.
	View(ctx context.Context, f func(View) error) error
	// EraseBodies is store.Books.EraseBodies.
	EraseBodies(ctx context.Context, tenant, source string, before int64) (int64, error)
	// Queued returns a channel that gets a value when a commit may have made an outbox row due. It holds one value, so that a hint given
	// while its only reader is at work isn't lost; further ones are dropped.
	Queued() <-chan struct{}
	// Failed is closed once the store can't go on.
	Failed() <-chan struct{}
}
