package admin

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
)

// maxAnswer bounds what is read of an answer: it is one line.
const maxAnswer = 4 << 10

// AskCheckpoint asks the server that holds a data folder to write a checkpoint into dir, and waits until it is whole. It
// fails where no server answers on the folder's socket, or the server refuses: the text says why.
func AskCheckpoint(ctx context.Context, data, dir string) error {
	path, err := socketPath(data)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://admin/checkpoint?dir="+url.QueryEscape(dir), nil)
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return fmt.Errorf("admin socket: the folder is in use, and who uses it doesn't answer: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("admin socket: %w", err)
	}
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("the server: %s", strings.TrimSpace(string(text)))
	}
	return nil
}
