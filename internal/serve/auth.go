package serve

import (
	"context"
	"fmt"
	"log/slog"

	"hapax/internal/auth"
	"hapax/internal/config"
)

// openAuth reads the keys whose tokens are believed: those configured, or, in dev, the data folder's own.
func openAuth(ctx context.Context, c config.Config, log *slog.Logger) (auth.Verifier, error) {
	options, err := authOptions(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	options.Log = log
	tokens, err := auth.New(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return tokens, nil
}

func authOptions(c config.Config) (auth.Options, error) {
	if !c.DevMode() {
		return auth.FromConfig(c.Auth)
	}
	key, err := auth.OpenLocalKey(c.Data)
	if err != nil {
		return auth.Options{}, err
	}
	return key.Options(), nil
}
