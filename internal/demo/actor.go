package demo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hapax/client"
	"hapax/client/session"
)

// settleWait bounds how long a client may take, after the last message was sent, to hold the whole room.
const settleWait = 3 * time.Minute

// actor is one client of the demo.
type actor struct {
	name            string
	c               *client.Client
	sent, confirmed atomic.Int64
	seen            atomic.Int64 // seq up to which its view of the room has no hole
	changed         chan struct{}
}

func newActor(ctx context.Context, name, path, addr, token string) (*actor, error) {
	s, err := openStore(ctx, path)
	if err != nil {
		return nil, err
	}
	o := options("ws://"+addr+"/v1/ws", token)
	o.Store = s
	c, err := client.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	a := &actor{name: name, c: c, changed: make(chan struct{}, 1)}
	c.Listen(a.hear)
	return a, c.Subscribe(roomName)
}

func (a *actor) hear(e client.Event) {
	switch e := e.(type) {
	case session.RowConfirmed:
		a.confirmed.Add(1)
	case session.RoomChanged:
		a.seen.Store(e.Cursor.After)
	default:
		return
	}
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// send hands n messages to the outbox, whatever the network does meanwhile.
func (a *actor) send(ctx context.Context, n int) error {
	pause := time.NewTicker(sendPause)
	defer pause.Stop()
	for i := 1; i <= n; i++ {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := a.c.SendWait(ctx, roomName, a.c.NextMessageID(), client.Body{Text: text(a.name, i)}); err != nil {
			return fmt.Errorf("%s, message %d: %w", a.name, i, err)
		}
		a.sent.Add(1)
	}
	return nil
}

// settle waits until the outbox is empty and the view holds the whole room.
func (a *actor) settle(ctx context.Context, total int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleWait, errors.New("not all is confirmed in time"))
	defer cancel()
	for {
		n, err := a.c.Counts(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, errors.Join(err, context.Cause(ctx)))
		}
		if n.Queued+n.Parked+n.Uncertain == 0 && a.seen.Load() >= total {
			return nil
		}
		if n.Parked+n.Uncertain > 0 {
			return fmt.Errorf("%s: %d messages are parked or uncertain", a.name, n.Parked+n.Uncertain)
		}
		select {
		case <-a.changed:
		case <-time.After(showTime):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %d queued, view at seq %d of %d, %s", a.name, context.Cause(ctx), n.Queued, a.seen.Load(), total, a.c.State().State)
		}
	}
}

func (a *actor) state() ClientState {
	sent, confirmed := int(a.sent.Load()), int(a.confirmed.Load())
	return ClientState{Name: a.name, Sent: sent, Confirmed: confirmed, Queued: max(sent-confirmed, 0), Seen: int(a.seen.Load()), Connection: a.c.State().State}
}

// text is what a message says: with it the proof can tell whether the order was kept.
func text(name string, i int) string { return fmt.Sprintf("%s says %d", name, i) }
