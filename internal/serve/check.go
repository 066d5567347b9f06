package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"hapax/internal/anchor"
	"hapax/internal/auth"
	"hapax/internal/config"
)

// Check reads all that Run reads before it serves, and changes nothing: the gateway's files and anchor, certificate, keys of tokens, and what
// stands where the data folder is to be. The error joins all faults. A key set's address is asked once, as at a start.
func Check(ctx context.Context, c *config.Config) error {
	return errors.Join(CheckGateway(c), checkAnchor(c.Gateway.Anchor), checkTLS(c.TLS), checkAdmin(c.Admin), checkAuth(ctx, c), checkData(c))
}

func checkTLS(c config.TLS) error {
	if c.Cert == "" || c.Key == "" {
		return nil // Validate says that they belong together
	}
	if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	return nil
}

// checkAuth opens the keys as openAuth does, and closes them again. The data folder's own key is read where it is, not made.
func checkAuth(ctx context.Context, c *config.Config) error {
	if c.DevMode() {
		_, err := os.Lstat(filepath.Join(c.Data, auth.LocalKeyFile))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
			return nil // it is made at the start; checkData tells of a file in the folder's place
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options, err := authOptions(*c)
	if err != nil {
		return err
	}
	options.Log = slog.New(slog.DiscardHandler)
	_, err = auth.New(ctx, options)
	return err
}

func checkAnchor(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("gateway.anchor: %s is no regular file (%s)", path, info.Mode().Type())
	}
	if _, err := anchor.Read(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("gateway.anchor: %w", err)
	}
	return nil
}

// checkData looks at what stands where the data folder is, or will be made.
func checkData(c *config.Config) error {
	if c.Store == "memory" || c.Data == "" {
		return nil
	}
	for dir := filepath.Clean(c.Data); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("data: %s is not a folder", dir)
		case err == nil:
			if err := mayWrite(dir); err != nil {
				return fmt.Errorf("data: %s can't be written by this user: %w", dir, err)
			}
			return checkFolder(c.Data)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir):
			return fmt.Errorf("data: %w", err)
		case dir == filepath.Dir(dir):
			return nil
		}
	}
}
