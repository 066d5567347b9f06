package ingest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hapax/internal/gateway"
)

// keptHeaders are the request headers that go on to the destination.
type keptHeaders struct {
	names    []string // in canonical form
	prefixes []string // likewise
}

// ours are headers that a forwarded request has of its own, and those that belong to one connection.
var ours = []string{
	"Connection", "Content-Length", "Content-Type", "Content-Encoding", "Expect", "Host", "Idempotency-Key", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Webhook-Id", "Webhook-Signature", "Webhook-Timestamp",
}

func isOurs(name string) bool {
	return slices.Contains(ours, name) || strings.HasPrefix(name, "Hapax-")
}

func compileKept(names []string) (k keptHeaders, err error) {
	f := faults{}
	if len(names) > maxKept {
		f.check(fmt.Errorf("forwarded headers: %d; %d at most", len(names), maxKept))
	}
	for _, n := range names {
		base, all := strings.CutSuffix(n, "*")
		canonical := http.CanonicalHeaderKey(base)
		switch {
		case !validHeader(base):
			f.check(fmt.Errorf("forwarded headers: %q is no name of a header", n))
		case isOurs(canonical):
			f.check(fmt.Errorf("forwarded headers: %s is the forwarded request's own", canonical))
		case all:
			k.prefixes = append(k.prefixes, canonical)
		default:
			k.names = append(k.names, canonical)
		}
	}
	return k, f.err
}

// of returns the kept headers of a request, by rising name.
func (k *keptHeaders) of(h http.Header) (out []gateway.Header) {
	if len(k.names) == 0 && len(k.prefixes) == 0 {
		return nil
	}
	for name, values := range h {
		if isOurs(name) || !k.keeps(name) {
			continue
		}
		for _, v := range values {
			out = append(out, gateway.Header{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(out, func(a, b gateway.Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (k *keptHeaders) keeps(name string) bool {
	return slices.Contains(k.names, name) || slices.ContainsFunc(k.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
