package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"hapax/internal/settle"
)

// maxSeconds is the contract's largest integer; a window of it never ends.
const maxSeconds = 999_999_999_999_999

const day = 24 * time.Hour

func (c *Config) checkGateway() (f faults) {
	g := &c.Gateway
	f.wholeSeconds("gateway.policy.block_window", g.Policy.BlockWindow)
	f.unless(g.Policy.LRUMinHits >= 0 && g.Policy.LRUMinHits <= maxSeconds, "gateway.policy.lru_min_hits: %d is no integer of the contract", g.Policy.LRUMinHits)
	f.unless(g.Proof.Every >= time.Minute && g.Proof.Every <= 365*day, "gateway.proof.every: %s is not within 1m to 8760h", g.Proof.Every)
	f.unless(g.Proof.Pace >= 100, "gateway.proof.pace: %d records a second would never come to an end", g.Proof.Pace)
	l := g.Limits
	f.unless(l.Body >= 1<<10 && l.Body <= maxBody, "gateway.limits.body: %d is not within %d to %d bytes", l.Body, 1<<10, int64(maxBody))
	f.unless(l.Requests >= 1 && l.Requests <= 1_000_000, "gateway.limits.requests: %d is not within 1 to 1000000", l.Requests)
	f.unless(l.Rate > 0, "gateway.limits.rate: %g a second would let nothing in", l.Rate)
	f.unless(l.Burst >= 1, "gateway.limits.burst: %d would let nothing in", l.Burst)
	f.unless(l.Scan >= 100 && l.Scan <= 1_000_000, "gateway.limits.scan: %d is not within 100 to 1000000", l.Scan)
	for _, tenant := range sorted(g.Tenants) {
		f.unless(settle.ValidTenant([]byte(tenant)), "gateway.tenants: %q is no tenant's name: 1 to 256 bytes of UTF-8 without control characters and outer white space, and no # in front", tenant)
		sources := g.Tenants[tenant].Sources
		f.unless(len(sources) > 0, "gateway.tenants.%s: no sources", quoted(tenant))
		for _, source := range sorted(sources) {
			f.unless(settle.ValidName([]byte(source)), "gateway.tenants.%s.sources: %q is no source's name: 1 to 256 bytes of UTF-8 without control characters and outer white space", quoted(tenant), source)
			s := sources[source]
			f = append(f, s.check(SourcePath(tenant, source))...)
		}
	}
	return f
}

// maxBody bounds a delivery's body: GitHub's largest are 25 MB.
const maxBody = 32 << 20

// SourcePath names a source in messages as the file has it.
func SourcePath(tenant, source string) string {
	return "gateway.tenants." + quoted(tenant) + ".sources." + quoted(source)
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (f *faults) wholeSeconds(at string, d time.Duration) {
	f.unless(d >= 0 && d%time.Second == 0, "%s: %s is no whole number of seconds from 0", at, d)
}

func (f *faults) oneOf(at, value string, words ...string) {
	f.unless(slices.Contains(words, value), "%s: %q is none of %s", at, value, strings.Join(words, ", "))
}

// check looks at what configuration alone can tell of a source; how it verifies and reads is checked where it is made.
func (s *Source) check(at string) (f faults) {
	f.oneOf(at+".body", s.Body, "json", "raw", "cloudevents")
	f.oneOf(at+".registry", s.Registry, "open", "required")
	f.oneOf(at+".on_mismatch", s.OnMismatch, "flag", "reject")
	f.unless(s.RejectStatus == 422 || s.RejectStatus == 200, "%s.reject_status: %d is neither 422 nor 200", at, s.RejectStatus)
	f.wholeSeconds(at+".window", s.Window)
	f.unless(s.LRUCapacity >= 0 && s.LRUCapacity <= maxSeconds, "%s.lru_capacity: %d is no integer of the contract", at, s.LRUCapacity)
	f.unless(s.MaxBody == 0 || s.MaxBody >= 1 && s.MaxBody <= maxBody, "%s.max_body: %d is not within 1 to %d bytes", at, s.MaxBody, int64(maxBody))
	f.unless(s.BodyRetention >= 0, "%s.body_retention: %s is below 0", at, s.BodyRetention)
	if s.Rate != nil {
		f.unless(s.Rate.PerSecond > 0 && s.Rate.Burst >= 1, "%s.rate: %g a second and a burst of %d would let nothing in", at, s.Rate.PerSecond, s.Rate.Burst)
	}
	labels := make(map[string]bool)
	for i, secret := range s.Verify.Secrets {
		f.unless(secret.Label != "" && len(secret.Label) <= 64, "%s.verify.secrets[%d]: a label of 1 to 64 bytes is needed; it is what the log names", at, i)
		f.unless(!labels[secret.Label], "%s.verify.secrets[%d]: the label %q stands twice", at, i, secret.Label)
		f.unless(secret.File != "", "%s.verify.secrets[%d]: no file", at, i)
		labels[secret.Label] = true
	}
	for i, p := range s.Key {
		f.unless(p.CloudEvent == "" || p.CloudEvent == "id", "%s.key[%d].cloudevent: %q is not id", at, i, p.CloudEvent)
	}
	if s.Forward != nil {
		f = append(f, s.Forward.check(at+".forward")...)
	}
	return f
}

func (d *Forward) check(at string) (f faults) {
	u, err := url.Parse(d.URL)
	f.unless(err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http"), "%s.url: not an http or https address", at)
	if err == nil {
		f.unless(u.User == nil, "%s.url: no credentials in an address; use extra_headers", at)
		f.unless(u.Fragment == "", "%s.url: a fragment is never sent", at)
	}
	f.unless(d.SecretFile != "", "%s.secret_file: what is forwarded is signed; name the file of its secret", at)
	f.unless(d.Timeout >= 100*time.Millisecond && d.Timeout <= 10*time.Minute, "%s.timeout: %s is not within 100ms to 10m", at, d.Timeout)
	f.unless(d.InFlight >= 1 && d.InFlight <= 10_000, "%s.in_flight: %d is not within 1 to 10000", at, d.InFlight)
	f.unless(d.MaxTries >= 0, "%s.max_tries: %d is below 0", at, d.MaxTries)
	f.unless(d.MaxAge >= time.Second && d.MaxAge <= 365*day, "%s.max_age: %s is not within 1s to 8760h", at, d.MaxAge)
	for i, cidr := range d.Allow {
		_, err := netip.ParsePrefix(cidr)
		f.unless(err == nil, "%s.allow[%d]: %q is no CIDR like 10.1.0.0/16", at, i, cidr)
	}
	for i, h := range d.Extra {
		f.unless(h.Name != "" && h.File != "", "%s.extra_headers[%d]: name and file are needed", at, i)
	}
	return f
}

// masked is a copy whose destinations show no query: it may carry a token.
func (g *Gateway) masked() map[string]Tenant {
	out := make(map[string]Tenant, len(g.Tenants))
	for name, t := range g.Tenants {
		sources := make(map[string]Source, len(t.Sources))
		for source, s := range t.Sources {
			if s.Forward != nil {
				d := *s.Forward
				d.URL = maskURL(d.URL)
				s.Forward = &d
			}
			sources[source] = s
		}
		out[name] = Tenant{Sources: sources}
	}
	return out
}
