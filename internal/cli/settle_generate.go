package cli

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"hapax/internal/settlement"
	"hapax/internal/settlement/workload"
)

func newSettleGenerate() *cobra.Command {
	var dir string
	s := workload.Shape{}
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Make a large folder for measuring: repeats, late rows, rejects in known shares",
		Long: `Make policy.tsv, dedupe.tsv and events.tsv: 30 % repeats with gaps around the window, 1 % rejects, 1 % rows up to an
hour late, names of 20 to 40 bytes. The same seed gives the same bytes. 20 million events take about 2.9 GB.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usage("settle generate needs --out DIR")
			}
			if s.Events == 0 || s.Keys == 0 || s.Tenants == 0 {
				return usage("--events, --keys and --tenants must be at least 1")
			}
			if err := outputFolder("--out", dir, false); err != nil {
				return err
			}
			for _, name := range []string{settlement.PolicyFile, settlement.DedupeFile, settlement.EventsFile} {
				if err := outputFile("--out", filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if err := workload.Write(ctx, dir, s); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "out", "", "folder to make")
	flags.Uint64Var(&s.Events, "events", 20_000_000, "rows of events.tsv")
	flags.Uint64Var(&s.Keys, "keys", 2_000_000, "registered keys")
	flags.Uint64Var(&s.Tenants, "tenants", 100, "tenants, of three sources each")
	flags.Uint64Var(&s.Seed, "seed", 1, "what the rows are made from")
	flags.BoolVar(&s.Shuffle, "shuffle", false, "rows in an order that has nothing to do with their times")
	return cmd
}
