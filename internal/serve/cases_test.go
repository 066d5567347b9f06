package serve_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/internal/store"
	"hapax/protocol"
)

// same tells whether two acks name the same stored message.
func same(a, b object) bool {
	for _, name := range []string{"messageId", "epoch"} {
		if a.str(name) != b.str(name) {
			return false
		}
	}
	return a.num("seq") == b.num("seq") && a.num("at") == b.num("at")
}

func TestR04OneRowWhenOneKeyComesFourWaysAtOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		var g *gate
		r := start(t, setup{kind: kind, wrap: func(st store.Store) store.Store { g = newGate(st); return g }})
		var sockets []*socket
		for range 3 {
			s := r.enter("ada")
			s.subscribe("tea")
			sockets = append(sockets, s)
		}
		other := r.enter("ada")
		other.subscribe("tea")
		release := g.hold()
		defer release()
		sockets[0].say("tea", "a", "x")
		<-g.entered // the first is being stored; what comes now is a repeat in flight
		sockets[1].say("tea", "a", "x")
		sockets[2].say("tea", "a", "x")
		other.say("tea", "a", "another text")
		posted := r.postLater("tea", r.token("ada"), "a", `{"text":"x"}`)
		r.until("hapax_queue_commands 4") // all of them wait behind the first
		release()
		first := sockets[0].want("ack")
		acks, firsts := []object{first}, 0
		for _, s := range sockets[1:] {
			acks = append(acks, s.skipTo("ack"))
		}
		p := <-posted
		acks = append(acks, p.body)
		for _, a := range acks {
			if !same(a, first) {
				t.Errorf("%v is not %v", a, first)
			}
			if !a.is("duplicate") {
				firsts++
			}
		}
		if firsts != 1 || p.status >= 500 {
			t.Errorf("%d firsts, HTTP %d %s", firsts, p.status, p.raw)
		}
		if e := other.skipTo("error"); e.str("code") != string(protocol.IDConflict) || e.str("messageId") != first.str("messageId") {
			t.Errorf("the conflict doesn't name the original: %v", e)
		}
		if rows := r.get("/v1/rooms/tea/messages", r.token("ada")).body.rows("messages"); len(rows) != 1 {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestR05TheOrderStandsWhenAnAckIsLost(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		lost := r.enter("ada")
		lost.subscribe("tea")
		lost.say("tea", "a", "A")
		lost.send(object{"type": "send", "room": "tea", "clientMessageId": "b", "text": "B", "follows": "a"})
		a, b := lost.want("ack"), object(nil)
		for b == nil || b.str("clientMessageId") != "b" {
			o, err := lost.read()
			if err != nil {
				t.Fatal(err)
			}
			if o.str("type") == "ack" {
				b = o
			}
		}
		_ = lost.conn.CloseNow()
		s := r.enter("ada")
		s.subscribe("tea")
		s.say("tea", "a", "A")
		if again := s.want("ack"); !again.is("duplicate") || !same(again, a) {
			t.Fatalf("%v, first %v", again, a)
		}
		if a.num("seq") != 1 || b.num("seq") != 2 {
			t.Fatalf("a %v, b %v", a, b)
		}
	})
}

func TestR06R07WhatIsTheSameContent(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		token := r.token("ada")
		first := r.post("tea", token, "a", `{"text":"x","data":{"k":1,"l":[1,2]}}`)
		if first.status != 201 || first.header.Get("Idempotency-Replayed") != "" {
			t.Fatal(first.status, first.raw)
		}
		for _, body := range []string{
			`{"data":{"l":[1,2],"k":1},"text":"x"}`, " {\n\"text\" : \"\\u0078\", \"data\":{ \"k\":1.0,\"l\":[1,2] } }\n",
			`{"text":"x","data":{"k":1,"l":[1,2]},"ignored":true,"sentAt":` + fmt.Sprint(time.Now().UnixMilli()) + `}`,
		} {
			if a := r.post("tea", token, "a", body); a.status != 200 || a.header.Get("Idempotency-Replayed") != "true" || !same(a.body, first.body) || !a.body.is("duplicate") {
				t.Errorf("%s: %d %s", body, a.status, a.raw)
			}
		}
		for _, body := range []string{`{"text":"y","data":{"k":1,"l":[1,2]}}`, `{"text":"x","data":{"k":1,"l":[2,1]}}`, `{"text":"x"}`} {
			if a := r.post("tea", token, "a", body); a.status != 422 || a.body.str("code") != "id_conflict" || a.body.str("messageId") != first.body.str("messageId") {
				t.Errorf("%s: %d %s", body, a.status, a.raw)
			}
		}
		if rows := r.get("/v1/rooms/tea/messages", token).body.rows("messages"); len(rows) != 1 || rows[0].str("text") != "x" {
			t.Errorf("%v", rows)
		}
	})
}

