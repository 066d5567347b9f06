//go:build js

package ws

import (
	"net/http"

	"hapax/client/transport"
)

// unopened: a browser tells no page why a connection failed.
func unopened(address string, err error) error {
	return &transport.DialError{URL: redact(address), Cause: transport.Other, Err: err}
}

func plainRefused(*http.Response, string) bool { return false }
