package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate tells all that is wrong, joined into one error, or nil.
func (c *Config) Validate() error {
	return errors.Join(slices.Concat(c.checkPlaces(), c.checkAuth(), c.checkLimits(), c.checkTimes(), c.checkGateway())...)
}

type faults []error

func (f *faults) unless(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

func (c *Config) checkPlaces() (f faults) {
	f.unless(c.Data != "" || c.Store == "memory", "data: a folder is needed")
	f.unless(c.Store == "pebble" || c.Store == "memory", "store: %q is neither pebble nor memory", c.Store)
	f.checkAddress("listen", c.Listen)
	if c.Admin.Listen != "" {
		f.checkAddress("admin.listen", c.Admin.Listen)
	}
	f.checkAdmin(c)
	for _, o := range c.Origins {
		_, err := NormalOrigin(o)
		f.unless(err == nil, "origins: %w", err)
	}
	for _, p := range c.Proxies.Trusted {
		_, err := ParseNetwork(p)
		f.unless(err == nil, "proxies.trusted: %q is neither an address nor a network like 10.0.0.0/8", p)
	}
	f.unless(c.Proxies.Header == "X-Forwarded-For" || c.Proxies.Header == "Forwarded", "proxies.header: %q is neither X-Forwarded-For nor Forwarded", c.Proxies.Header)
	f.unless((c.TLS.Cert == "") == (c.TLS.Key == ""), "tls: cert and key belong together")
	f.unless(slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level), "log.level: %q is none of debug, info, warn, error", c.Log.Level)
	f.unless(c.Log.Format == "json" || c.Log.Format == "text", "log.format: %q is neither json nor text", c.Log.Format)
	return f
}

// checkAdmin keeps strangers from the admin address: its metrics and health say much, and its profiles all.
func (f *faults) checkAdmin(c *Config) {
	a := c.Admin
	if a.Listen == "" {
		return
	}
	local := Loopback(a.Listen)
	f.unless(local || a.TokenFile != "" || a.ClientCA != "",
		"admin.listen: %s is reachable from other machines: set admin.token_file or admin.client_ca, or listen on 127.0.0.1", a.Listen)
	f.unless(local || !a.Pprof, "admin.pprof: profiles show the memory of the process: listen on 127.0.0.1, or take it away")
	f.unless(a.ClientCA == "" || c.TLS.Cert != "", "admin.client_ca: certificates of clients need TLS: set tls.cert and tls.key")
}

// NormalOrigin is an origin as browsers write it: scheme and host in lower case, without a default port, nothing behind. It fails for what no
// browser sends.
func NormalOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	scheme := ""
	if err == nil {
		scheme = strings.ToLower(u.Scheme)
	}
	switch {
	case err != nil || u.Hostname() == "" || scheme != "https" && scheme != "http":
		return "", fmt.Errorf("%q is not an origin like https://chat.example", s)
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return "", fmt.Errorf("%q has more than scheme, host and port, and so matches no origin", s)
	case strings.ContainsAny(u.Hostname(), "*?"):
		return "", fmt.Errorf("%q is a pattern: name each origin", s)
	case strings.IndexFunc(u.Host, func(r rune) bool { return r > 127 }) >= 0:
		return "", fmt.Errorf("%q has letters that browsers write in another form: give the host as xn--…", s)
	}
	port := u.Port()
	if strings.HasSuffix(u.Host, ":") {
		return "", fmt.Errorf("%q has an empty port", s)
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return "", fmt.Errorf("%q has no port from 1 to 65535", s)
	} else if port != "" {
		port = ":" + strconv.Itoa(n)
	}
	if port == map[string]string{"http": ":80", "https": ":443"}[scheme] {
		port = ""
	}
	host, ok := normalHost(strings.ToLower(u.Hostname()))
	if !ok {
		return "", fmt.Errorf("%q has an address that browsers write in another form: give it as 192.0.2.1 or [2001:db8::1], without a zone", s)
	}
	return scheme + "://" + host + port, nil
}

