package e2e_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"hapax/client"
	"hapax/client/session"
	"hapax/client/store/memory"
	"hapax/internal/auth"
)

// I6: a reader whose tokens live for two seconds is never cut: they are renewed on the open connection.
func TestAReaderWithShortTokensIsNotCut(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var given atomic.Int64
	enough := make(chan struct{})
	c, err := client.Open(ctx, client.Options{
		URL: "ws://" + h.addr + "/v1/ws", Store: memory.Open(memory.NewMedium(), memory.Options{}), Name: "e2e",
		Token: func(context.Context) (string, error) {
			if given.Add(1) == 4 {
				close(enough)
			}
			return h.key.Sign("ann", []auth.Grant{{Room: "*", Rights: "rw"}}, 2*time.Second, time.Now())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Subscribe("room"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-enough:
	case <-ctx.Done():
		t.Fatalf("%d tokens were asked for", given.Load())
	}
	id := c.NextMessageID()
	if err := c.Send(ctx, "room", id, client.Body{Text: "still here"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitAck(ctx, "room", id.String()); err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Connects != 1 || c.State().State != session.Online {
		t.Fatalf("%d connects, state %+v", s.Connects, c.State())
	}
}
