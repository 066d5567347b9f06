package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// request is what an HTTP step asks.
type request struct {
	method, url, token string
	query              map[string]any
	header             map[string]any
	body               any // a text as it is, anything else as JSON
}

// web keeps no connections: a server that was killed would leave broken ones.
var web = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// do returns the answer as an object of status, header and body.
func (r *request) do(ctx context.Context) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var body io.Reader
	switch b := r.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		body = strings.NewReader(string(raw))
	}
	q := url.Values{}
	for name, v := range r.query {
		q.Set(name, fmt.Sprint(v))
	}
	target := r.url
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, v := range r.header {
		lines, several := v.([]any) // one line each
		if !several {
			lines = []any{v}
		}
		req.Header.Del(name)
		for _, l := range lines {
			req.Header.Add(name, fmt.Sprint(l))
		}
	}
	resp, err := web.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	a := map[string]any{"status": json.Number(fmt.Sprint(resp.StatusCode)), "body": string(raw)}
	header := map[string]any{}
	for name := range resp.Header {
		header[strings.ToLower(name)] = resp.Header.Get(name)
	}
	a["header"] = header
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		var parsed any
		if err := decode(raw, &parsed); err != nil {
			return nil, fmt.Errorf("%s: %w", raw, err)
		}
		a["body"] = parsed
	}
	return a, nil
}
