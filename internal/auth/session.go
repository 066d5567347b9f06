package auth

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	if g.Rights != Read && g.Rights != Write && g.Rights != ReadWrite {
		return fmt.Errorf("rights %.20q are none of r, w, rw", string(g.Rights))
	}
	return nil
}

func (g Grant) covers(room string, right Rights) bool {
	if !strings.Contains(string(g.Rights), string(right)) {
		return false
	}
	if prefix, ok := strings.CutSuffix(g.Room, "*"); ok {
		return strings.HasPrefix(room, prefix)
	}
	return g.Room == room
}

// Session is what a valid token says. It doesn't change and may be read from several goroutines.
type Session struct {
	Actor   string
	Expires time.Time // when commands end; Leeway is counted in
	grants  []Grant
}

// ValidAt says whether the session still stands at t.
func (s *Session) ValidAt(t time.Time) bool { return t.Before(s.Expires) }

// CanRead says whether the actor may subscribe to the room and read its history.
func (s *Session) CanRead(room string) bool { return s.may(room, Read) }

// CanWrite says whether the actor may send to the room.
func (s *Session) CanWrite(room string) bool { return s.may(room, Write) }

func (s *Session) may(room string, right Rights) bool {
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return g.covers(room, right) })
}
