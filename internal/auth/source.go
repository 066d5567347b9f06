package auth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

// fromFile reads a key set from a file each time anew.
func fromFile(path string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return bounded(f, path)
	}
}

// fromAddress fetches a key set. The answer must be 200 from the very address: where keys come from is the operator's word, not
// a redirect's.
func fromAddress(address string, client *http.Client) func(context.Context) ([]byte, error) {
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answered %s; a key set must come with 200 and without redirects", req.URL.Redacted(), resp.Status)
		}
		return bounded(resp.Body, req.URL.Redacted())
	}
}

func bounded(r io.Reader, name string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxKeySet+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxKeySet {
		return nil, fmt.Errorf("%s has more than %d bytes", name, MaxKeySet)
	}
	return raw, nil
}
