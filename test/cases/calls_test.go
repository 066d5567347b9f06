package cases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hapax/client"
	"hapax/client/ids"
)

// call implements agent.
func (a *sdk) call(ctx context.Context, c call) (any, error) {
	switch c.Do {
	case "open":
		return nil, a.open(ctx, c)
	case "clock":
		a.wall.Add(c.Wall)
		a.mono.Add(c.Mono)
		return nil, nil
	case "asked":
		return plain(a.asked.Load()), nil
	}
	if a.c == nil {
		return nil, errors.New("the client isn't open")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if do := sdkCalls[c.Do]; do != nil {
		v, err := do(a, ctx, c)
		return plain(v), err
	}
	return nil, fmt.Errorf("the SDK knows no %q", c.Do)
}

// idOf reads an id of the SDK's own; of any other text it makes one that was never issued.
func idOf(text string) client.ID {
	if text == (ids.ID{}).String() {
		return ids.ID{}
	}
	id, err := ids.Parse(text)
	if err != nil {
		return ids.ID{0xff}
	}
	return id
}

type sdkCall func(a *sdk, ctx context.Context, c call) (any, error)

var sdkCalls = map[string]sdkCall{
	"close": func(a *sdk, _ context.Context, _ call) (any, error) { return a.close() },
	"next":  func(a *sdk, _ context.Context, _ call) (any, error) { return a.c.NextMessageID().String(), nil },
	"send": func(a *sdk, ctx context.Context, c call) (any, error) {
		return nil, a.c.Send(ctx, c.Room, idOf(c.ID), client.Body{Text: c.Text, Data: c.Data})
	},
	// say takes the next id and sends.
	"say": func(a *sdk, ctx context.Context, c call) (any, error) {
		id := a.c.NextMessageID()
		return id.String(), a.c.Send(ctx, c.Room, id, client.Body{Text: c.Text, Data: c.Data})
	},
	"resend": func(a *sdk, ctx context.Context, c call) (any, error) {
		return nil, a.c.Resend(ctx, c.Room, c.ID, client.Body{Text: c.Text, Data: c.Data})
	},
	"release": func(a *sdk, _ context.Context, c call) (any, error) { return nil, a.c.Release(idOf(c.ID)) },
	"status": func(a *sdk, ctx context.Context, c call) (any, error) {
		r, err := a.c.Status(ctx, c.Room, c.ID)
		return receipt(r), err
	},
	"wait": func(a *sdk, ctx context.Context, c call) (any, error) {
		r, err := a.c.WaitAck(ctx, c.Room, c.ID)
		return receipt(r), err
	},
	"retry":   func(a *sdk, ctx context.Context, c call) (any, error) { return nil, a.c.Retry(ctx, c.Room, c.ID) },
	"cancel":  func(a *sdk, ctx context.Context, c call) (any, error) { return nil, a.c.Cancel(ctx, c.Room, c.ID) },
	"discard": func(a *sdk, ctx context.Context, c call) (any, error) { return nil, a.c.Discard(ctx, c.Room, c.ID) },
	"connect": func(a *sdk, _ context.Context, _ call) (any, error) { a.c.Connect(); return nil, nil },
	"disconnect": func(a *sdk, _ context.Context, _ call) (any, error) {
		a.c.Disconnect()
		return nil, nil
	},
	"try_now":     func(a *sdk, _ context.Context, c call) (any, error) { a.c.TryNow(c.Room); return nil, nil },
	"subscribe":   func(a *sdk, _ context.Context, c call) (any, error) { return nil, a.c.Subscribe(c.Room) },
	"unsubscribe": func(a *sdk, _ context.Context, c call) (any, error) { a.c.Unsubscribe(c.Room); return nil, nil },
	// token is what the app gives from now on; the client is told of it.
	"token": func(a *sdk, _ context.Context, c call) (any, error) {
		a.mu.Lock()
		a.token = c.Token
		a.mu.Unlock()
		a.c.NewToken()
		return nil, nil
	},
	"state": func(a *sdk, _ context.Context, _ call) (any, error) {
		s := a.c.State()
		return map[string]any{"state": s.State, "error": kindOf(s.Err), "retryIn": s.RetryIn, "drains": a.c.Drains()}, nil
	},
	"counts": func(a *sdk, ctx context.Context, _ call) (any, error) { return a.c.Counts(ctx) },
	"stats":  func(a *sdk, _ context.Context, _ call) (any, error) { return a.c.Stats(), nil },
	"outbox": func(a *sdk, ctx context.Context, _ call) (any, error) {
		rows := []any{}
		for r, err := range a.c.Outbox(ctx) {
			if err != nil {
				return nil, err
			}
			rows = append(rows, rowObject(r))
		}
		return rows, nil
	},
	"keys": func(a *sdk, ctx context.Context, _ call) (any, error) {
		var keys []client.Key
		for r, err := range a.c.Outbox(ctx) {
			if err != nil {
				return nil, err
			}
			keys = append(keys, r.Key)
		}
		return keys, nil
	},
	// messages are those that an app reads in the order in which they came; view is the room by seq.
	"messages": func(a *sdk, ctx context.Context, c call) (any, error) {
		rows, err := a.c.Messages(ctx, c.Room, 0, 10_000)
		return messageObjects(rows), err
	},
	"view": func(a *sdk, ctx context.Context, c call) (any, error) {
		rows, err := a.c.View(ctx, c.Room, 0, 10_000)
		return messageObjects(rows), err
	},
	"room": func(a *sdk, ctx context.Context, c call) (any, error) {
		r, ok, err := a.c.Room(ctx, c.Room)
		if !ok {
			return nil, err
		}
		return map[string]any{"epoch": r.Cursor.Epoch, "after": r.Cursor.After, "messageId": r.Cursor.MessageID}, err
	},
	// events returns those after the nth, once there are any or a while has passed.
	"events":    func(a *sdk, ctx context.Context, c call) (any, error) { return a.after(ctx, c, &a.events), nil },
	"delivered": func(a *sdk, ctx context.Context, c call) (any, error) { return a.after(ctx, c, &a.delivered), nil },
	"deliver":   func(a *sdk, _ context.Context, c call) (any, error) { return nil, a.deliver(c) },
	"fault":     func(a *sdk, _ context.Context, c call) (any, error) { a.st.set(c.Method, c.After); return nil, nil },
	"faults":    func(a *sdk, _ context.Context, _ call) (any, error) { return a.st.count(), nil },
}

// after returns a list's elements behind the first N. Where there are none it waits, for the time of Wall in ms.
func (a *sdk) after(ctx context.Context, c call, list *[]any) any {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Wall)*time.Millisecond)
	defer cancel()
	for {
		a.mu.Lock()
		got, changed := slices.Clone((*list)[min(int(c.N), len(*list)):]), a.changed
		a.mu.Unlock()
		if len(got) > 0 || c.Wall == 0 {
			return got
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return got
		}
	}
}

// deliver hands a room's rows to a handler that throws at the row of a text.
func (a *sdk) deliver(c call) error {
	ctx, cancel := context.WithCancel(context.Background())
	stop := a.stop
	a.stop = func() { cancel(); stop() }
	of := a.c
	a.deliveries.Go(func() {
		_ = of.Deliver(ctx, c.Room, 0, func(m client.Message) error { // it ends with the client
			a.note(func() { a.delivered = append(a.delivered, m.Text) })
			if m.Text == c.Text {
				panic("thrown at " + m.Text)
			}
			return nil
		})
	})
	return nil
}

func receipt(r client.Receipt) any {
	return map[string]any{"messageId": r.MessageID, "seq": r.Seq, "epoch": r.Epoch, "at": r.At, "duplicate": r.Duplicate}
}

func messageObjects(rows []client.Message) any {
	all := []any{}
	for _, m := range rows {
		o := map[string]any{"seq": m.Seq, "messageId": m.MessageID, "actor": m.Actor, "text": m.Text, "position": m.Position, "at": m.At, "epoch": m.Epoch}
		if m.ClientMessageID != "" {
			o["id"] = m.ClientMessageID
		}
		maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil })
		all = append(all, o)
	}
	return all
}
