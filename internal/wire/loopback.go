package wire

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// LoopbackHost says whether a Host, or the host of an Origin, names this machine itself. Any other name that leads here may be
// a rebinding of somebody's DNS: a page of that name would pass for one of the server's own.
func LoopbackHost(hostport string) bool {
	u := url.URL{Host: hostport}
	host := u.Hostname()
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// SameOrigin says whether a request came from a page of the very server that it is for: one Origin, of the request's scheme, host
// and port. A request without an Origin is no page's.
func SameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return false
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return strings.EqualFold(origins[0], scheme+"://"+r.Host)
}
