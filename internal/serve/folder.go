package serve

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"hapax/internal/auth"
	"hapax/internal/wire/admin"
)

// checkFolder refuses to make a store among other people's files: a --data that was mistyped would otherwise be served
// empty, and look healthy. A folder that holds a store, or what is left of one, or only the dev key, is the store's to judge.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // not there yet, or the store says what is wrong with it
	}
	ours := []string{"format", "db", "lock", "incomplete"}
	besides := []string{auth.LocalKeyFile, auth.LinkFile, admin.SocketName, "lost+found"}
	foreign := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case slices.Contains(ours, name):
			return nil
		case foreign == "" && !slices.Contains(besides, name) && !strings.HasPrefix(name, auth.LocalKeyFile+".") && !strings.HasPrefix(name, auth.LinkFile+".") && !strings.HasPrefix(name, "."):
			foreign = name
		}
	}
	if foreign != "" {
		return fmt.Errorf("%w: %s holds no store but other files (%s): name an empty folder, or one that doesn't exist", ErrConfig, dir, foreign)
	}
	return nil
}

// tellOpenFolder says that others may look into a folder that is there, and how to shut it. A folder that the store makes is for its own user; the mode
// of one that somebody else made, or an earlier version, is his to change: chmod changes what the store knows its folder by.
func tellOpenFolder(dir string, log *slog.Logger) {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return
	}
	log.Warn("other users of this machine may look into the data folder, and read messages where its files let them", "folder", dir, "mode",
		info.Mode().Perm().String(), "shut_it", fmt.Sprintf("chmod 700 %s", dir), "with_its_files", fmt.Sprintf("chmod -R go-rwx %s", dir),
		"price", "none for the folder alone; with its files a new epoch begins at the next start, and every client loads its rooms anew")
}
