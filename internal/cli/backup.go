package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"hapax/internal/auth"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
	"hapax/internal/wire/admin"
)

func newBackup() *cobra.Command {
	var data, mode string
	cmd := &cobra.Command{
		Use:   "backup --data DIR TO",
		Short: "Copy a data folder as of one commit, also while a server holds it",
		Long: `Write a copy of the data folder into TO, a folder that is empty or missing. It holds all that was acknowledged when the
command began. A copy that was cut off is never taken for a whole one. "hapax verify --data TO" reads it.

Exit status: 0 done, 3 the folder is of a newer version, 64 wrong usage or TO isn't empty, 70 it can't be read or written.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := outputFolder("TO", args[0], true); err != nil {
				return err
			}
			m, err := folderMode(mode)
			if err != nil {
				return err
			}
			err = pebble.Backup(cmd.Context(), data, args[0], pebble.Options{Mode: m})
			if errors.Is(err, store.ErrLocked) {
				err = admin.AskCheckpoint(cmd.Context(), data, args[0], m)
			}
			if err != nil {
				return storeExit(err)
			}
			return said(cmd, "backed up into %s\n", args[0])
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the data folder")
	addMode(cmd, &mode)
	return cmd
}

// addMode lets the mode of what is written be chosen: others than the owner read it only where somebody says so.
func addMode(cmd *cobra.Command, mode *string) {
	cmd.Flags().StringVar(mode, "mode", "0700", "the mode of the folder that is written, as of chmod; its files have it without the bits for running")
}

// folderMode reads a mode of a folder that its owner can use.
func folderMode(text string) (os.FileMode, error) {
	mode, err := strconv.ParseUint(text, 8, 9)
	if err != nil || mode&0o700 != 0o700 {
		return 0, usage("--mode %q: want octal digits from 0700 to 0777", text)
	}
	return os.FileMode(mode), nil
}

func newRestore() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "restore --data DIR FROM",
		Short: "Make a data folder out of a backup, with a new epoch",
		Long: `Make DIR, a folder that is empty or missing, out of the backup FROM, which isn't changed. The store keeps its server id and gets
a new epoch, so that every client that saw what came after the backup replaces its view, and sends again what it still holds.

Exit status: 0 done, 3 the backup is of a newer version, 64 wrong usage or DIR isn't empty, 70 it can't be read or written.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := outputFolder("--data", data, true); err != nil {
				return err
			}
			if err := pebble.Restore(cmd.Context(), args[0], data, pebble.Options{}); err != nil {
				return storeExit(err)
			}
			return said(cmd, "restored into %s; clients get a new epoch. A backup holds no local key: where auth isn't configured the server makes a new one, and tokens "+
				"signed by the old one end; copy %s from the old folder to keep them\n", data, auth.LocalKeyFile)
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "the folder to make")
	return cmd
}

func said(cmd *cobra.Command, format string, args ...any) error {
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	return nil
}
