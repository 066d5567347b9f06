package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"time"

	"hapax/internal/auth"
	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// DevSignIn is the sign-in of a server that serves this machine alone: who has the link that it prints may be anybody.
type DevSignIn struct {
	// Session makes a token for an actor, and says until when it is valid. Its error says what is wrong with the name.
	Session func(actor string) (token string, expires time.Time, err error)
	// Link is the link as it stands now: it may be rotated while the server runs.
	Link func() (*auth.Link, error)
}

const (
	// devBody bounds a sign-in's body in bytes; a name has 128.
	devBody = 1 << 10
	// devPath is where the cookie is sent to, and nowhere else.
	devPath = "/v1/"
	// cookieLife is how long a browser that isn't used keeps its cookie.
	cookieLife = 30 * 24 * time.Hour
)

type signInWays struct {
	Ways []string `json:"ways"`
}

// signIn tells a page how its reader can sign in: by a token; in dev by a name, or, before the link has been opened, by the link.
func (s *server) signIn(w http.ResponseWriter, r *http.Request) {
	ways := signInWays{Ways: []string{"token"}}
	if s.Dev != nil && !limit.WasForwarded(r.Header) {
		way := "link"
		if s.hasLink(r) {
			way = "name"
		}
		ways.Ways = append(ways.Ways, way)
	}
	s.writeJSON(w, ways)
}

// cookieName tells servers on one machine apart: browsers send a cookie to all ports of a host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "hapax-" + port
}

// hasLink says whether a request has a cookie of the link as it stands now.
func (s *server) hasLink(r *http.Request) bool {
	link, err := s.Dev.Link()
	if err != nil {
		s.Door.Log.Error("the link's secret can't be read", "error", err)
		return false
	}
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if link.Keeps(c.Value) {
			return true
		}
	}
	return false
}

func setCookie(w http.ResponseWriter, r *http.Request, link *auth.Link) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: link.Cookie(), Path: devPath, MaxAge: int(cookieLife.Seconds()), HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode,
	})
}

// ownPage keeps all but the server's own page out, opened by a name of this machine: else any page that a browser here has open, or one whose
// name was made to lead here, could be anybody. That a request came through a proxy means that others may have sent it.
func (s *server) ownPage(w http.ResponseWriter, r *http.Request) bool {
	if limit.WasForwarded(r.Header) {
		s.refuse(w, wire.Error(protocol.Forbidden, "the request came through a proxy; this sign-in is for this machine alone: configure auth, and sign in by a token", 0))
		return false
	}
	if !wire.LoopbackHost(r.Host) || !wire.SameOrigin(r) {
		s.refuse(w, wire.Error(protocol.Forbidden, "only this server's own page signs in by a name, opened by localhost or a loopback address; else use hapax token", 0))
		return false
	}
	return true
}

// openLink exchanges the secret of the link for a cookie.
func (s *server) openLink(w http.ResponseWriter, r *http.Request) {
	if !s.ownPage(w, r) {
		return
	}
	secret, ok := s.readMember(w, r, "secret")
	if !ok {
		return
	}
	link, err := s.Dev.Link()
	if err != nil {
		s.unavailable(w, "link", err)
		return
	}
	if !link.Opens(secret) {
		s.refuse(w, wire.Error(protocol.Forbidden, "this link opens nothing any more; print the one that does by hapax link", 0))
		return
	}
	setCookie(w, r, link)
	s.writeJSON(w, struct{}{})
}

type devSession struct {
	Actor   string `json:"actor"`
	Token   string `json:"token"`
	Expires int64  `json:"expires"`
}

// devSession signs in whoever has opened the link by a name.
func (s *server) devSession(w http.ResponseWriter, r *http.Request) {
	if !s.ownPage(w, r) {
		return
	}
	if !s.hasLink(r) {
		s.refuse(w, wire.Error(protocol.Forbidden, "open the link that hapax serve printed, or print it again by hapax link", 0))
		return
	}
	name, ok := s.readMember(w, r, "name")
	if !ok {
		return
	}
	if !protocol.ValidActor(name) {
		s.refuse(w, wire.Error(protocol.BadRequest, "a name has 1 to 128 bytes of UTF-8 without control characters", 0))
		return
	}
	token, expires, err := s.Dev.Session(name)
	if err != nil {
		s.refuse(w, wire.Error(protocol.BadRequest, err.Error(), 0))
		return
	}
	if link, err := s.Dev.Link(); err == nil {
		setCookie(w, r, link) // a browser that is used keeps it
	}
	s.writeJSON(w, devSession{Actor: name, Token: token, Expires: expires.UnixMilli()})
}

// readMember reads a body of one text. ok false: the request has been answered.
func (s *server) readMember(w http.ResponseWriter, r *http.Request, member string) (text string, ok bool) {
	refuse := func(code protocol.Code, format string, args ...any) (string, bool) {
		s.refuse(w, wire.Error(code, fmt.Sprintf(format, args...), 0))
		return "", false
	}
	// A form of another site can send no JSON without the browser asking first.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(protocol.BadRequest, "the body must be application/json")
	}
	body, release, err := s.Door.Limits.Body(w, r, devBody, limit.ByClient(s.Door.Limits.Proxies.Of(r)))
	defer release()
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return refuse(protocol.TooLarge, "the body has more than %d bytes", devBody)
	}
	// The canonical form has exact names, none of them twice.
	var members map[string]json.RawMessage
	canonical, bad := protocol.Canonical(nil, body)
	if err != nil || bad != nil || json.Unmarshal(canonical, &members) != nil || json.Unmarshal(members[member], &text) != nil {
		return refuse(protocol.BadRequest, `the body must be {"%s": …}`, member)
	}
	return text, true
}
