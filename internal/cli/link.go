package cli

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"hapax/internal/auth"
	"hapax/internal/wire/admin"
)

func newLink() *cobra.Command {
	var data, address string
	var rotate bool
	c := &cobra.Command{
		Use:   "link --data DIR [--rotate]",
		Short: "Print the link that opens the console of a server on this machine",
		Long: `Print the link by which a browser is let into the console of a server that runs without auth configured. Whoever has the
link can sign in as anybody, so it goes to nobody else. It stays good, over restarts, until it is rotated; a browser that has opened it keeps
a cookie that ends with it.

The server that holds the folder is asked for its address. Where none answers, the link is for --address.`,
		Example: `  hapax link --data ./data
  hapax link --data ./data --rotate`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := admin.AskConsole(cmd.Context(), data)
			if errors.Is(err, admin.ErrNoAnswer) {
				at, err = address, nil
			}
			if err != nil {
				return &ExitError{Code: ExitConfig, Err: err}
			}
			u, err := url.Parse(at)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usage("--address: %q is no address like http://127.0.0.1:7480/", at)
			}
			open := auth.OpenLink
			if rotate {
				open = auth.RotateLink
			}
			link, err := open(data)
			if err != nil {
				return &ExitError{Code: ExitConfig, Err: err}
			}
			u.Path, u.Fragment = "/", "s="+link.Secret()
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), u); err != nil {
				return &ExitError{Code: ExitMachine, Err: err}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&data, "data", "", "the server's data folder")
	f.BoolVar(&rotate, "rotate", false, "make a new link first: the one before, and all cookies that came of it, open nothing any more")
	f.StringVar(&address, "address", "http://127.0.0.1:7480/", "where the console is, if no server answers on the folder's socket")
	_ = c.MarkFlagRequired("data")
	return c
}
