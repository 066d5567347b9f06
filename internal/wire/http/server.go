package http

import (
	"context"
	"net/http"
	"time"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/wire"
	"hapax/protocol"
)

// Options are what a server is made of.
type Options struct {
	Door     *wire.Door
	Rooms    engine.Rooms
	Protocol protocol.Limits
	SendWait time.Duration // who waits longer for a commit gets in_progress
	OpenAPI  []byte        // served as it is
	// Dev signs in by a name; nil outside dev, and then there is no such route.
	Dev     *DevSignIn
	Figures func(context.Context) (Figures, error)
}

// server answers requests.
type server struct {
	Options
}

// The routes, by which requests are also counted. A room's name is one path segment, escaped.
const (
	routeSend    = "POST /v1/rooms/{room}/messages"
	routeRead    = "GET /v1/rooms/{room}/messages"
	routeByKey   = "GET /v1/rooms/{room}/messages/by-key/{clientMessageId}"
	routeRooms   = "GET /v1/rooms"
	routeOpenAPI = "GET /v1/openapi.yaml"
	routeSignIn  = "GET /v1/sign-in"
	routeDev     = "POST /v1/dev/session"
	routeLink    = "POST /v1/dev/link"
	routeFigures = "GET /v1/server/figures"
)

// handler answers a request of a session.
type handler func(w http.ResponseWriter, r *http.Request, s *auth.Session)

// Open puts the routes of rooms and console into a door.
func Open(o Options) {
	s := &server{Options: o}
	signedIn := func(h handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if session := o.Door.Session(w, r); session != nil {
				h(w, r, session)
			}
		}
	}
	o.Door.Handle(routeSend, signedIn(s.send)) // takes its slot once its body is there
	for route, h := range map[string]handler{routeByKey: s.byKey, routeFigures: s.figures} {
		o.Door.Handle(route, signedIn(func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
			o.Door.Work(w, session.Actor, func(w http.ResponseWriter) { h(w, r, session) })
		}))
	}
	for route, h := range map[string]handler{routeRead: s.read, routeRooms: s.rooms} {
		o.Door.Handle(route, signedIn(func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
			o.Door.Work(w, session.Actor, func(w http.ResponseWriter) {
				o.Door.Page(w, r, session.Actor, func(w http.ResponseWriter) { h(w, r, session) })
			})
		}))
	}
	o.Door.Handle(routeOpenAPI, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		// A client that has gone reads nothing.
		_, _ = w.Write(s.OpenAPI)
	})
	o.Door.Handle(routeSignIn, s.signIn)
	if s.Dev != nil {
		o.Door.Handle(routeDev, s.devSession)
		o.Door.Handle(routeLink, s.openLink)
	}
}

func (s *server) refuse(w http.ResponseWriter, e protocol.Event) { s.Door.Refuse(w, e) }

// roomOf returns the room that the path names; "" means that the request has been answered.
func (s *server) roomOf(w http.ResponseWriter, r *http.Request) string {
	name := r.PathValue("room")
	if !protocol.ValidRoom(name) {
		s.refuse(w, wire.Error(protocol.BadRequest, "a room is named by 1 to 128 bytes of UTF-8 without control characters, escaped as one path segment", 0))
		return ""
	}
	return name
}

func (s *server) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone reads nothing; it asks again with the same key.
	_, _ = w.Write(body)
}
