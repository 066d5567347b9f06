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
	return s, nil
}

// grants reads the rooms claim. A grant that can't be understood spoils the token: to leave it out would be a guess.
func grants(claim any) ([]Grant, error) {
	if claim == nil {
		return nil, nil
	}
	list, ok := claim.([]any)
	if !ok {
		return nil, errors.New("rooms must be a list")
	}
	out := make([]Grant, 0, len(list))
	for i, entry := range list {
		m, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("rooms[%d] must be an object", i)
		}
		name, isName := m["room"].(string)
		rights, isRights := m["rights"].(string)
		if !isName || !isRights {
			return nil, fmt.Errorf("rooms[%d] must have room and rights", i)
		}
		g := Grant{Room: name, Rights: Rights(rights)}
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("rooms[%d]: %w", i, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// claim is the form of grants in a token.
func claim(list []Grant) []map[string]string {
	out := make([]map[string]string, 0, len(list))
	for _, g := range list {
		out = append(out, map[string]string{"room": g.Room, "rights": string(g.Rights)})
	}
	return out
}
