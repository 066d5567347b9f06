package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hapax/internal/auth"
)

func newToken() *cobra.Command {
	var data, actor string
	var rooms, tenants []string
	var ttl time.Duration
	c := &cobra.Command{
		Use:   "token --data DIR --actor NAME [--room PATTERN=RIGHTS …] [--tenant PATTERN=RIGHTS …] [--ttl 24h]",
		Short: "Sign a token for a server that runs with --dev",
		Long: `Sign a token by the local key of a data folder and print it. A server that runs with --dev on that folder
takes it; no other does. The key is made where the folder has none yet, and may be made before the server's first start.

PATTERN is the name of a room or of a tenant of the gateway, or a prefix ending in * ("*" is every one). RIGHTS are r (read),
w (write) or rw. Without --room and --tenant the token gives rw in every room and for every tenant; with either it gives
what was named. Whoever reads every tenant is an operator. Whoever has a token is its actor until it expires.`,
		Example: `  hapax token --data ./data --actor ann
  hapax token --data ./data --actor bot --room 'orders/*=w' --room news=r --ttl 1h
  hapax token --data ./data --actor bookkeeper --tenant acme=rw`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			claims, err := parseClaims(actor, rooms, tenants)
			if err != nil {
				return err
			}
			key, err := auth.OpenLocalKey(data)
			if err != nil {
				return &ExitError{Code: ExitConfig, Err: err}
			}
			token, err := key.SignClaims(claims, ttl, time.Now())
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
	f.StringArrayVar(&tenants, "tenant", nil, "rights for a tenant of the gateway or for those of a prefix, PATTERN=r, w or rw; may be given several times")
	f.DurationVar(&ttl, "ttl", 24*time.Hour, "how long the token is valid")
	_ = c.MarkFlagRequired("data")
	_ = c.MarkFlagRequired("actor")
	return c
}

func parseClaims(actor string, rooms, tenants []string) (auth.Claims, error) {
	if len(rooms) == 0 && len(tenants) == 0 {
		return auth.Everything(actor), nil
	}
	c := auth.Claims{Actor: actor}
	for _, p := range rooms {
		g, err := auth.ParseGrant(p)
		if err != nil {
			return c, usage("--room: %w", err)
		}
		c.Rooms = append(c.Rooms, g)
	}
	for _, p := range tenants {
		g, err := auth.ParseTenantGrant(p)
		if err != nil {
			return c, usage("--tenant: %w", err)
		}
		c.Tenants = append(c.Tenants, g)
	}
	return c, nil
}
