package serve

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hapax/internal/config"
	"hapax/internal/forward"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/wire/ingest"
)

const (
	maxSecretFile   = 4 << 10   // bytes; no secret or header needs more
	maxRegistryFile = 256 << 20 // bytes: some millions of keys, read at once
)

// plan is a gateway's configuration made ready: checked whole, its files read.
type plan struct {
	policy       settle.Policy
	sources      []*ingest.Compiled
	destinations []forward.Destination
	registries   []registry
	retentions   []retention
}

// registry are the rows of a source's registry file.
type registry struct {
	tenant, source, path string
	text                 []byte
}

// retention is how long a source's bodies are kept.
type retention struct {
	tenant, source string
	keep           time.Duration
}

// CheckGateway tells all that is wrong with a gateway's configuration, its files included, joined into one error, or nil.
func CheckGateway(c *config.Config) error {
	_, err := planGateway(&c.Gateway)
	return err
}

// planGateway reads the files that a configuration names and makes its sources and destinations. The error joins all faults.
func planGateway(c *config.Gateway) (*plan, error) {
	p := &plan{policy: settle.Policy{
		BlockWindowS: int64(c.Policy.BlockWindow / time.Second), ScopeStrict: c.Policy.ScopeStrict, LRUMinHits: c.Policy.LRUMinHits,
	}}
	var faults []error
	for _, tenant := range sortedKeys(c.Tenants) {
		for _, name := range sortedKeys(c.Tenants[tenant].Sources) {
			s := c.Tenants[tenant].Sources[name]
			if err := p.add(tenant, name, &s, c.Limits); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", config.SourcePath(tenant, name), err))
			}
		}
	}
	if c.Anchor != "" {
		if info, err := os.Stat(filepath.Dir(c.Anchor)); err != nil || !info.IsDir() {
			faults = append(faults, fmt.Errorf("gateway.anchor: there is no folder %s", filepath.Dir(c.Anchor)))
		}
	}
	return p, errors.Join(faults...)
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *plan) add(tenant, name string, s *config.Source, limits config.GatewayLimits) error {
	var faults []error
	made, err := sourceOf(tenant, name, s, limits)
	faults = append(faults, err)
	compiled, err := ingest.Compile(made)
	faults = append(faults, err)
	p.sources = append(p.sources, compiled)
	if s.RegistryFile != "" {
		text, err := readBounded(s.RegistryFile, maxRegistryFile)
		if err == nil && gateway.CheckRegistryFile(text) != nil {
			err = fmt.Errorf("%s: %w", s.RegistryFile, gateway.ErrUTF16)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("registry_file: %w", err))
		}
		p.registries = append(p.registries, registry{tenant, name, s.RegistryFile, text})
	}
	if s.BodyRetention > 0 {
		p.retentions = append(p.retentions, retention{tenant, name, s.BodyRetention})
	}
	if s.Forward != nil {
		d, err := destinationOf(tenant, name, s.Forward)
		faults = append(faults, err)
		if err := d.Check(); err != nil {
			faults = append(faults, fmt.Errorf("forward: %w", err))
		}
		p.destinations = append(p.destinations, d)
	}
	return errors.Join(faults...)
}

// unread stands for a secret that couldn't be read while the rest of its source is checked: one fault is one line. It is never served.
const unread = "whsec_dGhpcyBzZWNyZXQgY291bGQgbm90IGJlIHJlYWQ="

func sourceOf(tenant, name string, s *config.Source, limits config.GatewayLimits) (ingest.Source, error) {
	o := ingest.Source{
		Tenant: tenant, Name: name, Format: s.Format, Scope: field(s.Scope), Amount: field(s.Amount.From), AmountForm: s.Amount.Form,
		Exponents: s.Amount.Exponents, Currency: field(s.Currency), State: field(s.State), SeenAt: field(s.SeenAt.From), SeenAtForm: s.SeenAt.Form,
		Guard: s.Guard, GuardS: int64(s.GuardWindow / time.Second),
		SeenAtBehindS: int64(s.SeenAt.MaxBehind / time.Second),
		WindowS:       int64(s.Window / time.Second), Registry: s.Registry, KeyScope: s.KeyScope, LRUCapacity: s.LRUCapacity, OnMismatch: s.OnMismatch,
		Ignore: s.Ignore, RejectStatus: s.RejectStatus, Rate: limits.Rate, Burst: limits.Burst, MaxBody: limits.Body,
		Verify: ingest.Verify{
			Scheme: s.Verify.Scheme, Header: s.Verify.Header, Encoding: s.Verify.Encoding, Prefix: s.Verify.Prefix,
			ToleranceS: int64(s.Verify.Tolerance / time.Second),
		},
	}
	for _, part := range s.Key {
		o.Key = append(o.Key, field(part))
	}
	if s.Rate != nil {
		o.Rate, o.Burst = s.Rate.PerSecond, s.Rate.Burst
	}
	if s.MaxBody != 0 {
		o.MaxBody = s.MaxBody
	}
	if s.Forward != nil {
		o.Forward, o.ForwardHeaders = true, s.Forward.Headers
	}
	var faults []error
	for _, secret := range s.Verify.Secrets {
		text, err := readSecret(secret.File)
		if err != nil {
			faults = append(faults, fmt.Errorf("verify: secret %q: %w", secret.Label, err))
			text = unread
		}
		o.Verify.Secrets = append(o.Verify.Secrets, ingest.Secret{Label: secret.Label, Value: text})
	}
	return o, errors.Join(faults...)
}

func field(f config.From) ingest.Field {
	return ingest.Field{Header: f.Header, Pointer: f.Pointer, Attribute: f.Attribute, Constant: f.Const}
}

func destinationOf(tenant, name string, f *config.Forward) (forward.Destination, error) {
	d := forward.Destination{
		Tenant: tenant, Source: name, URL: f.URL, Timeout: f.Timeout, InFlight: f.InFlight, MaxTries: f.MaxTries, MaxAge: f.MaxAge,
	}
	var faults []error
	for _, file := range f.SecretFiles {
		text, err := readSecret(file)
		if err != nil {
			faults = append(faults, fmt.Errorf("forward: secret: %w", err))
			text = unread
		}
		d.Secrets = append(d.Secrets, text)
	}
	for _, h := range f.Extra {
		text, err := readSecret(h.File)
		if err != nil {
			faults = append(faults, fmt.Errorf("forward: header %s: %w", h.Name, err))
			continue
		}
		d.Extra = append(d.Extra, gateway.Header{Name: h.Name, Value: text})
	}
	for _, cidr := range f.Allow {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			faults = append(faults, fmt.Errorf("forward: allow: %q is no CIDR", cidr))
			continue
		}
		d.Allow = append(d.Allow, prefix)
	}
	return d, errors.Join(faults...)
}

// readSecret reads a secret without the line end that an editor puts behind it.
func readSecret(path string) (string, error) {
	text, err := readBounded(path, maxSecretFile)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return secret, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", path, most)
	}
	return os.ReadFile(path)
}
