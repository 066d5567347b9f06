package http

import (
	"context"
	"net/http"
	"unicode/utf8"

	"hapax/internal/auth"
	"hapax/internal/wire"
	"hapax/protocol"
)

// roomsScan is how many rooms one request looks at to find those that its actor may read. Then it answers with what it found and
// where to go on, so that an actor with few rights can't make the server read all rooms at once.
const (
	roomsScan  = 10_000
	roomsChunk = 500
	roomsLimit = 200
)

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
	after, _ := q.text("after")
	limit := int(q.integer("limit", roomsLimit, 1))
	if q.fault == "" && (limit > roomsLimit || len(after) > s.Protocol.Room || !utf8.ValidString(after)) {
		q.fault = "limit is 200 at most, and after a room's name"
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

func (s *server) readable(ctx context.Context, session *auth.Session, after string, limit int) (roomList, error) {
	list := roomList{Epoch: s.Rooms.Identity().Epoch, Rooms: []roomEntry{}}
	for scanned := 0; ; {
		heads, err := s.Rooms.List(ctx, after, roomsChunk)
		if err != nil {
			return list, err
		}
		for _, h := range heads {
			if len(list.Rooms) == limit || scanned == roomsScan {
				list.Next = after
				return list, nil
			}
			after = h.Name
			scanned++
			if session.CanRead(h.Name) {
				list.Rooms = append(list.Rooms, roomEntry{Room: h.Name, Head: h.State.Head, HeadID: h.State.HeadID})
			}
		}
		if len(heads) < roomsChunk {
			return list, nil
		}
	}
}
