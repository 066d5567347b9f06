package ws

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"hapax/client/transport"
)

// Check implements transport.Checker: an URL with a host, by ws, wss, http or https.
func (Dialer) Check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the address, which may hold a secret
		}
	case u.Scheme != "ws" && u.Scheme != "wss" && u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("the scheme %q is none of ws, wss, http, https", u.Scheme)
	case u.Hostname() == "":
		err = errors.New("it names no host")
	default:
		return nil
	}
	return &transport.DialError{
		URL: redact(address), Cause: transport.BadURL, Err: err, Advice: "a server's address looks like ws://127.0.0.1:7480/v1/ws",
	}
}

// refused is the error of a server that answered with another status than the one that begins a WebSocket.
func refused(address string, resp *http.Response) error {
	e := &transport.DialError{
		URL: redact(address), Cause: transport.Status, Status: resp.StatusCode, Err: fmt.Errorf("the server answered %s", resp.Status),
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		e.Advice = "is the path right? A server's is /v1/ws"
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		e.Advice = "it wants a sign-in before a WebSocket is opened, as a proxy may"
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		e.Advice = "it sends elsewhere, to " + redact(resp.Header.Get("Location")) + ": give that address"
	case http.StatusOK:
		e.Advice = "a web server, but no WebSocket at this path; a server's is /v1/ws"
	}
	return e
}
