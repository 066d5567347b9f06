package serve

import (
	"fmt"
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
