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

// Form says how a grant names what it is for.
type Form uint8

// The forms. Names that users choose belong in Name and Prefix only: what is a Pattern reads more than one name where the name ends in "*".
const (
	Pattern Form = iota // a name, or a prefix ending in "*": the claims rooms and tenants
	Name                // literally: the claim grants
	Prefix              // all names that begin so, literally: the claim grants
)

// Reach is which names a grant is for: one, or all that begin with it.
type Reach struct {
	Name   string
	Prefix bool
}

func (f Form) reach(text string) Reach {
	prefix, ends := strings.CutSuffix(text, "*")
	if f == Pattern && ends {
		return Reach{prefix, true}
	}
	return Reach{text, f == Prefix}
}

// Covers says whether a name is among those reached.
func (r Reach) Covers(name string) bool {
	return name == r.Name || r.Prefix && strings.HasPrefix(name, r.Name)
}

// Grant gives rights to a room, or to all rooms whose names begin with a prefix.
type Grant struct {
	Room   string // by Form: a name, a prefix, or either; "*" as a Pattern and "" as a Prefix are every room
	Rights Rights
	Form   Form
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
func ParseGrant(s string) (Grant, error) { return ParseLiteral(s, Pattern) }

// ParseLiteral is ParseGrant for a grant of another form.
func ParseLiteral(s string, f Form) (Grant, error) {
	name, rights, err := parted(s, f)
	if err != nil {
		return Grant{}, err
	}
	g := Grant{name, rights, f}
	return g, g.check()
}

func parted(s string, f Form) (name string, rights Rights, err error) {
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		word := [...]string{"PATTERN", "NAME", "NAME"}[f]
		return "", "", fmt.Errorf("%q is not %s=r, %s=w or %s=rw", s, word, word, word)
	}
	return s[:at], Rights(s[at+1:]), nil
}

func (g Grant) check() error {
	if !protocol.ValidRoom(g.Room) && (g.Form != Prefix || g.Room != "") {
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

func (r Rights) has(right Rights) bool { return strings.Contains(string(r), string(right)) }

// MaxTenantPattern bounds a tenant's name or prefix in bytes: a name by the contract, and the "*" of a prefix.
const MaxTenantPattern = 257

// TenantGrant gives rights to what the gateway keeps of a tenant, or of all tenants whose names begin with a prefix.
type TenantGrant struct {
	Tenant string // as Grant.Room; whoever reads every tenant is an operator
	Rights Rights
	Form   Form
}

// AllTenants is the grant of every right for every tenant.
var AllTenants = TenantGrant{Tenant: "*", Rights: ReadWrite}

// ParseTenantGrant reads the form of the command line, PATTERN=RIGHTS, as ParseGrant does.
func ParseTenantGrant(s string) (TenantGrant, error) { return ParseLiteralTenant(s, Pattern) }

// ParseLiteralTenant is ParseTenantGrant for a grant of another form.
func ParseLiteralTenant(s string, f Form) (TenantGrant, error) {
	name, rights, err := parted(s, f)
	if err != nil {
		return TenantGrant{}, err
	}
	g := TenantGrant{name, rights, f}
	return g, g.check()
}

func (g TenantGrant) check() error {
	if g.Tenant == "" && g.Form != Prefix || len(g.Tenant) > MaxTenantPattern || !utf8.ValidString(g.Tenant) || strings.ContainsFunc(g.Tenant, unicode.IsControl) {
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
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return g.Rights.has(right) && g.Form.reach(g.Room).Covers(room) })
}

// ReadsRooms are the names of rooms that the actor may read, by rising name, none of them within another.
func (s *Session) ReadsRooms() []Reach {
	var all []Reach
	for _, g := range s.grants {
		if g.Rights.has(Read) {
			all = append(all, g.Form.reach(g.Room))
		}
	}
	slices.SortFunc(all, func(a, b Reach) int {
		if a.Name == b.Name && a.Prefix != b.Prefix {
			return map[bool]int{true: -1, false: 1}[a.Prefix] // the wider one first
		}
		return strings.Compare(a.Name, b.Name)
	})
	apart := all[:0]
	for _, r := range all {
		if n := len(apart); n == 0 || !apart[n-1].Covers(r.Name) {
			apart = append(apart, r)
		}
	}
	return apart
}

// CanReadTenant says whether the actor may see what the gateway keeps of a tenant.
func (s *Session) CanReadTenant(tenant string) bool { return s.mayTenant(tenant, Read) }

// CanWriteTenant says whether the actor may change a tenant's registry and decide about its dead letters.
func (s *Session) CanWriteTenant(tenant string) bool { return s.mayTenant(tenant, Write) }

// WritesTenants says whether the actor may change anything of any tenant.
func (s *Session) WritesTenants() bool {
	return slices.ContainsFunc(s.tenants, func(g TenantGrant) bool { return g.Rights.has(Write) })
}

// ReadsAllTenants says whether the actor may see what tenants share: the report and the proof.
func (s *Session) ReadsAllTenants() bool {
	return slices.ContainsFunc(s.tenants, func(g TenantGrant) bool { return g.Rights.has(Read) && g.Form.reach(g.Tenant) == Reach{"", true} })
}

func (s *Session) mayTenant(tenant string, right Rights) bool {
	return slices.ContainsFunc(s.tenants, func(g TenantGrant) bool { return g.Rights.has(right) && g.Form.reach(g.Tenant).Covers(tenant) })
}
