package auth

import (
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"

	"hapax/protocol"
)

// session reads the claims of a token whose signature and times are good.
func (t *Tokens) session(claims jwt.MapClaims) (*Session, error) {
	actor, err := claims.GetSubject()
	if err != nil {
		return nil, err
	}
	if !protocol.ValidActor(actor) {
		return nil, fmt.Errorf("sub must be 1 to %d bytes of UTF-8 without control characters", protocol.MaxName)
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || exp == nil {
		return nil, errors.Join(errors.New("exp is missing"), err)
	}
	s := &Session{Actor: actor, Expires: exp.Add(Leeway)}
	if latest := t.now().Add(MaxLife); s.Expires.After(latest) {
		s.Expires = latest
	}
	if s.grants, err = grants(claims["rooms"]); err != nil {
		return nil, err
	}
	if s.tenants, err = tenantGrants(claims["tenants"]); err != nil {
		return nil, err
	}
	return s, nil
}

// grants reads the rooms claim.
func grants(claim any) ([]Grant, error) {
	var out []Grant
	err := eachGrant(claim, "rooms", "room", func(name string, rights Rights) error {
		g := Grant{Room: name, Rights: rights}
		out = append(out, g)
		return g.check()
	})
	return out, err
}

// tenantGrants reads the tenants claim.
func tenantGrants(claim any) ([]TenantGrant, error) {
	var out []TenantGrant
	err := eachGrant(claim, "tenants", "tenant", func(name string, rights Rights) error {
		g := TenantGrant{Tenant: name, Rights: rights}
		out = append(out, g)
		return g.check()
	})
	return out, err
}

// eachGrant reads a claim that is a list of grants. A grant that can't be understood spoils the token: to leave it out would be a guess.
func eachGrant(claim any, list, of string, take func(name string, rights Rights) error) error {
	if claim == nil {
		return nil
	}
	entries, ok := claim.([]any)
	if !ok {
		return fmt.Errorf("%s must be a list", list)
	}
	for i, entry := range entries {
		m, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("%s[%d] must be an object", list, i)
		}
		name, isName := m[of].(string)
		rights, isRights := m["rights"].(string)
		if !isName || !isRights {
			return fmt.Errorf("%s[%d] must have %s and rights", list, i, of)
		}
		if err := take(name, Rights(rights)); err != nil {
			return fmt.Errorf("%s[%d]: %w", list, i, err)
		}
	}
	return nil
}

// claim is the form of grants in a token.
func claim(list []Grant) []map[string]string {
	out := make([]map[string]string, 0, len(list))
	for _, g := range list {
		out = append(out, map[string]string{"room": g.Room, "rights": string(g.Rights)})
	}
	return out
}

func tenantClaim(list []TenantGrant) []map[string]string {
	out := make([]map[string]string, 0, len(list))
	for _, g := range list {
		out = append(out, map[string]string{"tenant": g.Tenant, "rights": string(g.Rights)})
	}
	return out
}
