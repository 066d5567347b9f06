package serve_test

import (
	"strings"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/protocol"
)

func TestAMessagesWayOverWebSocket(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		ada, ben := r.enter("ada"), r.enter("ben")
		if s := ada.subscribe("tea"); s.num("head") != 0 || s.str("headId") != "" || len(s.rows("messages")) != 0 || s.str("epoch") == "" {
			t.Fatalf("an empty room: %v", s)
		}
		ben.subscribe("tea")
		ada.send(object{"type": "send", "ref": "r1", "room": "tea", "clientMessageId": "id-1", "text": "hot", "data": object{"b": 1, "a": []int{2}}, "unknown": true})
		ack := ada.want("ack")
		if ack.str("ref") != "r1" || ack.str("clientMessageId") != "id-1" || ack.num("seq") != 1 || ack.is("duplicate") || ack.str("messageId") == "" {
			t.Fatalf("ack %v", ack)
		}
		own, other := ada.want("message"), ben.want("message")
		if own.str("clientMessageId") != "id-1" || other["clientMessageId"] != nil || other.str("actor") != "ada" || other.str("text") != "hot" || other.str("messageId") != ack.str("messageId") {
			t.Fatalf("own %v\nother %v", own, other)
		}
		ada.send(object{"type": "status", "room": "tea", "clientMessageId": "id-1"})
		if a := ada.want("ack"); !a.is("duplicate") || a.num("seq") != 1 || a.num("at") != ack.num("at") {
			t.Fatalf("status %v", a)
		}
		ada.send(object{"type": "status", "room": "tea", "clientMessageId": "id-2", "ref": "x"})
		if e := ada.wantError(protocol.NotFound); e.str("ref") != "x" || e.str("clientMessageId") != "id-2" || e.str("room") != "tea" {
			t.Fatalf("status of an unknown id: %v", e)
		}
		ada.send(object{"type": "history", "room": "tea", "before": 2, "limit": 10})
		if p := ada.want("page"); len(p.rows("messages")) != 1 || p.rows("messages")[0].str("clientMessageId") != "id-1" || p.is("more") {
			t.Fatalf("page %v", p)
		}
		before := time.Now().UnixMilli()
		ada.send(object{"type": "ping"})
		if p := ada.want("pong"); p.num("serverTime") < before {
			t.Fatalf("pong %v", p)
		}
		ben.send(object{"type": "unsubscribe", "room": "tea"})
		ben.want("unsubscribed")
		ada.say("tea", "id-3", "cold")
		ada.want("ack")
		ben.send(object{"type": "ping"})
		ben.want("pong") // and not the message
		ben.send(object{"type": "subscribe", "room": "tea", "cursor": object{"epoch": ack.str("epoch"), "after": 1, "messageId": ack.str("messageId")}})
		if d := ben.want("delta"); len(d.rows("messages")) != 1 || d.num("head") != 2 || d.is("more") || d.rows("messages")[0]["clientMessageId"] != nil {
			t.Fatalf("delta %v", d)
		}
	})
}

func TestWelcomeTellsWhatAClientNeeds(t *testing.T) {
	r := start(t, setup{})
	s := r.connect()
	s.send(object{"type": "hello", "token": r.token("ada"), "ref": "h"})
	w := s.want("welcome")
	limits, _ := w["limits"].(map[string]any)
	dedupe, _ := w["dedupe"].(map[string]any)
	if w.str("actor") != "ada" || w.str("server") == "" || w.str("epoch") == "" || w.str("session") == "" || w.str("ref") != "h" ||
		object(limits).num("text") != 16<<10 || object(dedupe).num("retentionMs") != (30*24*time.Hour).Milliseconds() {
		t.Fatalf("%v", w)
	}
}

