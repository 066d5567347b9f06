package cli

import (
	"fmt"

	"github.com/spf13/cobra"

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
	cmd.AddCommand(
		configCommand("check", "Tell all that is wrong with the configuration; exit status 3 if anything is", serve.Check, func(cmd *cobra.Command, _ string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "the configuration is right")
			return err
		}),
		configCommand("print", "Print the configuration as YAML: defaults, file, environment and flags together; secrets are masked", nil, func(cmd *cobra.Command, text string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		}),
	)
	return cmd
}

// configCommand loads the configuration, checks it, and does something with its text.
func configCommand(name, short string, also check, then func(cmd *cobra.Command, text string) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd, file, also)
			if err != nil {
				return err
			}
			text, err := c.Print()
			if err == nil {
				err = then(cmd, text)
			}
			if err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	addConfigFlags(cmd, &file)
	return cmd
}
