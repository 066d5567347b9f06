package auth

import (
	"reflect"
	"testing"
	"time"
)

func literal(entries ...map[string]any) []any {
	all := []any{}
	for _, e := range entries {
		all = append(all, e)
	}
	return all
}

// In the claim grants a star is a character like any other: a room that somebody named "pub*" opens no other.
func TestGrantsAreLiteral(t *testing.T) {
	v := verifier(t)
	sign := func(c ...any) *Session {
		t.Helper()
		s, err := v.Verify(t.Context(), hs256(secret, claims(append([]any{"rooms", nil}, c...)...)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := sign("grants", literal(
		map[string]any{"room": "pub*", "rights": "r"}, map[string]any{"prefix": "team*/", "rights": "rw"},
		map[string]any{"tenant": "b*", "rights": "r"}, map[string]any{"tenantPrefix": "acme-", "rights": "w"},
	))
	for name, want := range map[string][2]bool{
		"pub*": {true, false}, "public": {false, false}, "pub": {false, false}, "pub*x": {false, false},
		"team*/": {true, true}, "team*/a": {true, true}, "team/a": {false, false}, "teams": {false, false},
	} {
		if got := [2]bool{s.CanRead(name), s.CanWrite(name)}; got != want {
			t.Errorf("room %s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][2]bool{"b*": {true, false}, "bank": {false, false}, "acme-1": {false, true}, "acme": {false, false}} {
		if got := [2]bool{s.CanReadTenant(name), s.CanWriteTenant(name)}; got != want {
			t.Errorf("tenant %s: %v, want %v", name, got, want)
		}
	}
	if s.ReadsAllTenants() {
		t.Error("an operator by literal names")
	}
	all := sign("grants", literal(map[string]any{"prefix": "", "rights": "r"}, map[string]any{"tenantPrefix": "", "rights": "r"}))
	if !all.CanRead("anything") || !all.ReadsAllTenants() {
		t.Error("the empty prefix isn't every name")
	}
	// The claim rooms keeps its meaning.
	if old := sign("rooms", literal(map[string]any{"room": "pub*", "rights": "r"})); !old.CanRead("public") {
		t.Error("rooms changed its meaning")
	}
	if both := sign("grants", literal(map[string]any{"room": "a", "rights": "r"}), "tenants", literal(map[string]any{"tenant": "b*", "rights": "r"})); !both.CanRead("a") || !both.CanReadTenant("bank") {
		t.Error("grants for rooms beside tenants")
	}
}

func TestGrantsThatAreRefused(t *testing.T) {
	v := verifier(t)
	room := map[string]any{"room": "a", "rights": "r"}
	for name, c := range map[string][]any{
		"with rooms":              {"grants", literal(room)},
		"with no rooms":           {"grants", literal(room), "rooms", literal()},
		"tenants twice":           {"rooms", nil, "grants", literal(map[string]any{"tenant": "a", "rights": "r"}), "tenants", literal(map[string]any{"tenant": "b", "rights": "r"})},
		"tenants and none":        {"rooms", nil, "grants", literal(map[string]any{"tenant": "a", "rights": "r"}), "tenants", literal()},
		"no list":                 {"rooms", nil, "grants", room},
		"no object":               {"rooms", nil, "grants", []any{"a"}},
		"two names":               {"rooms", nil, "grants", literal(map[string]any{"room": "a", "prefix": "b", "rights": "r"})},
		"no name":                 {"rooms", nil, "grants", literal(map[string]any{"rights": "r"})},
		"no rights":               {"rooms", nil, "grants", literal(map[string]any{"room": "a"})},
		"wrong rights":            {"rooms", nil, "grants", literal(map[string]any{"room": "a", "rights": "x"})},
		"a number":                {"rooms", nil, "grants", literal(map[string]any{"room": 7, "rights": "r"})},
		"the empty room":          {"rooms", nil, "grants", literal(map[string]any{"room": "", "rights": "r"})},
		"the empty tenant":        {"rooms", nil, "grants", literal(map[string]any{"tenant": "", "rights": "r"})},
		"a member that isn't one": {"rooms", nil, "grants", literal(map[string]any{"room": "a", "rights": "r", "until": 7})},
	} {
		if s, err := v.Verify(t.Context(), hs256(secret, claims(c...))); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestGrantsAreSigned(t *testing.T) {
	key := must(OpenLocalKey(t.TempDir()))
	token, err := key.SignClaims(Claims{Actor: "ann", Rooms: []Grant{{"a*", Read, Name}, {"b", Write, Prefix}}, Tenants: []TenantGrant{{"c*", Read, Name}, {"", Read, Prefix}}}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s, err := must(New(t.Context(), key.Options())).Verify(t.Context(), token)
	if err != nil || !s.CanRead("a*") || s.CanRead("ab") || !s.CanWrite("bc") || !s.ReadsAllTenants() {
		t.Error(s, err)
	}
	if _, err := key.SignClaims(Claims{Actor: "ann", Rooms: []Grant{{"a", Read, Name}, All}}, time.Hour, time.Now()); err == nil {
		t.Error("one token of both forms was signed")
	}
}

func TestWhatATokenReads(t *testing.T) {
	s := &Session{grants: []Grant{
		{"z", Read, Name}, {"team/*", Read, Pattern}, {"team/a", Read, Pattern}, {"b", Write, Name}, {"a", ReadWrite, Name}, {"team", Read, Name}, {"z", Read, Prefix}, {"zz", Read, Prefix}, {"a", Read, Name},
	}}
	want := []Reach{{"a", false}, {"team", false}, {"team/", true}, {"z", true}}
	if got := s.ReadsRooms(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
