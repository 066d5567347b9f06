package http

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"hapax/internal/auth"
	"hapax/internal/wire"
	"hapax/protocol"
)

// roomsLimit is how many rooms one answer names. No more rows than that are read for one, and one for each name in the token: what is looked at
// is what the token may read, so an actor with few rights costs little, and no answer knows of a room that its reader may not.
const roomsLimit = 200

type roomList struct {
	Epoch string      `json:"epoch"`
	Rooms []roomEntry `json:"rooms"`
	// Next is to be given as after, to go on; absent at the end.
	Next string `json:"next,omitempty"`
}

type roomEntry struct {
	Room   string `json:"room"`
	Head   int64  `json:"head"`
	HeadID string `json:"headId"`
}

// rooms answers the rooms that the actor may read, with heads, by rising name.
func (s *server) rooms(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	q := query{values: r.URL.Query()}
	cursor, _ := q.text("after")
	limit := int(q.integer("limit", roomsLimit, 1))
	after, ok := openCursor(cursor)
	if q.fault == "" && (limit > roomsLimit || !ok) {
		q.fault = "limit is 200 at most, and after what the answer before gave as next"
	}
	if q.fault != "" {
		s.refuse(w, wire.Error(protocol.BadRequest, q.fault, 0))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Door.Wait)
	defer cancel()
	list, err := s.readable(ctx, session, after, limit)
	if err != nil {
		s.unavailable(w, "rooms", err)
		return
	}
	s.writeJSON(w, list)
}

// cursorMark begins every cursor of this form.
const cursorMark = "r1"

// sealCursor makes the cursor behind a room that its reader may read.
func sealCursor(room string) string {
	return cursorMark + base64.RawURLEncoding.EncodeToString([]byte(room))
}

func openCursor(cursor string) (after string, ok bool) {
	if cursor == "" {
		return "", true
	}
	text, marked := strings.CutPrefix(cursor, cursorMark)
	name, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return string(name), marked && err == nil && utf8.Valid(name) && protocol.ValidRoom(string(name))
}

// readable lists the rooms behind a name, range by range of those that the session may read.
func (s *server) readable(ctx context.Context, session *auth.Session, after string, limit int) (roomList, error) {
	list := roomList{Epoch: s.Rooms.Identity().Epoch, Rooms: []roomEntry{}}
	for _, reach := range session.ReadsRooms() {
		heads, err := s.Rooms.List(ctx, max(after, before(reach.Name)), within(reach, limit-len(list.Rooms)))
		if err != nil {
			return list, err
		}
		for _, h := range heads {
			if !reach.Covers(h.Name) {
				break
			}
			if len(list.Rooms) == limit {
				list.Next = sealCursor(list.Rooms[limit-1].Room)
				return list, nil
			}
			list.Rooms = append(list.Rooms, roomEntry{Room: h.Name, Head: h.State.Head, HeadID: h.State.HeadID})
		}
	}
	return list, nil
}

// within is how many rooms to read for a range of which some more fit into the answer: one more tells whether it goes on.
func within(r auth.Reach, fit int) int {
	if !r.Prefix {
		return 1
	}
	return fit + 1
}

// before is a text that sorts before a name and after every other name before it. "" for the first.
func before(name string) string {
	if name == "" {
		return ""
	}
	last := len(name) - 1
	return name[:last] + string([]byte{name[last] - 1}) + strings.Repeat("\xff", protocol.MaxName)
}
