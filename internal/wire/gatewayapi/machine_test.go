package gatewayapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"hapax/internal/audit"
	"hapax/internal/auth"
	"hapax/internal/engine/intake"
	"hapax/internal/prove"
)

// TestATokenNamedAsTheMachine: whoever signs in under one of the machine's words changes the registry, replays and discards as anybody does, and the log is
// proved after it.
func TestATokenNamedAsTheMachine(t *testing.T) {
	for _, actor := range []string{"open", "file", "duplicate", "forward", "operator", "api", "\uFEFF"} {
		h := newHarness(t)
		h.source("acme", "shop", true)
		grant, err := auth.ParseTenantGrant("acme=rw")
		if err != nil {
			t.Fatal(err)
		}
		token, err := h.key.SignClaims(auth.Claims{Actor: actor, Tenants: []auth.TenantGrant{grant}}, time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		registry := "/v1/registry/acme/shop"
		h.ask(http.MethodPut, registry+"/x", token, `{"scope":"wire"}`)
		h.ask(http.MethodDelete, registry+"/x", token, "")
		h.ask(http.MethodPost, registry, token, "acme\tshop\ty\tschema\t7\t3\n", "Content-Type", "text/tab-separated-values")
		for _, key := range []string{"k", "l"} {
			id := h.event("acme", "shop", key, "1.00", "USD")
			h.die(id, "404")
			h.want(h.ask(http.MethodPost, "/v1/deadletters/"+id+"/replay", token, "", "Idempotency-Key", "r-"+key), 200, "")
			h.die(id, "404")
			h.want(h.ask(http.MethodPost, "/v1/deadletters/"+id+"/discard", token, ""), 204, "")
		}
		var proof *audit.LogProof
		if err := h.books.View(t.Context(), func(v intake.View) (err error) {
			proof, err = audit.ProveLog(context.Background(), prove.Stated(v), audit.ProofOptions{})
			return err
		}); err != nil || !proof.OK() || proof.Number < 14 {
			t.Errorf("%q: %+v, %v", actor, proof, err)
		}
	}
}
