package serve

import (
	"errors"
	"testing"

	"hapax/internal/engine/intake"
	"hapax/internal/wire/ingest"
)

// A tenant whose name passes for a prefix, or that no URL can name, isn't made; one that is in the books goes on.
func TestTenantsThatArentMade(t *testing.T) {
	var old intake.NamedSource
	old.Tenant, old.Name = "b*", ".."
	for _, c := range []struct {
		tenant, source string
		made           bool
	}{
		{"acme", "shop", true}, {"b*", "shop", true}, {"b*", "..", true}, {"c*", "shop", false}, {"*", "shop", false}, {".", "shop", false}, {"..", "shop", false},
		{"acme", ".", false}, {"acme", "..", false}, {"*a", "shop", true}, {"acme", "shop*", true},
	} {
		err := unmade(&ingest.Source{Tenant: c.tenant, Name: c.source}, []intake.NamedSource{old})
		if (err == nil) != c.made || err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("%s %s: %v", c.tenant, c.source, err)
		}
	}
}
