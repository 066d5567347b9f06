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
	if err := s.readRights(claims); err != nil {
		return nil, err
	}
	return s, nil
}

// readRights reads the claims rooms and tenants, whose names are patterns, or the claim grants, whose names are literal. A token has one or the
// other: what an actor may do must not be a matter of which of two claims somebody thought of.
func (s *Session) readRights(claims jwt.MapClaims) (err error) {
	if s.grants, err = grants(claims["rooms"]); err != nil {
		return err
	}
	if s.tenants, err = tenantGrants(claims["tenants"]); err != nil {
		return err
	}
	literal, has := claims["grants"]
	if !has || literal == nil {
		return nil
	}
	if claims["rooms"] != nil {
		return errors.New("a token has either rooms or grants")
	}
	patterns := len(s.tenants)
	if err := s.readLiteral(literal); err != nil {
		return err
	}
	if claims["tenants"] != nil && len(s.tenants) > patterns {
		return errors.New("a token has tenants either in grants or in tenants")
	}
	return nil
}

// readLiteral reads the claim grants: each names one room, prefix, tenant or tenantPrefix.
func (s *Session) readLiteral(claim any) error {
	take := map[string]func(name string, rights Rights) error{
		"room":         func(name string, rights Rights) error { return s.grant(Grant{name, rights, Name}) },
		"prefix":       func(name string, rights Rights) error { return s.grant(Grant{name, rights, Prefix}) },
		"tenant":       func(name string, rights Rights) error { return s.grantTenant(TenantGrant{name, rights, Name}) },
		"tenantPrefix": func(name string, rights Rights) error { return s.grantTenant(TenantGrant{name, rights, Prefix}) },
	}
	entries, ok := claim.([]any)
	if !ok {
		return errors.New("grants must be a list")
	}
	for i, entry := range entries {
		m, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("grants[%d] must be an object", i)
		}
		rights, _ := m["rights"].(string)
		named := 0
		for member, value := range m {
			f, names := take[member]
			if !names {
				if member != "rights" {
					return fmt.Errorf("grants[%d] has %.40q, which is none of room, prefix, tenant, tenantPrefix, rights", i, member)
				}
				continue
			}
			name, isText := value.(string)
			if named++; !isText || named > 1 {
				return fmt.Errorf("grants[%d] must have one of room, prefix, tenant and tenantPrefix, a text", i)
			}
			if err := f(name, Rights(rights)); err != nil {
				return fmt.Errorf("grants[%d]: %w", i, err)
			}
		}
		if named == 0 {
			return fmt.Errorf("grants[%d] must have one of room, prefix, tenant and tenantPrefix", i)
		}
	}
	return nil
}

func (s *Session) grant(g Grant) error {
	s.grants = append(s.grants, g)
	return g.check()
}

func (s *Session) grantTenant(g TenantGrant) error {
	s.tenants = append(s.tenants, g)
	return g.check()
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

// claims are the rights' form in a token: grants where they are literal, else rooms and tenants.
func (c Claims) claims() jwt.MapClaims {
	rooms, tenants, literal := []map[string]string{}, []map[string]string{}, []map[string]string{}
	for _, g := range c.Rooms {
		entry := map[string]string{[...]string{"room", "room", "prefix"}[g.Form]: g.Room, "rights": string(g.Rights)}
		if g.Form == Pattern {
			rooms = append(rooms, entry)
		} else {
			literal = append(literal, entry)
		}
	}
	for _, g := range c.Tenants {
		entry := map[string]string{[...]string{"tenant", "tenant", "tenantPrefix"}[g.Form]: g.Tenant, "rights": string(g.Rights)}
		if g.Form == Pattern {
			tenants = append(tenants, entry)
		} else {
			literal = append(literal, entry)
		}
	}
	if len(literal) > 0 {
		return jwt.MapClaims{"grants": literal}
	}
	return jwt.MapClaims{"rooms": rooms, "tenants": tenants}
}

// forms says whether any right is named literally, and whether any is by a pattern.
func (c Claims) forms() (literal, pattern bool) {
	for _, g := range c.Rooms {
		literal, pattern = literal || g.Form != Pattern, pattern || g.Form == Pattern
	}
	for _, g := range c.Tenants {
		literal, pattern = literal || g.Form != Pattern, pattern || g.Form == Pattern
	}
	return literal, pattern
}
