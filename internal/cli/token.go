package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"hapax/internal/auth"
	"hapax/internal/config"
)

const tokenHelp = `Sign a token by the key that a server of the same configuration believes, and print it: --config, the environment and --data are read as
"hapax serve" reads them. With auth.secret or auth.key_file it is signed by that, with auth.issuer and auth.audience where they are set. Where
no auth is configured, or with --dev, it is signed by the local key of the data folder: only a server on that folder takes it. That key is made
where the folder has none yet, and may be made before the server's first start.

PATTERN is the name of a room or of a tenant of the gateway, or a prefix ending in * ("*" is every one). RIGHTS are r (read),
w (write) or rw. Without --room and --tenant the token gives rw in every room and for every tenant; with either it gives
what was named. Whoever reads every tenant is an operator.

Where users choose names, name them literally: --grant-room, --grant-prefix, --grant-tenant and --grant-tenant-prefix take NAME=RIGHTS, in which a
* is a character like any other. They don't go with --room and --tenant.
 Whoever has a token is its actor until it expires.

Exit status: 0 printed, 3 the configuration is wrong, or tokens are signed by whoever holds the private keys of a key set, 64 wrong usage.`

type tokenFlags struct {
	config, actor  string
	rooms, tenants []string
	literal        [4][]string // by literalFlags
	ttl            time.Duration
}

func newToken() *cobra.Command {
	t := &tokenFlags{}
	c := &cobra.Command{
		Use:   "token --data DIR --actor NAME [--config FILE] [--room PATTERN=RIGHTS …] [--tenant PATTERN=RIGHTS …] [--ttl 24h]",
		Short: "Sign a token as a server of the same configuration takes it",
		Long:  tokenHelp,
		Example: `  hapax token --data ./data --actor ann
  hapax token --data ./data --actor bot --room 'orders/*=w' --room news=r --ttl 1h
  hapax token --config /etc/hapax/hapax.yaml --actor bookkeeper --tenant acme=rw`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&t.actor, "actor", "", "who the token speaks for: 1 to 128 bytes without control characters")
	// An array and not a slice: a room's name may hold commas.
	f.StringArrayVar(&t.rooms, "room", nil, "rights in a room or in those of a prefix, PATTERN=r, w or rw; may be given several times")
	f.StringArrayVar(&t.tenants, "tenant", nil, "rights for a tenant of the gateway or for those of a prefix, PATTERN=r, w or rw; may be given several times")
	for i, l := range literalFlags {
		f.StringArrayVar(&t.literal[i], l.name, nil, "rights for "+l.what+", taken literally, NAME=r, w or rw; may be given several times")
	}
	f.DurationVar(&t.ttl, "ttl", 24*time.Hour, "how long the token is valid")
	f.StringVar(&t.config, "config", os.Getenv("HAPAX_CONFIG"), "the server's YAML file; environment (HAPAX_…) and flags go over it")
	f.String("data", "", "the server's data folder")
	f.Bool("dev", false, "sign by the data folder's own key")
	_ = c.MarkFlagRequired("actor")
	return c
}

func (t *tokenFlags) run(cmd *cobra.Command) error {
	claims, err := t.claims()
	if err != nil {
		return err
	}
	signer, err := t.signer(cmd)
	if err != nil {
		return err
	}
	token, err := signer.SignClaims(claims, t.ttl, time.Now())
	if err != nil {
		return usage("%w", err)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), token); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	return nil
}

// signer is what makes tokens: a configured key, or the data folder's own.
func (t *tokenFlags) signer(cmd *cobra.Command) (interface {
	SignClaims(auth.Claims, time.Duration, time.Time) (string, error)
}, error) {
	c, err := config.Load(t.config, os.Environ(), cmd.Flags())
	if err != nil {
		return nil, &ExitError{Code: ExitConfig, Err: err}
	}
	if c.Dev && c.Auth.Configured() && !cmd.Flags().Changed("dev") {
		return nil, &ExitError{Code: ExitConfig, Err: c.Validate()}
	}
	if !c.DevMode() {
		s, err := auth.SignerOf(c.Auth)
		if err != nil {
			return nil, &ExitError{Code: ExitConfig, Err: err}
		}
		return s, nil
	}
	if !cmd.Flags().Changed("data") && t.config == "" && os.Getenv("HAPAX_DATA") == "" {
		return nil, usage(`required flag(s) "data" not set: the server's data folder, or --config FILE`)
	}
	key, err := auth.OpenLocalKey(c.Data)
	if err != nil {
		return nil, &ExitError{Code: ExitConfig, Err: err}
	}
	return key, nil
}

// literalFlags name rights literally.
var literalFlags = [4]struct {
	name, what string
	tenant     bool
	form       auth.Form
}{
	{"grant-room", "a room", false, auth.Name}, {"grant-prefix", "the rooms whose names begin with NAME", false, auth.Prefix},
	{"grant-tenant", "a tenant", true, auth.Name}, {"grant-tenant-prefix", "the tenants whose names begin with NAME", true, auth.Prefix},
}

func (t *tokenFlags) claims() (auth.Claims, error) {
	c := auth.Claims{Actor: t.actor}
	for i, l := range literalFlags {
		for _, text := range t.literal[i] {
			if l.tenant {
				g, err := auth.ParseLiteralTenant(text, l.form)
				if err != nil {
					return c, usage("--%s: %w", l.name, err)
				}
				c.Tenants = append(c.Tenants, g)
				continue
			}
			g, err := auth.ParseLiteral(text, l.form)
			if err != nil {
				return c, usage("--%s: %w", l.name, err)
			}
			c.Rooms = append(c.Rooms, g)
		}
	}
	if len(c.Rooms)+len(c.Tenants) == 0 {
		return parseClaims(t.actor, t.rooms, t.tenants)
	}
	if len(t.rooms)+len(t.tenants) > 0 {
		return c, usage("--room and --tenant take patterns, the --grant flags literal names: a token has one or the other")
	}
	return c, nil
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
