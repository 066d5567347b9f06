package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hapax/internal/serve"
)

// warnOfSecrets writes a line for each file of a client command's secret that every user of the machine may read, and for a store's key of zeros.
// The server's own are config check's.
func warnOfSecrets(cmd *cobra.Command) {
	warn := func(flag, text string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "hapax: warning: --%s: %s\n", flag, shown(text))
	}
	if f := cmd.Flags().Lookup("token"); f != nil {
		if file, isFile := strings.CutPrefix(word(f.Value.String(), "HAPAX_TOKEN"), "@"); isFile {
			for _, w := range serve.LooseFile(file) {
				warn("token", w)
			}
		}
	}
	if f := cmd.Flags().Lookup("store-key"); f != nil && f.Value.String() != "" {
		for _, w := range serve.LooseFile(f.Value.String()) {
			warn("store-key", w)
		}
		if text, err := os.ReadFile(f.Value.String()); err == nil && strings.Trim(strings.TrimSpace(string(text)), "0") == "" && len(text) > 0 {
			warn("store-key", f.Value.String()+" is all zeros: bodies sealed with it can be read by everybody")
		}
	}
}
