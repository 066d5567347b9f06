package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoAnswer says that nobody answers on a folder's socket.
var ErrNoAnswer = errors.New("the folder is in use, and who uses it doesn't answer")

// maxAnswer bounds what is read of an answer: it is one line.
const maxAnswer = 4 << 10

// AskCheckpoint asks the server that holds a data folder to write a checkpoint into dir, and waits until it is whole. It
// fails where no server answers on the folder's socket, or the server refuses: the text says why.
// mode is as of Checkpoint.
func AskCheckpoint(ctx context.Context, data, dir string, mode os.FileMode) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	_, err = ask(ctx, data, "/checkpoint?"+url.Values{"dir": {dir}, "mode": {strconv.FormatUint(uint64(mode), 8)}}.Encode())
	return err
}

// AskAcceptLoss asks the server that holds a data folder to enter into the log that somebody accepts what it lost, and returns what that was, in
// words. It fails as AskCheckpoint does, also where nothing is lost.
func AskAcceptLoss(ctx context.Context, data, by, reason string) (string, error) {
	return ask(ctx, data, "/accept-loss?"+url.Values{"by": {by}, "reason": {reason}}.Encode())
}

// AskConsole asks the server that holds a data folder for the address of the page that its link opens. It fails as AskCheckpoint does, also where
// the server takes no link.
func AskConsole(ctx context.Context, data string) (string, error) {
	return ask(ctx, data, "/console")
}

// ask asks for something over the folder's socket.
func ask(ctx context.Context, data, what string) (string, error) {
	path, err := socketPath(data)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://admin"+what, nil)
	if err != nil {
		return "", fmt.Errorf("admin socket: %w", err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return "", fmt.Errorf("admin socket: %w: %w", ErrNoAnswer, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("admin socket: %w", err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return "", fmt.Errorf("the server: %s", strings.TrimSpace(string(text)))
	}
	return string(text), nil
}
