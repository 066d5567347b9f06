package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// SocketName is the socket's file in the data folder.
const SocketName = "admin.sock"

// checkpointWait bounds a checkpoint as its client waits for it; it links files, so minutes are plenty.
const checkpointWait = 5 * time.Minute

// Checkpoint writes a copy of the store, as of one commit, into a folder that doesn't exist yet. Its folders get the mode, its files that without
// the bits for running; 0: for the server's own user only.
type Checkpoint func(ctx context.Context, dir string, mode os.FileMode) error

// ListenSocket opens the socket of a data folder. The caller holds the folder's lock, so one that is there is left
// from a process that died. Only the server's own user may connect.
func ListenSocket(data string) (net.Listener, error) {
	path, err := socketPath(data)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("admin socket: %w", err), l.Close())
	}
	return l, nil
}

// maxSocketPath is what the shortest of our systems takes as a socket's path.
const maxSocketPath = 100

// socketPath is the socket's path, relative where the whole one is too long for the system.
func socketPath(data string) (string, error) {
	path, err := filepath.Abs(filepath.Join(data, SocketName))
	if err != nil {
		return "", fmt.Errorf("admin socket: %w", err)
	}
	if len(path) <= maxSocketPath {
		return path, nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("admin socket: %w", err)
	}
	if relative, err := filepath.Rel(wd, path); err == nil && len(relative) <= maxSocketPath {
		return relative, nil
	}
	return "", fmt.Errorf("admin socket: the path %s is longer than a socket's may be (%d bytes)", path, maxSocketPath)
}

// AcceptLoss enters into the gateway's log that somebody accepts what it lost, and says that in words.
type AcceptLoss func(ctx context.Context, by, reason string) (string, error)

// Tasks are what can be asked for over the socket. A nil one can't.
type Tasks struct {
	Checkpoint Checkpoint
	AcceptLoss AcceptLoss
	Console    string // URL of the page that a link opens; "": none does
}

// SocketHandler serves POST /checkpoint?dir=&mode=: 201 once the copy is there, 400 for a wrong folder, 500 with the reason; and POST
// /accept-loss?by=&reason=: 200 with what was accepted, 409 with why nothing was; and POST /console: 200 with the address of the page that a
// link opens, 409 where none does.
func SocketHandler(t Tasks) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accept-loss", t.serveAcceptLoss)
	mux.HandleFunc("POST /console", func(w http.ResponseWriter, _ *http.Request) {
		if t.Console == "" {
			http.Error(w, "this server has auth configured: its console takes tokens, and no link", http.StatusConflict)
			return
		}
		_, _ = w.Write([]byte(t.Console)) // whoever has gone reads nothing
	})
	checkpoint := t.Checkpoint
	mux.HandleFunc("POST /checkpoint", func(w http.ResponseWriter, r *http.Request) {
		dir := r.URL.Query().Get("dir")
		if !filepath.IsAbs(dir) {
			http.Error(w, "dir must be the absolute path of a folder that doesn't exist yet", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), checkpointWait)
		defer cancel()
		mode, err := strconv.ParseUint(cmp.Or(r.URL.Query().Get("mode"), "0"), 8, 9)
		if err != nil {
			http.Error(w, "mode must be octal digits, as of chmod", http.StatusBadRequest)
			return
		}
		if err := checkpoint(ctx, dir, os.FileMode(mode)); err != nil {
			http.Error(w, strings.TrimSpace(err.Error()), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	return mux
}

func (t Tasks) serveAcceptLoss(w http.ResponseWriter, r *http.Request) {
	if t.AcceptLoss == nil {
		http.Error(w, "this server has no gateway", http.StatusConflict)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkpointWait)
	defer cancel()
	text, err := t.AcceptLoss(ctx, r.URL.Query().Get("by"), r.URL.Query().Get("reason"))
	if err != nil {
		http.Error(w, strings.TrimSpace(err.Error()), http.StatusConflict)
		return
	}
	// Whoever has gone reads nothing; what was accepted is in the log.
	_, _ = w.Write([]byte(text))
}
