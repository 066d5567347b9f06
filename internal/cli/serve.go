package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hapax/internal/config"
	"hapax/internal/serve"
	"hapax/internal/store"
	"hapax/internal/telemetry"
)

func newServe() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the room server",
		Long: `Run the room server: WebSocket on /v1/ws, HTTP on /v1/rooms, an admin address for /readyz and /metrics.

Without any auth configured it serves this machine only, with a key of its own in the data folder, for which
"hapax token" signs. With gateway.tenants in the file it also takes deliveries of upstreams on /v1/ingest. SIGTERM or SIGINT
drains; a second one ends at once. SIGHUP loads the file again and lets its tenants stand, whole or not at all.

Exit status: 0 after a drain, 1 where the last proof of the gateway's log failed, or ended by a second signal, 3 the
configuration is wrong, or the data folder is in use or of a newer version, 70 the store is damaged or failed (start again: only then it is known what the disk kept).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd, file, checkGateway)
			if err != nil {
				return err
			}
			signals, reloads := make(chan os.Signal, 2), make(chan os.Signal, 1)
			signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
			signal.Notify(reloads, syscall.SIGHUP)
			defer signal.Stop(signals)
			defer signal.Stop(reloads)
			logger := telemetry.NewLogger(cmd.ErrOrStderr(), c.Log.Level, c.Log.Format)
			log.SetFlags(0)
			log.SetOutput(telemetry.Libraries(logger))
			for _, w := range serve.Warnings(&c) {
				logger.Warn("the configuration works and shouldn't be so", "warning", w)
			}
			return serveExit(serve.Run(cmd.Context(), c, serve.Host{
				Log:     logger,
				Signals: signals,
				Reloads: reloads,
				Reload:  func() (config.Config, error) { return loadConfig(cmd, file, checkGateway) },
				Started: func(a serve.Addresses) { greet(cmd.OutOrStdout(), a, c.Data) },
			}))
		},
	}
	addConfigFlags(cmd, &file)
	return cmd
}

func addConfigFlags(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", os.Getenv("HAPAX_CONFIG"), "YAML file; environment (HAPAX_…) and flags go over it")
	config.AddFlags(cmd.Flags())
	// As hapax audit has it.
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "anchor" {
			name = "gateway-anchor"
		}
		return pflag.NormalizedName(name)
	})
}

// check looks at what a configuration names beyond itself; nil: nothing.
type check func(context.Context, *config.Config) error

// checkGateway is what serve checks before it starts; the rest it finds by opening it.
func checkGateway(_ context.Context, c *config.Config) error { return serve.CheckGateway(c) }

// loadConfig reads and checks the configuration, all faults at once; they exit with ExitConfig.
func loadConfig(cmd *cobra.Command, file string, also check) (config.Config, error) {
	c, err := config.Load(file, os.Environ(), cmd.Flags())
	if err == nil {
		err = c.Validate()
		if also != nil {
			err = errors.Join(err, also(cmd.Context(), &c))
		}
	}
	if err != nil {
		return c, &ExitError{Code: ExitConfig, Err: err}
	}
	return c, nil
}

// greet tells people on a terminal where to connect. Programs read that from the log, where the link that opens the console never stands: it is
// the one line that is printed for them too.
func greet(out io.Writer, a serve.Addresses, data string) {
	err := error(nil)
	if isTerminal(out) {
		err = serve.Greeting(out, a, data)
	} else if a.Dev {
		_, err = fmt.Fprintf(out, "console: %s\n", a.Console)
	}
	if err != nil {
		slog.Debug("the console's address can't be printed", "error", err)
	}
}

// serveExit gives each end of a server its exit status and a line that says what to do.
func serveExit(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, serve.ErrKilled), errors.Is(err, serve.ErrUnproved):
		return &ExitError{Code: ExitFailed, Err: err}
	case errors.Is(err, store.ErrLocked):
		return &ExitError{Code: ExitConfig, Err: fmt.Errorf("%w: another hapax serves this folder; stop it, or give another --data", err)}
	case errors.Is(err, store.ErrNewer):
		return &ExitError{Code: ExitConfig, Err: fmt.Errorf("%w: nothing was changed; run the version that wrote it, or a later one", err)}
	case errors.Is(err, serve.ErrConfig):
		return &ExitError{Code: ExitConfig, Err: err}
	case errors.Is(err, store.ErrFull):
		return &ExitError{Code: ExitMachine, Err: fmt.Errorf("%w: nothing was changed; make room and start again", err)}
	case errors.Is(err, store.ErrDamage):
		return &ExitError{Code: ExitMachine, Err: fmt.Errorf("%w: nothing was changed; look with \"hapax verify\", or restore a backup into another folder", err)}
	}
	return &ExitError{Code: ExitMachine, Err: err}
}
