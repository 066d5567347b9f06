package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hapax/internal/auth"
)

func newToken() *cobra.Command {
	var data, actor string
	var rooms []string
	var ttl time.Duration
	c := &cobra.Command{
		Use:   "token --data DIR --actor NAME [--room PATTERN=RIGHTS …] [--ttl 24h]",
		Short: "Sign a token for a server that runs with --dev",
		Long: `Sign a token by the local key of a data folder and print it. A server that runs with --dev on that folder
takes it; no other does. The key is made where the folder has none yet, and may be made before the server's first start.

PATTERN is a room's name, or a prefix ending in * ("*" is every room). RIGHTS are r (read), w (write) or rw.
Without --room the token gives rw in every room. Whoever has a token is its actor until it expires.`,
		Example: `  hapax token --data ./data --actor ann
  hapax token --data ./data --actor bot --room 'orders/*=w' --room news=r --ttl 1h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			grants, err := parseGrants(rooms)
			if err != nil {
				return usage("--room: %w", err)
			}
			key, err := auth.OpenLocalKey(data)
			if err != nil {
				return &ExitError{Code: ExitConfig, Err: err}
			}
			token, err := key.Sign(actor, grants, ttl, time.Now())
			if err != nil {
				return usage("%w", err)
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), token); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&data, "data", "", "the server's data folder")
	f.StringVar(&actor, "actor", "", "who the token speaks for: 1 to 128 bytes without control characters")
	// An array and not a slice: a room's name may hold commas.
	f.StringArrayVar(&rooms, "room", nil, "rights in a room or in those of a prefix, PATTERN=r, w or rw; may be given several times")
	f.DurationVar(&ttl, "ttl", 24*time.Hour, "how long the token is valid")
	_ = c.MarkFlagRequired("data")
	_ = c.MarkFlagRequired("actor")
	return c
}

func parseGrants(patterns []string) ([]auth.Grant, error) {
	if len(patterns) == 0 {
		return []auth.Grant{auth.All}, nil
	}
	grants := make([]auth.Grant, 0, len(patterns))
	for _, p := range patterns {
		g, err := auth.ParseGrant(p)
		if err != nil {
			return nil, err
		}
		grants = append(grants, g)
	}
	return grants, nil
}
