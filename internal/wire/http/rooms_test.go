package http

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/telemetry"
	"hapax/internal/wire"
	"hapax/internal/wire/limit"
	"hapax/protocol"
)

// listed is an engine that has rooms by name, and counts how many it was asked to read.
type listed struct {
	engine.Rooms
	names []string
	read  int
}

func (l *listed) Identity() engine.Identity { return engine.Identity{Epoch: "e"} }

func (l *listed) List(_ context.Context, after string, limit int) (heads []engine.RoomHead, err error) {
	at := sort.SearchStrings(l.names, after)
	if at < len(l.names) && l.names[at] == after {
		at++
	}
	for _, name := range l.names[at:min(len(l.names), at+limit)] {
		heads = append(heads, engine.RoomHead{Name: name})
	}
	l.read += len(heads)
	return heads, nil
}

func readerOf(t *testing.T, grants ...auth.Grant) *auth.Session {
	t.Helper()
	key, err := auth.OpenLocalKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	token, err := key.SignClaims(auth.Claims{Actor: "ann", Rooms: grants}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.New(t.Context(), key.Options())
	if err != nil {
		t.Fatal(err)
	}
	s, err := tokens.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A listing reads what its token may read and no more, and neither its rooms nor its cursors name anything else.
func TestAListingKnowsOnlyWhatItsTokenReads(t *testing.T) {
	rooms := &listed{}
	for i := range 10_050 {
		rooms.names = append(rooms.names, fmt.Sprintf("secret-project-%05d", i))
	}
	rooms.names = append(rooms.names, "a", "pub*", "public", "team", "team/1", "team/2", "team/3", "team0", "zz")
	slices.Sort(rooms.names)
	s := &server{Options{Rooms: rooms}}
	read := func(name string) auth.Grant { return auth.Grant{Room: name, Rights: auth.Read} }
	for name, c := range map[string]struct {
		grants []auth.Grant
		want   string
	}{
		"a room that isn't there": {[]auth.Grant{read("zzz")}, ""},
		"one room":                {[]auth.Grant{read("zz")}, "zz"},
		"no right to read":        {[]auth.Grant{{Room: "*", Rights: auth.Write}}, ""},
		"nothing":                 {nil, ""},
		"a prefix":                {[]auth.Grant{read("team/*")}, "team/1 team/2 team/3"},
		"a star that is a name":   {[]auth.Grant{{Room: "pub*", Rights: auth.Read, Form: auth.Name}}, "pub*"},
		"ranges that overlap":     {[]auth.Grant{read("team/2"), read("team*"), read("a"), read("a"), read("zz")}, "a team team/1 team/2 team/3 team0 zz"},
	} {
		for limit := 1; limit <= 4; limit++ {
			session, got, pages, after := readerOf(t, c.grants...), []string{}, 0, ""
			rooms.read = 0
			for {
				list, err := s.readable(t.Context(), session, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range list.Rooms {
					got = append(got, r.Room)
				}
				pages++
				if list.Next == "" {
					break
				}
				var ok bool
				if after, ok = openCursor(list.Next); !ok || !slices.Contains(got, after) {
					t.Fatalf("%s: the cursor names %q", name, after)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s by %d: %q, want %q", name, limit, got, c.want)
			}
			if most := pages * (limit + 1 + len(c.grants)); rooms.read > most {
				t.Errorf("%s by %d: %d rooms were read for %d pages", name, limit, rooms.read, pages)
			}
		}
	}
}

func TestCursorsOfListingsAreOpaque(t *testing.T) {
	rooms := &listed{names: []string{"a", "b"}}
	door := wire.NewDoor(limit.New(limit.Limits{}, nil, nil), nil, telemetry.NewMetrics(), slog.New(slog.DiscardHandler), time.Second)
	s := &server{Options{Rooms: rooms, Door: door, Protocol: protocol.DefaultLimits}}
	session := readerOf(t, auth.Grant{Room: "*", Rights: auth.Read})
	ask := func(query string) (int, string) {
		w := httptest.NewRecorder()
		s.rooms(w, httptest.NewRequest(http.MethodGet, "/v1/rooms?"+query, nil), session)
		return w.Code, w.Body.String()
	}
	if status, body := ask("limit=1&after=" + sealCursor("a")); status != 200 || !strings.Contains(body, `"room":"b"`) {
		t.Error(status, body)
	}
	for _, after := range []string{"a", "b", "secret", "r1", "r1!!", "r1YR", sealCursor("a") + "=", sealCursor("a\x00")} {
		if status, body := ask("after=" + after); status != 400 {
			t.Errorf("%q: %d %s", after, status, body)
		}
	}
}
