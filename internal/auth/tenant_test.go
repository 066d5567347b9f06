package auth

import (
	"strings"
	"testing"
	"time"
)

func TestTenantGrants(t *testing.T) {
	s := Session{tenants: []TenantGrant{{Tenant: "shop-*", Rights: Read}, {Tenant: "shop-1", Rights: Write}, {Tenant: "acme", Rights: ReadWrite}}}
	for tenant, want := range map[string][2]bool{
		"shop-1": {true, true}, "shop-2": {true, false}, "shop": {false, false}, "acme": {true, true}, "acme2": {false, false}, "Acme": {false, false}, "": {false, false},
	} {
		if got := [2]bool{s.CanReadTenant(tenant), s.CanWriteTenant(tenant)}; got != want {
			t.Errorf("%q: got %v", tenant, got)
		}
	}
	if s.ReadsAllTenants() || s.CanRead("shop-1") {
		t.Error("grants for some tenants give more")
	}
	for _, c := range []struct {
		grant TenantGrant
		want  bool
	}{{AllTenants, true}, {TenantGrant{Tenant: "*", Rights: Read}, true}, {TenantGrant{Tenant: "*", Rights: Write}, false}, {TenantGrant{Tenant: "a*", Rights: ReadWrite}, false}, {TenantGrant{Tenant: "**", Rights: Read}, false}} {
		if got := (&Session{tenants: []TenantGrant{c.grant}}).ReadsAllTenants(); got != c.want {
			t.Errorf("%v: got %v", c.grant, got)
		}
	}
}

func TestTenantsClaim(t *testing.T) {
	v := verifier(t)
	entry := func(tenant, rights any) []any { return []any{map[string]any{"tenant": tenant, "rights": rights}} }
	for name, bad := range map[string]any{
		"text": "*", "a list of text": []string{"*"}, "no rights": []any{map[string]any{"tenant": "a"}}, "no tenant": []any{map[string]any{"rights": "r"}},
		"an empty name": entry("", "r"), "a name too long": entry(strings.Repeat("a", 258), "r"), "a name with a line end": entry("a\nb", "r"),
		"unknown rights": entry("a", "x"), "rights in capitals": entry("a", "R"), "rooms' word": []any{map[string]any{"room": "a", "rights": "r"}},
	} {
		t.Run(name, func(t *testing.T) { refusedFor(t, v, edKey.sign(claims("tenants", bad)), BadClaims) })
	}
	s, err := v.Verify(t.Context(), edKey.sign(claims("tenants", entry("acme", "r"))))
	if err != nil || !s.CanReadTenant("acme") || s.CanWriteTenant("acme") || s.CanReadTenant("b") {
		t.Fatalf("%+v, %v", s, err)
	}
	if s, err = v.Verify(t.Context(), edKey.sign(claims())); err != nil || s.CanReadTenant("acme") || s.ReadsAllTenants() {
		t.Fatalf("without the claim: %+v, %v", s, err)
	}
}

func TestLocalKeySignsTenants(t *testing.T) {
	k := must(OpenLocalKey(t.TempDir()))
	v := localVerifier(t, k)
	for _, c := range []struct {
		claims    Claims
		all, acme bool
	}{
		{Everything("ann"), true, true},
		{Claims{Actor: "ann", Tenants: []TenantGrant{{Tenant: "acme", Rights: Read}}}, false, true},
		{Claims{Actor: "ann", Rooms: []Grant{All}}, false, false},
	} {
		s, err := v.Verify(t.Context(), must(k.SignClaims(c.claims, time.Hour, testNow)))
		if err != nil || s.ReadsAllTenants() != c.all || s.CanReadTenant("acme") != c.acme {
			t.Errorf("%+v: %+v, %v", c.claims, s, err)
		}
	}
	if token, err := k.SignClaims(Claims{Actor: "ann", Tenants: []TenantGrant{{Tenant: "", Rights: Read}}}, time.Hour, testNow); err == nil {
		t.Errorf("signed %q", token)
	}
}

func TestParseTenantGrant(t *testing.T) {
	for s, want := range map[string]TenantGrant{"acme=rw": {Tenant: "acme", Rights: ReadWrite}, "*=r": {Tenant: "*", Rights: Read}, "a=b*=w": {Tenant: "a=b*", Rights: Write}, "ü b=r": {Tenant: "ü b", Rights: Read}} {
		if g, err := ParseTenantGrant(s); err != nil || g != want {
			t.Errorf("%s: got %+v, %v", s, g, err)
		}
	}
	for _, s := range []string{"", "a", "=r", "a=", "a=x", "a\x00=r", "\xff=r"} {
		if g, err := ParseTenantGrant(s); err == nil {
			t.Errorf("%q: got %+v", s, g)
		}
	}
}
