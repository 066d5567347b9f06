package serve_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/internal/store"
)

func TestKeysInHeaders(t *testing.T) {
	r := start(t, setup{})
	token := r.token("ada")
	send := func(values ...string) answer {
		t.Helper()
		return r.request("POST", "/v1/rooms/tea/messages", token, strings.NewReader(`{"text":"x"}`), http.Header{"Idempotency-Key": values})
	}
	if a := send("k-1"); a.status != 201 || a.body.str("clientMessageId") != "k-1" {
		t.Fatal(a.status, a.raw)
	}
	if a := send(`"k-1"`); a.status != 200 || a.header.Get("Idempotency-Replayed") != "true" {
		t.Error("in quotes:", a.status, a.raw)
	}
	for name, values := range map[string][]string{
		"none": nil, "empty": {""}, "several": {"k-2", "k-2"}, "zeros": {strings.Repeat("0", 32)}, "129 bytes": {strings.Repeat("k", 129)},
		"a blank inside": {"k 2"}, "half a quote": {`"k-2`},
	} {
		if a := send(values...); a.status != 400 || a.body.str("code") != "bad_request" || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
}

func TestProblemsOverHTTP(t *testing.T) {
	r := start(t, setup{})
	all, mine := r.token("ada"), r.token("ada", "read=r", "write=w")
	for name, c := range map[string]struct {
		got    answer
		status int
		code   string
	}{
		"no token":              {r.get("/v1/rooms", ""), 401, "session_invalid"},
		"basic":                 {r.request("GET", "/v1/rooms", "", nil, http.Header{"Authorization": {"Basic YTpi"}}), 401, "session_invalid"},
		"two tokens":            {r.request("GET", "/v1/rooms", "", nil, http.Header{"Authorization": {"Bearer " + all, "Bearer " + all}}), 401, "session_invalid"},
		"no right to write":     {r.post("read", mine, "a", `{"text":"x"}`), 403, "forbidden"},
		"no right to read":      {r.get("/v1/rooms/write/messages", mine), 403, "forbidden"},
		"not JSON":              {r.post("tea", all, "a", `hello`), 400, "bad_request"},
		"no text":               {r.post("tea", all, "a", `{}`), 400, "bad_request"},
		"repeated member":       {r.post("tea", all, "a", `{"text":"x","text":"y"}`), 400, "bad_request"},
		"two documents":         {r.post("tea", all, "a", `{"text":"x"}{}`), 400, "bad_request"},
		"other case":            {r.post("tea", all, "a", `{"Text":"x"}`), 400, "bad_request"},
		"invalid UTF-8":         {r.post("tea", all, "a", "{\"text\":\"\xff\"}"), 400, "bad_request"},
		"long text":             {r.post("tea", all, "a", `{"text":"`+strings.Repeat("x", 16<<10+1)+`"}`), 413, "too_large"},
		"1 MB":                  {r.post("tea", all, "a", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`), 413, "too_large"},
		"control in the room":   {r.post("te%07a", all, "a", `{"text":"x"}`), 400, "bad_request"},
		"room of invalid UTF-8": {r.post("te%ffa", all, "a", `{"text":"x"}`), 400, "bad_request"},
		"room of 129 bytes":     {r.post(strings.Repeat("r", 129), all, "a", `{"text":"x"}`), 400, "bad_request"},
		"too long ago":          {r.post("tea", all, "a", `{"text":"x","sentAt":1}`), 410, "outcome_unknown"},
		"out of order":          {r.post("tea", all, "a", `{"text":"x","follows":"b"}`), 409, "out_of_order"},
		"unknown key":           {r.get("/v1/rooms/tea/messages/by-key/a", all), 404, "not_found"},
		"unknown and old":       {r.get("/v1/rooms/tea/messages/by-key/a?sentAt=1", all), 410, "outcome_unknown"},
		"no key":                {r.get("/v1/rooms/tea/messages/by-key/"+strings.Repeat("0", 32), all), 400, "bad_request"},
		"bad sentAt":            {r.get("/v1/rooms/tea/messages/by-key/a?sentAt=soon", all), 400, "bad_request"},
		"half a cursor":         {r.get("/v1/rooms/tea/messages?epoch=e&after=1", all), 400, "bad_request"},
		"cursor and before":     {r.get("/v1/rooms/tea/messages?epoch=e&after=1&messageId=m&before=3", all), 400, "bad_request"},
		"limit 0":               {r.get("/v1/rooms/tea/messages?limit=0", all), 400, "bad_request"},
		"limit 201":             {r.get("/v1/rooms/tea/messages?limit=201", all), 400, "bad_request"},
		"limit twice":           {r.get("/v1/rooms/tea/messages?limit=1&limit=2", all), 400, "bad_request"},
		"nothing there":         {r.get("/v2/rooms", all), 404, "not_found"},
		"before is no escape":   {r.get("/v1/rooms/tea/messages?before=%zz", all), 400, "bad_request"},
		"a semicolon":           {r.get("/v1/rooms?limit=1;after=x", all), 400, "bad_request"},
		"a key of two dots":     {r.get("/v1/rooms/tea/messages/by-key/..", all), 400, "bad_request"},
		"a key of one dot":      {r.get("/v1/rooms/tea/messages/by-key/.", all), 400, "bad_request"},
		"a room of two dots":    {r.get("/v1/rooms/../messages", all), 400, "bad_request"},
		"an empty room":         {r.get("/v1/rooms//messages", all), 400, "bad_request"},
		"two slashes":           {r.get("//v1/rooms", all), 400, "bad_request"},
		"dots before the page":  {r.get("/assets/../v1/rooms", all), 400, "bad_request"},
		"wrong method":          {r.request("DELETE", "/v1/rooms/tea/messages", all, nil, nil), 405, "bad_request"},
	} {
		a := c.got
		if a.status != c.status || a.body.str("code") != c.code || a.header.Get("Content-Type") != "application/problem+json" || a.body.num("status") != int64(c.status) {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	if a := r.get("/v1/rooms", all); len(a.body.rows("rooms")) != 0 {
		t.Errorf("something was stored: %s", a.raw)
	}
	if a := r.request("DELETE", "/v1/rooms/tea/messages", all, nil, nil); a.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow: %q", a.header.Get("Allow"))
	}
}

// Any room's name is one escaped path segment.
func TestRoomsOfEveryName(t *testing.T) {
	r := start(t, setup{})
	token := r.token("ada")
	names := []string{"a/b", "...", "*b", "a b", "ü", "100%", "a?b#c", "a+b", "by-key", "//", "q=\"x\"&y", strings.Repeat("ü", 64)}
	for _, name := range names {
		segment := url.PathEscape(name)
		if a := r.post(segment, token, "k", `{"text":"x"}`); a.status != 201 || a.body.str("room") != name {
			t.Errorf("%q: %d %s", name, a.status, a.raw)
		}
		if a := r.get("/v1/rooms/"+segment+"/messages/by-key/k", token); a.status != 200 {
			t.Errorf("%q by key: %d %s", name, a.status, a.raw)
		}
	}
	for _, segment := range []string{"%2E", "%2E%2E", "pub*", "%2A"} {
		if a := r.post(segment, token, "k", `{"text":"x"}`); a.status != 400 || a.body.str("code") != "bad_request" {
			t.Errorf("%s was made: %d %s", segment, a.status, a.raw)
		}
	}
	if list := r.get("/v1/rooms", token).body.rows("rooms"); len(list) != len(names) {
		t.Errorf("%d rooms of %d: %v", len(list), len(names), list)
	}
}

func TestRoomsThatTheActorMayRead(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		all := r.token("ada")
		for _, name := range []string{"b", "a", "c", "aa", "x"} {
			r.post(name, all, "k", `{"text":"1"}`)
			r.post(name, all, "l", `{"text":"2"}`)
		}
		names := func(a answer) (list []string) {
			for _, o := range a.body.rows("rooms") {
				if o.num("head") != 2 || o.str("headId") == "" {
					t.Errorf("head of %v", o)
				}
				list = append(list, o.str("room"))
			}
			return list
		}
		if a := r.get("/v1/rooms", all); fmt.Sprint(names(a)) != "[a aa b c x]" || a.body.str("epoch") == "" || a.body["next"] != nil {
			t.Error(a.raw)
		}
		if a := r.get("/v1/rooms", r.token("eve", "a*=r", "c=rw", "x=w")); fmt.Sprint(names(a)) != "[a aa c]" {
			t.Error(a.raw)
		}
		first := r.get("/v1/rooms?limit=2", all)
		if fmt.Sprint(names(first)) != "[a aa]" || first.body.str("next") == "" {
			t.Error(first.raw)
		}
		if a := r.get("/v1/rooms?limit=3&after="+first.body.str("next"), all); fmt.Sprint(names(a)) != "[b c x]" || a.body["next"] != nil {
			t.Error(a.raw)
		}
		if a := r.get("/v1/rooms", r.token("nobody", "z=r")); a.status != 200 || len(names(a)) != 0 {
			t.Error(a.raw)
		}
	})
}

func TestReadingOverHTTP(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		ada, ben := r.token("ada"), r.token("ben")
		empty := r.get("/v1/rooms/tea/messages", ada)
		if empty.status != 200 || empty.body.num("head") != 0 || !empty.body.is("reset") || len(empty.body.rows("messages")) != 0 {
			t.Fatal(empty.status, empty.raw)
		}
		var ids []string
		for i := range 10 {
			ids = append(ids, r.post("tea", ada, fmt.Sprint("k", i), `{"text":"x"}`).body.str("messageId"))
		}
		epoch := empty.body.str("epoch")
		seqs := func(a answer) (list []int64) {
			for _, m := range a.body.rows("messages") {
				list = append(list, m.num("seq"))
			}
			return list
		}
		from := func(after int, id string, more string) answer {
			return r.get(fmt.Sprintf("/v1/rooms/tea/messages?epoch=%s&after=%d&messageId=%s%s", epoch, after, id, more), ada)
		}
		if a := from(0, "", ""); fmt.Sprint(seqs(a)) != "[1 2 3 4 5 6 7 8 9 10]" || a.body.is("reset") || a.body.is("more") || a.body.str("type") != "delta" {
			t.Error(a.raw)
		}
		if a := from(4, ids[3], "&limit=3"); fmt.Sprint(seqs(a)) != "[5 6 7]" || !a.body.is("more") || a.body.num("head") != 10 || a.body.str("headId") != ids[9] {
			t.Error(a.raw)
		}
		if a := from(10, ids[9], ""); len(seqs(a)) != 0 || a.body.is("reset") {
			t.Error(a.raw)
		}
		if a := from(11, "future", "&limit=2"); fmt.Sprint(seqs(a)) != "[9 10]" || !a.body.is("reset") || a.body.str("type") != "snapshot" {
			t.Error(a.raw)
		}
		if a := r.get("/v1/rooms/tea/messages?before=4&limit=2", ada); fmt.Sprint(seqs(a)) != "[2 3]" || !a.body.is("more") || a.body.str("type") != "page" {
			t.Error(a.raw)
		}
		if a := r.get("/v1/rooms/tea/messages?limit=1", ben); a.body.rows("messages")[0]["clientMessageId"] != nil {
			t.Error("another's id shows:", a.raw)
		}
		if a := r.get("/v1/rooms/tea/messages/by-key/k3", ada); a.status != 200 || a.body.num("seq") != 4 || !a.body.is("duplicate") {
			t.Error(a.raw)
		}
	})
}

func TestWhoWaitsTooLongIsToldThatItIsInProgress(t *testing.T) {
	var g *gate
	r := start(t, setup{
		change: func(c *config.Config) { c.Timeouts.Send = 50 * time.Millisecond },
		wrap:   func(st store.Store) store.Store { g = newGate(st); return g },
	})
	release := g.hold()
	defer release()
	a := r.post("tea", r.token("ada"), "a", `{"text":"x"}`)
	if a.status != 409 || a.body.str("code") != "in_progress" || a.header.Get("Retry-After") == "" || !a.body.is("retryable") {
		t.Fatal(a.status, a.raw)
	}
	release()
	var again answer
	for again.status = 409; again.status == 409; {
		again = r.post("tea", r.token("ada"), "a", `{"text":"x"}`)
	}
	if again.status != 200 || again.body.num("seq") != 1 {
		t.Fatal(again.status, again.raw)
	}
}

func TestRequestsInWorkAreBounded(t *testing.T) {
	var g *gate
	r := start(t, setup{
		change: func(c *config.Config) { c.Limits.Requests = 1 },
		wrap:   func(st store.Store) store.Store { g = newGate(st); return g },
	})
	release := g.hold()
	defer release()
	waiting := r.postLater("tea", r.token("ada"), "a", `{"text":"x"}`)
	<-g.entered
	if a := r.get("/v1/rooms", r.token("ada")); a.status != 503 || a.body.str("code") != "unavailable" || a.header.Get("Retry-After") == "" {
		t.Error(a.status, a.raw)
	}
	release()
	if a := <-waiting; a.status != 201 {
		t.Error(a.status, a.raw)
	}
}

// A body that was cut off on its way says nothing of the request: the same one, sent again, is taken.
func TestAPostCutOffOnItsWayIsSentAgain(t *testing.T) {
	r := start(t, setup{})
	token := r.token("ada")
	head := "POST /v1/rooms/tea/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: k-1\r\n" +
		"Authorization: Bearer " + token + "\r\n"
	for name, rest := range map[string]string{
		"a length":      "Content-Length: 90\r\n\r\n{\"text\":\"x\"",
		"a chunk":       "Transfer-Encoding: chunked\r\n\r\nff\r\n{\"text\":",
		"no last chunk": "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"text\":\"x\"}\r\n",
	} {
		c, err := net.Dial("tcp", r.at.Clients)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, head+rest)
		if err := errors.Join(err, c.(*net.TCPConn).CloseWrite()); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"unavailable"`) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
		_ = c.Close()
	}
	if a := r.post("tea", token, "k-1", `{"text":"x"}`); a.status != 201 {
		t.Error("sent again:", a.status, a.raw)
	}
}
