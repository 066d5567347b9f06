package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hapax/client"
	"hapax/internal/badnet"
	"hapax/protocol"
)

// Three clients, a network that loses every tenth ack and cuts, a server restarted midway: each message is stored once, in its
// sender's order, and all three views are the log.
func TestOnceThroughABadNetwork(t *testing.T) {
	const each, clients = 60, 3
	h := newHouse(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h.net.Set(badnet.Faults{DropAck: 0.1, Cut: 0.02, MaxDelay: 3 * time.Millisecond})
	var all []*client.Client
	var sending sync.WaitGroup
	for n := range clients {
		c := h.open(fmt.Sprint("actor", n), h.file("store.db"))
		if err := c.Subscribe("room"); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		sending.Go(func() {
			for i := range each {
				id := c.NextMessageID()
				if err := c.SendWait(ctx, "room", id, client.Body{Text: fmt.Sprintf("%d-%d", n, i)}); err != nil {
					t.Error(err)
				}
				if i == each/2 {
					if _, err := c.WaitAck(ctx, "room", id.String()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	sending.Wait()
	h.stop()
	h.start()
	h.net.Set(badnet.Faults{})
	want := view(ctx, t, all[0], clients*each)
	next := make([]int, clients)
	for i, m := range want {
		if m.Seq != int64(i+1) {
			t.Fatalf("row %d has seq %d", i, m.Seq)
		}
		var n, k int
		if _, err := fmt.Sscanf(m.Text, "%d-%d", &n, &k); err != nil || m.Actor != fmt.Sprint("actor", n) || k != next[n] {
			t.Fatalf("row %d of %s is %q, its %d. expected (%v)", m.Seq, m.Actor, m.Text, next[n], err)
		}
		next[n]++
	}
	for _, c := range all[1:] {
		for i, m := range view(ctx, t, c, clients*each) {
			if m.MessageID != want[i].MessageID || m.Text != want[i].Text {
				t.Fatalf("views differ at %d: %+v, %+v", i, m, want[i])
			}
		}
	}
	for _, c := range all {
		for row, err := range c.Outbox(ctx) {
			t.Errorf("left in an outbox: %+v, %v", row, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	counts := h.net.Counts()
	if counts.AcksDropped == 0 || counts.Cuts == 0 {
		t.Fatalf("the network behaved: %+v", counts)
	}
	t.Logf("%+v", counts)
}

// view waits until a client's feed of the room has n rows and its outbox is empty.
func view(ctx context.Context, t *testing.T, c *client.Client, n int) (rows []client.Message) {
	t.Helper()
	for m, err := range c.Follow(ctx, "room", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, m); len(rows) == n {
			return rows
		}
	}
	t.Fatalf("%d rows of %d", len(rows), n)
	return nil
}

// Two clients on one SQLite file, as two processes are: the second takes over what the first leaves.
func TestTakeOverOfAFile(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	file := h.file("shared.db")
	a, b := h.open("ann", file), h.open("ann", file)
	if !a.Drains() || b.Drains() {
		t.Fatalf("draining: %v, %v", a.Drains(), b.Drains())
	}
	first := b.NextMessageID()
	if err := b.Send(ctx, "room", first, client.Body{Text: "handed over"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WaitAck(ctx, "room", first.String()); err != nil {
		t.Fatal(err)
	}
	h.net.Set(badnet.Faults{DropAck: 1})
	second := a.NextMessageID()
	if err := a.Send(ctx, "room", second, client.Body{Text: "left behind"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	h.net.Set(badnet.Faults{})
	r, err := b.WaitAck(ctx, "room", second.String())
	if err != nil || r.Seq != 2 {
		t.Fatalf("receipt %+v, %v", r, err)
	}
	if s, err := b.Status(ctx, "room", second.String()); err != nil || s.Seq != 2 || !s.Duplicate {
		t.Fatalf("status %+v, %v", s, err)
	}
}

// C20 against the real server: the largest body that Send lets through is stored, whole.
func TestLargestBody(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := h.open("ann", h.file("store.db"))
	l := protocol.DefaultLimits
	for _, body := range []client.Body{
		{Text: strings.Repeat("<", l.Text), Data: []byte(`"` + strings.Repeat("y", 60<<10) + `"`)},
		{Text: strings.Repeat("\u0001", l.Text), Data: []byte(`"` + strings.Repeat("y", l.Data-2) + `"`)},
	} {
		id := c.NextMessageID()
		if err := c.Send(ctx, "room", id, body); err != nil {
			t.Fatal(err)
		}
		r, err := c.WaitAck(ctx, "room", id.String())
		if err != nil {
			t.Fatal(err)
		}
		page, err := c.History(ctx, "room", r.Seq+1, 1)
		if err != nil || len(page) != 1 || page[0].Text != body.Text || string(page[0].Data) != string(body.Data) {
			t.Fatalf("%d rows, %v", len(page), err)
		}
	}
	id := c.NextMessageID()
	if err := c.Send(ctx, "room", id, client.Body{Text: strings.Repeat("<", l.Text+1)}); !errors.Is(err, client.ErrTooLarge) {
		t.Fatalf("error %v", err)
	}
}
