package forward

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"hapax/internal/gateway"
)

func TestWrongDestinations(t *testing.T) {
	right := Destination{Tenant: "acme", Source: "shop", URL: "https://example.com/hook", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}
	if err := right.Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		wrong  string
		change func(*Destination)
	}{
		{"none", func(d *Destination) { d.URL = "" }},
		{"http", func(d *Destination) { d.URL = "ftp://example.com/" }},
		{"http", func(d *Destination) { d.URL = "file:///etc/passwd" }},
		{"http", func(d *Destination) { d.URL = "example.com" }},
		{"credentials", func(d *Destination) { d.URL = "https://ann:s3cret@example.com/" }},
		{"credentials", func(d *Destination) { d.URL = "https://ann@example.com/" }},
		{"host", func(d *Destination) { d.URL = "https:///x" }},
		{"host", func(d *Destination) { d.URL = "https:x" }},
		{"fragment", func(d *Destination) { d.URL = "https://example.com/#x" }},
		{"port", func(d *Destination) { d.URL = "https://example.com:70000/" }},
		{"port", func(d *Destination) { d.URL = "https://example.com:0/" }},
		{"longer", func(d *Destination) { d.URL = "https://example.com/" + strings.Repeat("a", 3000) }},
		{"none", func(d *Destination) { d.URL = "https://exa mple.com/s3cret" }},
		{"whsec_", func(d *Destination) { d.Secrets = []string{"s3cret"} }},
		{"nothing follows", func(d *Destination) { d.Secrets = []string{"whsec_"} }},
		{"base64", func(d *Destination) { d.Secrets = []string{"whsec_s3cret!"} }},
		{"is set by Hapax", func(d *Destination) { d.Extra = []gateway.Header{{Name: "idempotency-key", Value: "x"}} }},
		{"is set by Hapax", func(d *Destination) { d.Extra = []gateway.Header{{Name: "HOST", Value: "x"}} }},
		{"no name", func(d *Destination) { d.Extra = []gateway.Header{{Name: "a b", Value: "x"}} }},
		{"value", func(d *Destination) { d.Extra = []gateway.Header{{Name: "A", Value: "s3cret\r\nX: y"}} }},
		{"value", func(d *Destination) { d.Extra = []gateway.Header{{Name: "A", Value: ""}} }},
		{"network", func(d *Destination) { d.Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")} }},
		{"timeout", func(d *Destination) { d.Timeout = time.Hour }},
		{"at once", func(d *Destination) { d.InFlight = 10_000 }},
		{"negative", func(d *Destination) { d.MaxTries = -1 }},
	} {
		d := right
		c.change(&d)
		err := d.Check()
		if err == nil || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("want a word of %q, got %v", c.wrong, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a secret is told: %v", err)
		}
	}
}
