package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/sqlite"
	"hapax/test/check"
)

// record is the history of a run: what was said to whom, and when. Times are of this process.
type record struct {
	began time.Time
	acked chan struct{} // a token for each answer, for who decides when to kill

	mu   sync.Mutex
	acks []check.Ack
	ops  []check.Op
}

func (r *record) now() int64 { return int64(time.Since(r.began)) }

func (r *record) add(op check.Op, ack *check.Ack) {
	r.mu.Lock()
	r.ops = append(r.ops, op)
	if ack != nil {
		r.acks = append(r.acks, *ack)
	}
	r.mu.Unlock()
	if ack != nil {
		select {
		case r.acked <- struct{}{}:
		default: // nobody counts any more
		}
	}
}

// sdkClient sends through the SDK, with its store on disk, and holds all rooms.
type sdkClient struct {
	n     int
	actor string
	c     *client.Client
	rec   *record

	mu   sync.Mutex
	sent map[client.Key]started
}

type started struct {
	at   int64
	text string
}

func newSDKClient(ctx context.Context, n int, dir, addr, token string, rooms []string, rec *record) (*sdkClient, error) {
	actor := fmt.Sprintf("sdk-%d", n)
	s, err := sqlite.Open(ctx, fmt.Sprintf("%s/%s.db", dir, actor), sqlite.Options{Claimant: store.Claimant{Actor: actor}})
	if err != nil {
		return nil, err
	}
	c, err := client.Open(ctx, client.Options{
		URL: "ws://" + addr + "/v1/ws", Store: s, Token: func(context.Context) (string, error) { return token, nil },
		// Short delays: the test is about what survives, not about how long a client waits.
		Session: session.Config{Base: 50, RowCap: 500, ConnCap: 200, MaxAttempts: 10_000, AnswerWithin: 2000, StableAfter: 500},
	})
	if err != nil {
		return nil, err
	}
	k := &sdkClient{n: n, actor: actor, c: c, rec: rec, sent: map[client.Key]started{}}
	c.Listen(k.hear)
	for _, room := range rooms {
		if err := c.Subscribe(room); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *sdkClient) hear(e client.Event) {
	row, ok := e.(session.RowConfirmed)
	if !ok {
		return
	}
	k.mu.Lock()
	s := k.sent[row.Key]
	k.mu.Unlock()
	kind := check.First
	if row.Duplicate {
		// An earlier try of the SDK's own took effect and wasn't answered.
		kind = check.Duplicate
		k.rec.add(check.Op{Client: k.n, Room: row.Key.Room, Kind: check.Unknown, Actor: k.actor, ID: row.Key.ID, Call: s.at}, nil)
	}
	k.rec.add(check.Op{Client: k.n, Room: row.Key.Room, Kind: kind, Actor: k.actor, ID: row.Key.ID, Seq: row.Seq, Call: s.at, Return: k.rec.now()},
		&check.Ack{Room: row.Key.Room, Actor: k.actor, ID: row.Key.ID, Text: s.text, MessageID: row.MessageID, Seq: row.Seq, Duplicate: row.Duplicate})
}

// send sends until the context ends. Its own store on disk bounds the rate.
func (k *sdkClient) send(ctx context.Context, rooms []string) error {
	for i := 0; ctx.Err() == nil; i++ {
		id := k.c.NextMessageID()
		key := client.Key{Room: rooms[(i+k.n)%len(rooms)], ID: id.String()}
		text := fmt.Sprintf("%s says %d", k.actor, i)
		k.mu.Lock()
		k.sent[key] = started{at: k.rec.now(), text: text}
		k.mu.Unlock()
		if err := k.c.SendWait(context.WithoutCancel(ctx), key.Room, id, client.Body{Text: text}); err != nil {
			return fmt.Errorf("%s: %w", k.actor, err)
		}
	}
	return nil
}

// httpClient sends over HTTP without any store: each message until it has an answer, then often once more, sometimes
// with another text.
type httpClient struct {
	n      int
	actor  string
	addr   string
	token  string
	rec    *record
	random *rand.Rand
	http   http.Client
}

type answer struct {
	MessageID string `json:"messageId"`
	Seq       int64  `json:"seq"`
	Duplicate bool   `json:"duplicate"`
	Code      string `json:"code"`
}

func (h *httpClient) run(ctx context.Context, rooms []string) error {
	for i := 0; ctx.Err() == nil; i++ {
		room, id := rooms[h.random.IntN(len(rooms))], fmt.Sprintf("%s-%d", h.actor, i)
		text := fmt.Sprintf("%s says %d", h.actor, i)
		var seq int64
		for seq == 0 && ctx.Err() == nil {
			if seq = h.post(room, id, text, 0); seq == 0 {
				wait(ctx) // the server is gone for the moment
			}
		}
		if seq == 0 {
			return nil // the run ended before an answer came
		}
		for range h.random.IntN(3) {
			h.post(room, id, text, seq)
		}
		if h.random.IntN(4) == 0 {
			h.post(room, id, text+", or not", seq)
		}
		if h.random.IntN(4) == 0 {
			h.read(room)
		}
	}
	return nil
}

// wait keeps a client from asking a dead server as fast as the machine can.
func wait(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// post sends once and returns the seq that was answered, 0 where none was. known is the seq of an earlier answer.
func (h *httpClient) post(room, id, text string, known int64) int64 {
	op := check.Op{Client: h.n, Room: room, Actor: h.actor, ID: id, Call: h.rec.now(), Kind: check.Unknown}
	body, _ := json.Marshal(map[string]string{"text": text}) // strings always marshal
	a, status := h.do(http.MethodPost, "/v1/rooms/"+url.PathEscape(room)+"/messages", bytes.NewReader(body), id)
	op.Return = h.rec.now()
	switch status {
	case http.StatusCreated, http.StatusOK:
		op.Kind, op.Seq = check.First, a.Seq
		if a.Duplicate {
			op.Kind = check.Duplicate
		}
		h.rec.add(op, &check.Ack{Room: room, Actor: h.actor, ID: id, Text: text, MessageID: a.MessageID, Seq: a.Seq, Duplicate: a.Duplicate})
		return a.Seq
	case http.StatusUnprocessableEntity:
		op.Kind, op.Seq = check.Conflict, known
	}
	h.rec.add(op, nil)
	return 0
}

// read notes the head of a room as a reader sees it.
func (h *httpClient) read(room string) {
	op := check.Op{Client: h.n, Room: room, Kind: check.Read, Call: h.rec.now()}
	a, status := h.do(http.MethodGet, "/v1/rooms/"+url.PathEscape(room)+"/messages?limit=1", nil, "")
	if status != http.StatusOK {
		return
	}
	op.Return, op.Seq = h.rec.now(), a.Head
	h.rec.add(op, nil)
}

type reply struct {
	answer
	Head int64 `json:"head"`
}

// do makes a request; status 0 means that no whole answer came.
func (h *httpClient) do(method, path string, body io.Reader, key string) (reply, int) {
	r, err := http.NewRequest(method, "http://"+h.addr+path, body)
	if err != nil {
		return reply{}, 0
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	if key != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := h.http.Do(r)
	if err != nil {
		return reply{}, 0
	}
	defer resp.Body.Close()
	var a reply
	if json.NewDecoder(resp.Body).Decode(&a) != nil {
		return reply{}, 0
	}
	return a, resp.StatusCode
}
