package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hapax/internal/config"
	"hapax/internal/serve"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check or print the server's configuration",
		Long: `Check or print the server's configuration: defaults, file, environment and flags together.

Exit status: 0 it is right, 3 it is wrong, 64 wrong usage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var strict bool
	check := configCommand("check", "Tell all that is wrong with the configuration; exit status 3 if anything is", serve.Check, func(cmd *cobra.Command, c *config.Config) error {
		warnings := serve.Warnings(c)
		for _, w := range warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", shownLines(w))
		}
		if strict && len(warnings) > 0 {
			return &ExitError{Code: ExitConfig, Err: fmt.Errorf("--strict: %d warnings", len(warnings))}
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "the configuration is right")
		return err
	})
	check.Flags().BoolVar(&strict, "strict", false, "take warnings for faults: secrets that others may read, that are short or all zeros, fields that are not signed")
	cmd.AddCommand(
		check,
		configCommand("print", "Print the configuration as YAML: defaults, file, environment and flags together; secrets are masked", nil, func(cmd *cobra.Command, c *config.Config) error {
			text, err := c.Print()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		}),
	)
	return cmd
}

// configCommand loads the configuration, checks it, and does something with it.
func configCommand(name, short string, also check, then func(*cobra.Command, *config.Config) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd, file, also)
			if err != nil {
				return err
			}
			if err := then(cmd, &c); err != nil {
				if exit := new(ExitError); errors.As(err, &exit) {
					return err
				}
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	addConfigFlags(cmd, &file)
	return cmd
}
