package cli

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"hapax/internal/settlement"
)

// outputFile refuses what a command must not write into: all that exists and is no regular file. Nothing is opened.
func outputFile(what, path string) error {
	if err := settlement.CheckOutput(path); err != nil {
		return usage("%s: %w", what, err)
	}
	return nil
}

// outputFolder refuses a path for a folder that exists and is none, and one that holds something where it has to be empty.
func outputFolder(what, path string, empty bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if _, link := os.Lstat(path); link == nil {
			return usage("%s: %s is a link that leads nowhere", what, path)
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return usage("%s: %s lies within a file", what, path)
		}
		return nil
	case err != nil:
		return usage("%s: %w", what, err)
	case !info.IsDir():
		return usage("%s: %s is no folder and is left as it is", what, path)
	case !empty:
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return usage("%s: %w", what, err)
	}
	if len(entries) > 0 {
		return usage("%s: %s isn't empty: it holds %s", what, path, shown(entries[0].Name()))
	}
	return nil
}