func TestR08FourPipelined(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		r.post("tea", r.token("ada"), "a", `{"text":"A"}`)
		s := r.enter("ada")
		s.subscribe("tea")
		s.say("tea", "a", "A")
		s.say("tea", "b", "B")
		s.say("tea", "a", "A")
		s.say("tea", "a", "C")
		var got []string
		for len(got) < 4 {
			o, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case o.str("type") == "message":
			case o.str("type") == "error":
				got = append(got, o.str("code"))
			default:
				got = append(got, fmt.Sprint(o.is("duplicate"), o.num("seq")))
			}
		}
		if want := []string{"true 1", "false 2", "true 1", "id_conflict"}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestR10R27KeysAreThreeColumns(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		type send struct{ actor, room, id string }
		seenIDs := map[string]send{}
		for _, k := range []send{{"ada", "a_b", "c"}, {"ada", "a", "b_c"}, {"eve", "a_b", "c"}, {"ada", "a_b", "C"}, {"a", "da", "a"}, {"ad", "aa", "a"}} {
			a := r.post(k.room, r.token(k.actor), k.id, `{"text":"`+k.actor+`"}`)
			if a.status != 201 {
				t.Errorf("%v: %d %s", k, a.status, a.raw)
			}
			if before, again := seenIDs[a.body.str("messageId")]; again {
				t.Errorf("%v got the row of %v", k, before)
			}
			seenIDs[a.body.str("messageId")] = k
		}
		if a := r.get("/v1/rooms/a_b/messages/by-key/c", r.token("mallory")); a.status != 404 || strings.Contains(a.raw, "ada") {
			t.Errorf("another actor sees a key: %d %s", a.status, a.raw)
		}
	})
}

func TestR24TheOwnRowComesHoweverItsAckWasLost(t *testing.T) {
	r := start(t, setup{kind: "pebble"})
	a := r.post("tea", r.token("ada"), "a", `{"text":"x"}`).body
	s := r.enter("ada")
	if rows := s.subscribe("tea").rows("messages"); len(rows) != 1 || rows[0].str("clientMessageId") != "a" {
		t.Errorf("in a snapshot: %v", rows)
	}
	s.send(object{"type": "subscribe", "room": "tea", "cursor": object{"epoch": a.str("epoch"), "after": 0, "messageId": ""}})
	if rows := s.want("delta").rows("messages"); len(rows) != 1 || rows[0].str("clientMessageId") != "a" {
		t.Errorf("in a delta: %v", rows)
	}
	s.send(object{"type": "history", "room": "tea", "before": 9, "limit": 5})
	if rows := s.want("page").rows("messages"); len(rows) != 1 || rows[0].str("clientMessageId") != "a" {
		t.Errorf("in a page: %v", rows)
	}
	r.post("tea", r.token("ada"), "b", `{"text":"y"}`)
	if m := s.want("message"); m.str("clientMessageId") != "b" {
		t.Errorf("live: %v", m)
	}
}

func TestR28ARepeatCostsNothingOfTheRate(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind, change: func(c *config.Config) { c.Rate = config.Rate{Sends: 0.001, Burst: 2} }})
		token := r.token("ada")
		for i, id := range []string{"a", "b"} {
			if a := r.post("tea", token, id, `{"text":"x"}`); a.status != 201 {
				t.Fatal(i, a.status, a.raw)
			}
		}
		over := r.post("tea", token, "c", `{"text":"x"}`)
		if over.status != 429 || over.header.Get("Retry-After") == "" || over.body.num("retryAfterMs") < 1000 || over.body.str("clientMessageId") != "c" {
			t.Fatalf("%d %v %s", over.status, over.header, over.raw)
		}
		for range 5 {
			if a := r.post("tea", token, "a", `{"text":"x"}`); a.status != 200 {
				t.Fatal(a.status, a.raw)
			}
		}
		s := r.enter("ada")
		s.subscribe("tea")
		s.say("tea", "d", "x")
		s.wantError(protocol.RateLimited)
		s.say("tea", "b", "x")
		if a := s.want("ack"); !a.is("duplicate") {
			t.Fatal(a)
		}
		// Look-ups have a bucket of their own, ten times as large: asking for ever isn't free.
		limited := false
		for i := 0; i < 40 && !limited; i++ {
			limited = r.get("/v1/rooms/tea/messages/by-key/a", token).status == http.StatusTooManyRequests
		}
		if !limited {
			t.Error("look-ups have no bound")
		}
	})
}