func TestBadCommandsAreAnsweredAndTheConnectionGoesOn(t *testing.T) {
	r := start(t, setup{})
	s := r.enter("ada")
	s.subscribe("tea")
	long := strings.Repeat("i", 129)
	for name, c := range map[string]struct {
		frame string
		code  protocol.Code
	}{
		"not JSON":            {`hello?`, protocol.BadRequest},
		"nothing":             {``, protocol.BadRequest},
		"an array":            {`[]`, protocol.BadRequest},
		"two documents":       {`{"type":"ping"}{"type":"ping"}`, protocol.BadRequest},
		"unknown type":        {`{"type":"shout"}`, protocol.BadRequest},
		"no type":             {`{"room":"tea"}`, protocol.BadRequest},
		"other case":          {`{"Type":"ping"}`, protocol.BadRequest},
		"wrong type":          {`{"type":"send","room":"tea","clientMessageId":"a","text":5}`, protocol.BadRequest},
		"repeated member":     {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","text":"y"}`, protocol.BadRequest},
		"repeated in data":    {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","data":{"k":1,"k":2}}`, protocol.BadRequest},
		"deep nesting":        {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","data":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, protocol.BadRequest},
		"control in the room": {`{"type":"subscribe","room":"te\u0007a"}`, protocol.BadRequest},
		"room of 129 bytes":   {`{"type":"subscribe","room":"` + long + `"}`, protocol.BadRequest},
		"empty id":            {`{"type":"send","room":"tea","clientMessageId":"","text":"x"}`, protocol.BadRequest},
		"id of 129 bytes":     {`{"type":"send","room":"tea","clientMessageId":"` + long + `","text":"x"}`, protocol.BadRequest},
		"id of zeros":         {`{"type":"send","room":"tea","clientMessageId":"` + strings.Repeat("0", 32) + `","text":"x"}`, protocol.BadRequest},
		"follows itself":      {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","follows":"a"}`, protocol.BadRequest},
		"integer too large":   {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","data":9007199254740993}`, protocol.BadRequest},
		"lone surrogate":      {`{"type":"send","room":"tea","clientMessageId":"a","text":"\ud800"}`, protocol.BadRequest},
		"text of 16 KiB + 1":  {`{"type":"send","room":"tea","clientMessageId":"a","text":"` + strings.Repeat("x", 16<<10+1) + `"}`, protocol.TooLarge},
		"data of 64 KiB + 1":  {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","data":"` + strings.Repeat("x", 64<<10-1) + `"}`, protocol.TooLarge},
		"limit of 201":        {`{"type":"subscribe","room":"tea","limit":201}`, protocol.BadRequest},
		"half a cursor":       {`{"type":"subscribe","room":"tea","cursor":{"epoch":"e","after":1}}`, protocol.BadRequest},
		"not subscribed":      {`{"type":"send","room":"coffee","clientMessageId":"a","text":"x"}`, protocol.NotSubscribed},
		"follows the unknown": {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","follows":"b"}`, protocol.OutOfOrder},
		"too long ago":        {`{"type":"send","room":"tea","clientMessageId":"a","text":"x","sentAt":1}`, protocol.OutcomeUnknown},
		"status, long ago":    {`{"type":"status","room":"tea","clientMessageId":"a","sentAt":1}`, protocol.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := &socket{t, s.conn}
			s.write(1, []byte(c.frame))
			s.wantError(c.code)
			s.send(object{"type": "ping"})
			s.want("pong")
		})
	}
	if a := r.get("/v1/rooms/tea/messages", r.token("ada")); len(a.body.rows("messages")) != 0 {
		t.Fatalf("something was stored: %s", a.raw)
	}
}

// The largest send that the limits allow goes through, however its text has to be escaped (C20).
func TestTheLargestSendFits(t *testing.T) {
	r := start(t, setup{kind: "pebble"})
	s := r.enter("ada")
	s.subscribe("tea")
	text, data := strings.Repeat("<", 16<<10), strings.Repeat("\u0001", (64<<10-2)/6)
	s.send(object{"type": "send", "room": "tea", "clientMessageId": "a", "text": text, "data": data})
	s.want("ack")
	if m := s.want("message"); m.str("text") != text || m.str("data") != data {
		t.Fatal("the content changed")
	}
}

func TestCursorsThatDontFitGetASnapshot(t *testing.T) {
	r := start(t, setup{})
	s := r.enter("ada")
	epoch := s.subscribe("tea").str("epoch")
	s.say("tea", "a", "x")
	id := s.want("ack").str("messageId")
	s.want("message")
	for name, cursor := range map[string]object{
		"future":         {"epoch": epoch, "after": 5, "messageId": "m"},
		"other epoch":    {"epoch": "another", "after": 1, "messageId": id},
		"foreign row":    {"epoch": epoch, "after": 1, "messageId": "another"},
		"malformed":      {"epoch": epoch, "after": 0, "messageId": id},
		"last of all":    {"epoch": epoch, "after": int64(protocol.MaxSeq), "messageId": id},
		"row without id": {"epoch": epoch, "after": 1, "messageId": ""},
	} {
		s.send(object{"type": "subscribe", "room": "tea", "cursor": cursor})
		if got := s.want("snapshot"); len(got.rows("messages")) != 1 || got.num("head") != 1 || got.str("headId") != id {
			t.Errorf("%s: %v", name, got)
		}
	}
	s.send(object{"type": "subscribe", "room": "tea", "cursor": object{"epoch": epoch, "after": 1, "messageId": id}})
	if got := s.want("delta"); len(got.rows("messages")) != 0 || got.is("more") {
		t.Errorf("a right cursor: %v", got)
	}
	metrics := r.admin("/metrics")
	if !strings.Contains(metrics, "hapax_cursor_alarms_total 5") || !strings.Contains(metrics, `hapax_resumes_total{result="other_epoch"} 1`) {
		t.Errorf("alarms aren't counted:\n%s", metrics)
	}
}

func TestRightsAreKept(t *testing.T) {
	r := start(t, setup{})
	s := r.enter("ada", "read=r", "write=w", "both-*=rw")
	for _, c := range []struct {
		frame object
		code  protocol.Code // "": allowed
		want  string
	}{
		{object{"type": "subscribe", "room": "read"}, "", "snapshot"},
		{object{"type": "send", "room": "read", "clientMessageId": "a", "text": "x"}, protocol.Forbidden, ""},
		{object{"type": "subscribe", "room": "write"}, protocol.Forbidden, ""},
		{object{"type": "history", "room": "write", "before": 9, "limit": 1}, protocol.Forbidden, ""},
		{object{"type": "send", "room": "write", "clientMessageId": "a", "text": "x"}, "", "ack"}, // who may not read needs no subscription
		{object{"type": "send", "room": "both-1", "clientMessageId": "a", "text": "x"}, protocol.NotSubscribed, ""},
		{object{"type": "history", "room": "both-1", "before": 9, "limit": 1}, "", "page"},
		{object{"type": "subscribe", "room": "other"}, protocol.Forbidden, ""},
		{object{"type": "status", "room": "other", "clientMessageId": "a"}, protocol.NotFound, ""}, // of one's own key, so a session is enough
	} {
		s.send(c.frame)
		if c.code != "" {
			s.wantError(c.code)
		} else {
			s.want(c.want)
		}
	}
}

func TestARenewalThatDropsARightEndsTheSubscription(t *testing.T) {
	r := start(t, setup{})
	s, other := r.enter("ada"), r.enter("ben")
	s.subscribe("tea")
	s.subscribe("milk")
	other.subscribe("tea")
	s.send(object{"type": "hello", "token": r.token("ada", "milk=rw", "tea=w")})
	s.want("welcome")
	if u := s.want("unsubscribed"); u.str("room") != "tea" || u.str("reason") != "forbidden" {
		t.Fatalf("%v", u)
	}
	other.say("tea", "a", "x")
	other.want("ack")
	s.say("milk", "b", "y") // the next that comes is of milk
	s.want("ack")
	if m := s.want("message"); m.str("room") != "milk" {
		t.Fatalf("%v", m)
	}
}

func TestAnotherActorsTokenEndsTheConnection(t *testing.T) { // R30
	r := start(t, setup{})
	s := r.enter("ada")
	s.send(object{"type": "hello", "token": r.token("eve")})
	s.wantError(protocol.ActorMismatch)
	s.wantClose(protocol.ActorMismatch.Rule().Close)
	again := r.enter("ada")
	again.send(object{"type": "hello", "token": "nonsense"}) // a renewal that fails leaves the session
	again.wantError(protocol.SessionInvalid)
	again.subscribe("tea")
}

func TestHelloComesFirstAndInTime(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Timeouts.Hello = 200 * time.Millisecond }})
	s := r.connect()
	s.say("tea", "a", "x")
	if e := s.wantError(protocol.SessionInvalid); e.str("clientMessageId") != "a" || e.str("room") != "tea" {
		t.Fatalf("%v", e)
	}
	s.wantClose(protocol.SessionInvalid.Rule().Close)
	silent := r.connect()
	silent.wantError(protocol.SessionInvalid) // no hello came in time
	silent.wantClose(protocol.SessionInvalid.Rule().Close)
}

func TestWrongTokensAreRefused(t *testing.T) {
	r := start(t, setup{})
	foreign := start(t, setup{}).token("ada")
	for name, token := range map[string]string{
		"not a token":    "nonsense",
		"of another key": foreign,
		"alg none":       "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhZGEiLCJleHAiOjk5OTk5OTk5OTl9.",
		"tampered":       r.token("ada")[:40] + "x" + r.token("ada")[41:],
	} {
		s := r.connect()
		s.send(object{"type": "hello", "token": token, "ref": "h"})
		if e := s.wantError(protocol.SessionInvalid); e.str("ref") != "h" {
			t.Errorf("%s: %v", name, e)
		}
		s.wantClose(protocol.SessionInvalid.Rule().Close)
		if a := r.get("/v1/rooms", token); a.status != 401 || a.header.Get("WWW-Authenticate") == "" || a.body.str("code") != "session_invalid" {
			t.Errorf("%s over HTTP: %d %s", name, a.status, a.raw)
		}
	}
}
