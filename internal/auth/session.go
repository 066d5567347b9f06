package auth

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hapax/protocol"
)

// Grant gives rights to a room, or to all rooms whose names begin with a prefix.
type Grant struct {
	Room   string // a name, or a prefix ending in "*"; "*" is every room
	Rights Rights
}

// Rights are what a grant allows.
type Rights string

// All rights there are.
const (
	Read      Rights = "r"
	Write     Rights = "w"
	ReadWrite Rights = "rw"
)

// All is the grant of every right in every room.
var All = Grant{Room: "*", Rights: ReadWrite}

// ParseGrant reads the form of the command line, PATTERN=RIGHTS: the last "=" parts them, as a room's name may hold others.
func ParseGrant(s string) (Grant, error) {
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		return Grant{}, fmt.Errorf("%q is not PATTERN=r, PATTERN=w or PATTERN=rw", s)
	}
	g := Grant{Room: s[:at], Rights: Rights(s[at+1:])}
	return g, g.check()
}

func (g Grant) check() error {
	if !protocol.ValidRoom(g.Room) {
		return fmt.Errorf("%.140q is neither a room's name nor a prefix ending in *", g.Room)
	}
	return g.Rights.check()
}

func (r Rights) check() error {
	if r != Read && r != Write && r != ReadWrite {
		return fmt.Errorf("rights %.20q are none of r, w, rw", string(r))
	}
	return nil
}

// covers says whether rights in a name, or in the names of a prefix, hold a right for one name.
func covers(pattern string, rights Rights, name string, right Rights) bool {
	if !strings.Contains(string(rights), string(right)) {
		return false
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// MaxTenantPattern bounds a tenant's name or prefix in bytes: a name by the contract, and the "*" of a prefix.
const MaxTenantPattern = 257

// TenantGrant gives rights to what the gateway keeps of a tenant, or of all tenants whose names begin with a prefix.
type TenantGrant struct {
	Tenant string // a name, or a prefix ending in "*"; "*" is every tenant, and its reader an operator
	Rights Rights
}

// AllTenants is the grant of every right for every tenant.
var AllTenants = TenantGrant{Tenant: "*", Rights: ReadWrite}

// ParseTenantGrant reads the form of the command line, PATTERN=RIGHTS, as ParseGrant does.
func ParseTenantGrant(s string) (TenantGrant, error) {
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		return TenantGrant{}, fmt.Errorf("%q is not PATTERN=r, PATTERN=w or PATTERN=rw", s)
	}
	g := TenantGrant{Tenant: s[:at], Rights: Rights(s[at+1:])}
	return g, g.check()
}

func (g TenantGrant) check() error {
	if g.Tenant == "" || len(g.Tenant) > MaxTenantPattern || !utf8.ValidString(g.Tenant) || strings.ContainsFunc(g.Tenant, unicode.IsControl) {
		return fmt.Errorf("%.280q is neither a tenant's name nor a prefix ending in *", g.Tenant)
	}
	return g.Rights.check()
}

// Session is what a valid token says. It doesn't change and may be read from several goroutines.
type Session struct {
	Actor   string
	Expires time.Time // when commands end; Leeway is counted in
	grants  []Grant
	tenants []TenantGrant
}

// ValidAt says whether the session still stands at t.
func (s *Session) ValidAt(t time.Time) bool { return t.Before(s.Expires) }

// CanRead says whether the actor may subscribe to the room and read its history.
func (s *Session) CanRead(room string) bool { return s.may(room, Read) }

// CanWrite says whether the actor may send to the room.
func (s *Session) CanWrite(room string) bool { return s.may(room, Write) }

func (s *Session) may(room string, right Rights) bool {
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return covers(g.Room, g.Rights, room, right) })
}

// CanReadTenant says whether the actor may see what the gateway keeps of a tenant.
func (s *Session) CanReadTenant(tenant string) bool { return s.mayTenant(tenant, Read) }

// CanWriteTenant says whether the actor may change a tenant's registry and decide about its dead letters.
func (s *Session) CanWriteTenant(tenant string) bool { return s.mayTenant(tenant, Write) }

// WritesTenants says whether the actor may change anything of any tenant.
func (s *Session) WritesTenants() bool {
	return slices.ContainsFunc(s.tenants, func(g TenantGrant) bool { return strings.Contains(string(g.Rights), string(Write)) })
}

// ReadsAllTenants says whether the actor may see what tenants share: the report and the proof.
func (s *Session) ReadsAllTenants() bool {
	return slices.ContainsFunc(s.tenants, func(g TenantGrant) bool { return g.Tenant == "*" && strings.Contains(string(g.Rights), string(Read)) })
}

func (s *Session) mayTenant(tenant string, right Rights) bool {
	return slices.ContainsFunc(s.tenants, func(g TenantGrant) bool { return covers(g.Tenant, g.Rights, tenant, right) })
}
