package http

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"hapax/internal/wire"
	"hapax/protocol"
)

// DevSession makes a token for an actor, and says until when it is valid. Its error says what is wrong with the name.
type DevSession func(actor string) (token string, expires time.Time, err error)

// devBody bounds a sign-in's body in bytes; a name has 128.
const devBody = 1 << 10

type signInWays struct {
	Ways []string `json:"ways"`
}

// signIn tells a page how its reader can sign in: by a token, and in dev by a name.
func (s *server) signIn(w http.ResponseWriter, _ *http.Request) {
	ways := signInWays{Ways: []string{"token"}}
	if s.DevSession != nil {
		ways.Ways = append(ways.Ways, "name")
	}
	s.writeJSON(w, ways)
}

type devSession struct {
	Actor   string `json:"actor"`
	Token   string `json:"token"`
	Expires int64  `json:"expires"`
}

// devSession signs in whoever sits at this machine by a name. Only the server's own page may ask, and only by a name of this
// machine: else any page that a browser here has open, or one whose name was made to lead here, could be anybody.
func (s *server) devSession(w http.ResponseWriter, r *http.Request) {
	if !wire.LoopbackHost(r.Host) || !wire.SameOrigin(r) {
		s.refuse(w, wire.Error(protocol.Forbidden, "only this server's own page signs in by a name, opened by localhost or a loopback address; else use hapax token", 0))
		return
	}
	name, fault := readName(w, r)
	if fault != nil {
		s.refuse(w, fault.Event())
		return
	}
	token, expires, err := s.DevSession(name)
	if err != nil {
		s.refuse(w, wire.Error(protocol.BadRequest, err.Error(), 0))
		return
	}
	s.writeJSON(w, devSession{Actor: name, Token: token, Expires: expires.UnixMilli()})
}

func readName(w http.ResponseWriter, r *http.Request) (string, *protocol.Problem) {
	// A form of another site can send no JSON without the browser asking first.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return "", &protocol.Problem{Code: protocol.BadRequest, Message: "the body must be application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, devBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return "", &protocol.Problem{Code: protocol.TooLarge, Message: "the body is larger than a name can make it"}
	}
	// The canonical form has exact names, none of them twice.
	var members map[string]json.RawMessage
	if canonical, bad := protocol.Canonical(nil, body); err != nil || bad != nil || json.Unmarshal(canonical, &members) != nil {
		return "", &protocol.Problem{Code: protocol.BadRequest, Message: `the body must be {"name": …}`}
	}
	var name string
	if json.Unmarshal(members["name"], &name) != nil || !protocol.ValidActor(name) {
		return "", &protocol.Problem{Code: protocol.BadRequest, Message: "a name has 1 to 128 bytes of UTF-8 without control characters"}
	}
	return name, nil
}
