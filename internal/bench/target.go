package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"hapax/internal/auth"
	"hapax/internal/config"
	"hapax/internal/serve"
)

// Target is a server under load.
type Target struct {
	URL   string // of its WebSocket
	key   *auth.LocalKey
	stop  context.CancelFunc
	ended chan error
}

// tokenLife is longer than any measurement.
const tokenLife = 24 * time.Hour

// startTarget runs a whole server of this program on loopback, its data under dir.
func startTarget(dir string) (*Target, error) {
	c := config.Default()
	c.Data, c.Listen, c.Admin.Listen = filepath.Join(dir, "server"), "127.0.0.1:0", ""
	// The generator is no herd, and one machine's worth of load is what is to be measured, not the limits.
	c.Limits.ConnectionsPerSecond, c.Limits.ConnectionsBurst = 1_000_000, 1_000_000
	c.Limits.ActorConnections = 1_000_000 // all idle ones are one actor's
	c.Rate.Sends, c.Rate.Burst = 1e6, 1_000_000
	c.Drain = config.Drain{Spread: time.Second, Wait: 30 * time.Second, Grace: time.Second}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	t := &Target{stop: stop, ended: make(chan error, 1)}
	started := make(chan serve.Addresses, 1)
	go func() {
		t.ended <- serve.Run(ctx, c, serve.Host{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Started: func(a serve.Addresses) { started <- a }})
	}()
	select {
	case a := <-started:
		t.URL = "ws://" + a.Clients + "/v1/ws"
	case err := <-t.ended:
		stop()
		return nil, fmt.Errorf("the server to be measured doesn't start: %w", err)
	}
	var err error
	if t.key, err = auth.OpenLocalKey(c.Data); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// Token signs for an actor with every right.
func (t *Target) Token(actor string) (string, error) {
	return t.key.Sign(actor, []auth.Grant{auth.All}, tokenLife, time.Now())
}

func (t *Target) close() error {
	t.stop()
	return <-t.ended
}
