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
	u, err := url.Parse(origins[0])
	return err == nil && u.Scheme == scheme && HostOf(u, origins[0]) && SameHost(scheme, u.Host, r.Host)
}

// HostOf says whether an Origin is scheme, host and port alone.
func HostOf(u *url.URL, origin string) bool { return strings.EqualFold(origin, u.Scheme+"://"+u.Host) }

// SameHost says whether two hosts, with or without ports, are one as an origin of a scheme has it: the default port is none.
func SameHost(scheme, a, b string) bool {
	standard := map[string]string{"http": ":80", "https": ":443"}[scheme]
	bare := func(host string) string { return strings.ToLower(strings.TrimSuffix(host, standard)) }
	return bare(a) == bare(b)
}
