package config

import (
	"net/netip"
	"slices"
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
	f.unless(l.Body >= 1<<10 && l.Body <= 32<<20, "gateway.limits.body: %d is not within 1 KiB to 32 MiB", l.Body)
	f.unless(l.Requests >= 1 && l.Requests <= 1_000_000, "gateway.limits.requests: %d is not within 1 to 1000000", l.Requests)
	f.unless(l.Rate > 0, "gateway.limits.rate: %g a second would let nothing in", l.Rate)
	f.unless(l.Burst >= 1, "gateway.limits.burst: %d would let nothing in", l.Burst)
	f.unless(l.UnsignedRate > 0, "gateway.limits.unsigned_rate: %g a second would let nobody show a signature", l.UnsignedRate)
	f.unless(l.UnsignedBurst >= 1, "gateway.limits.unsigned_burst: %d would let nobody show a signature", l.UnsignedBurst)
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

// check looks at what configuration alone can tell of a source. How it verifies, reads and forwards is checked by the packages that do so,
// when `config check` or the start makes it ready.
func (s *Source) check(at string) (f faults) {
	f.wholeSeconds(at+".window", s.Window)
	f.wholeSeconds(at+".guard_window", s.GuardWindow)
	f.wholeSeconds(at+".seen_at.max_behind", s.SeenAt.MaxBehind)
	f.wholeSeconds(at+".verify.tolerance", s.Verify.Tolerance)
	f.unless(s.BodyRetention >= 0, "%s.body_retention: %s is below 0", at, s.BodyRetention)
	if s.Rate != nil {
		f.unless(s.Rate.PerSecond > 0 && s.Rate.Burst >= 1, "%s.rate: %g a second and a burst of %d would let nothing in", at, s.Rate.PerSecond, s.Rate.Burst)
	}
	labels := make(map[string]bool)
	for i, secret := range s.Verify.Secrets {
		f.unless(secret.Label != "" && len(secret.Label) <= 64, "%s.verify.secrets[%d]: a label of 1 to 64 bytes is needed; it is what the log names", at, i)
		f.unless(secret.Label == "" || !labels[secret.Label], "%s.verify.secrets[%d]: the label %q stands twice", at, i, secret.Label)
		f.unless(secret.File != "", "%s.verify.secrets[%d]: no file", at, i)
		labels[secret.Label] = true
	}
	if s.Forward != nil {
		f = append(f, s.Forward.check(at+".forward")...)
	}
	return f
}

func (d *Forward) check(at string) (f faults) {
	f.unless(len(d.SecretFiles) > 0, "%s.secret_files: what is forwarded is signed; name the file of its secret", at)
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