// normalHost is a host as browsers write it, false where none does: they take one that ends in a number for an IPv4 address
// (https://url.spec.whatwg.org/#ends-in-a-number-checker), and write IPv6 addresses without zone and dots.
func normalHost(host string) (string, bool) {
	a, err := netip.ParseAddr(host)
	switch {
	case strings.Contains(host, ":"):
		return "[" + a.String() + "]", err == nil && a.Zone() == "" && !a.Is4In6()
	case err == nil:
		return host, true
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	_, hex := strings.CutPrefix(last, "0x")
	return host, last != "" && strings.Trim(last, "0123456789") != "" && !hex
}

func (f *faults) checkAddress(key, address string) {
	_, port, err := net.SplitHostPort(address)
	f.unless(err == nil, "%s: %q is not host:port", key, address)
	if err == nil {
		_, err = net.LookupPort("tcp", port) // as listening does
		f.unless(err == nil, "%s: %q: %q is no port, 0 to 65535", key, address, port)
	}
}

// ParseNetwork reads an address, which is a network of one, or a network in CIDR form.
func ParseNetwork(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

func (c *Config) checkAuth() (f faults) {
	f.unless(!c.Dev || !c.Auth.Configured(), "dev: signs by its own key; take it away, or the keys under auth")
	if c.DevMode() {
		f.unless(Loopback(c.Listen), "listen: %s is reachable from other machines, and no auth is configured: set auth.jwks_url, auth.jwks_file, "+
			"auth.key_file or auth.secret, or listen on 127.0.0.1", c.Listen)
	}
	f.unless(c.Auth.Secret == "" || len(c.Auth.Secret) >= 32, "auth.secret: %d bytes; HS256 needs 32 at least", len(c.Auth.Secret))
	f.unless(c.Auth.Secret == "" || c.Auth.KeyFile == "", "auth: secret and key_file are two places for one key; give one")
	f.unless(len(c.Auth.Algorithms) > 0, "auth.algorithms: none is accepted")
	for _, a := range c.Auth.Algorithms {
		f.unless(slices.Contains([]string{"HS256", "RS256", "ES256", "EdDSA"}, a), "auth.algorithms: %q is none of HS256, RS256, ES256, EdDSA", a)
	}
	if c.Auth.JWKSURL != "" {
		u, err := url.Parse(c.Auth.JWKSURL)
		f.unless(err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http"), "auth.jwks_url: not an http or https address")
	}
	return f
}

// DevMode tells whether the server signs for itself: asked for, or no auth is configured.
func (c *Config) DevMode() bool { return c.Dev || !c.Auth.Configured() }

// Loopback tells whether an address host:port can be reached from this machine only.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func (c *Config) checkLimits() (f faults) {
	for _, l := range []struct {
		key      string
		value    int
		min, max int
	}{
		{"limits.connections", c.Limits.Connections, 1, 10_000_000},
		{"limits.address_connections", c.Limits.AddressConnections, 1, 10_000_000},
		{"limits.actor_connections", c.Limits.ActorConnections, 1, 10_000_000},
		{"limits.actor_subscriptions", c.Limits.ActorSubscriptions, 1, 10_000_000},
		{"limits.address_connections_per_second", c.Limits.AddressConnectionsPerSecond, 1, 1_000_000},
		{"limits.connections_per_second", c.Limits.ConnectionsPerSecond, 1, 1_000_000},
		{"limits.connections_burst", c.Limits.ConnectionsBurst, 1, 1_000_000},
		{"limits.subscriptions", c.Limits.Subscriptions, 1, 1_000_000},
		{"limits.send_rooms", c.Limits.SendRooms, 1, 1_000_000},
		{"limits.in_flight", c.Limits.InFlight, 1, 100_000},
		// A delta of 1 MiB, each byte of it escaped as six, must fit, or nobody could catch up.
		{"limits.outbound", c.Limits.Outbound, 8 << 20, 1 << 30},
		// A quarter of either must hold what one connection may have waiting, and the largest body.
		{"limits.outbound_total", int(c.Limits.OutboundTotal), 32 << 20, 1 << 40},
		{"limits.bodies", int(c.Limits.Bodies), 32 << 20, 1 << 40},
		{"limits.pages", c.Limits.Pages, 1, 10_000},
		{"limits.header", c.Limits.Header, 4 << 10, 1 << 20},
		{"limits.requests", c.Limits.Requests, 1, 1_000_000},
		{"limits.actor_requests", c.Limits.ActorRequests, 1, 1_000_000},
		{"rate.pages_burst", c.Rate.PagesBurst, 1, 1_000_000_000},
		{"rate.burst", c.Rate.Burst, 1, 1_000_000_000},
	} {
		f.unless(l.value >= l.min && l.value <= l.max, "%s: %d is not within %d to %d", l.key, l.value, l.min, l.max)
	}
	f.unless(c.Limits.DiskFree >= 0, "limits.disk_free: %d is below 0", c.Limits.DiskFree)
	f.unless(c.Rate.Sends > 0, "rate.sends: %g a second would let nobody send", c.Rate.Sends)
	f.unless(c.Rate.Pages > 0, "rate.pages: %g a second would let nobody read", c.Rate.Pages)
	f.unless(c.Retention.ResultRows >= 0, "retention.result_rows: %d is below 0", c.Retention.ResultRows)
	f.unless(c.Retention.JournalRows >= 0, "retention.journal_rows: %d is below 0", c.Retention.JournalRows)
	return f
}

func (c *Config) checkTimes() (f faults) {
	for _, t := range []struct {
		key             string
		value, min, max time.Duration
	}{
		{"timeouts.hello", c.Timeouts.Hello, 10 * time.Millisecond, time.Hour},
		{"timeouts.header", c.Timeouts.Header, 10 * time.Millisecond, time.Hour},
		{"timeouts.body", c.Timeouts.Body, 10 * time.Millisecond, time.Hour},
		{"timeouts.write", c.Timeouts.Write, 10 * time.Millisecond, time.Hour},
		// Clients ping every 25 s and wait 10 s for an answer; less would cut the living.
		{"timeouts.idle", c.Timeouts.Idle, 40 * time.Second, day},
		{"timeouts.stranger_idle", c.Timeouts.StrangerIdle, 10 * time.Millisecond, time.Hour},
		{"timeouts.send", c.Timeouts.Send, 10 * time.Millisecond, time.Hour},
		{"drain.notice", c.Drain.Notice, 0, time.Hour},
		{"drain.spread", c.Drain.Spread, 0, time.Hour},
		{"drain.wait", c.Drain.Wait, 0, time.Hour},
		{"drain.grace", c.Drain.Grace, 0, time.Hour},
		{"retention.results", c.Retention.Results, time.Second, 3650 * day},
		{"retention.journal_age", c.Retention.JournalAge, 0, 36500 * day},
		{"retention.every", c.Retention.Every, time.Second, day},
	} {
		f.unless(t.value >= t.min && t.value <= t.max, "%s: %s is not within %s to %s", t.key, t.value, t.min, t.max)
	}
	return f
}
