package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hapax/client"
	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/client/store/sqlite"
)

// sdk is a client of the Go SDK.
type sdk struct {
	c          *client.Client
	st         *flaky
	wall, mono atomic.Int64 // by which the clock is moved, ms
	asked      atomic.Int64 // how often a token was
	stop       context.CancelFunc
	deliveries sync.WaitGroup

	mu        sync.Mutex
	token     string
	events    []any
	changed   chan struct{} // closed and replaced at each event and delivery
	delivered []any
}

var sdkKinds = []struct {
	err  error
	kind string
}{
	{client.ErrZeroID, "zero_id"}, {client.ErrNotIssued, "not_issued"}, {client.ErrBadID, "bad_id"}, {client.ErrBadRoom, "bad_room"},
	{client.ErrBadBody, "bad_body"}, {client.ErrTooLarge, "too_large"}, {client.ErrFull, "full"}, {client.ErrConflict, "conflict"},
	{client.ErrMayHaveBeenSent, "may_have_been_sent"}, {client.ErrInFlight, "in_flight"}, {client.ErrNoRow, "no_row"}, {client.ErrGone, "gone"},
	{client.ErrParked, "parked"}, {client.ErrUncertain, "uncertain"}, {client.ErrNotFound, "not_found"}, {client.ErrWrongStore, "wrong_store"},
	{client.ErrClosed, "closed"}, {client.ErrBroken, "broken"}, {store.ErrCorrupt, "corrupt"}, {store.ErrIncompatible, "incompatible"},
	{ids.ErrOverflow, "overflow"}, {ids.ErrBadMark, "corrupt"}, {errPlanted, "planted"}, {session.ErrActorMismatch, "actor_mismatch"},
	{session.ErrSessionInvalid, "session_invalid"}, {session.ErrNoAnswer, "no_answer"}, {context.DeadlineExceeded, "time_out"},
}

// kindOf names an error; "" for none.
func kindOf(err error) string {
	var known *sdkError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &known):
		return known.kind
	}
	for _, k := range sdkKinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return "other: " + err.Error()
}

func (a *sdk) open(ctx context.Context, c call) error {
	if a.c != nil {
		return errors.New("the client is open")
	}
	o := client.Options{URL: c.URL, Token: a.giveToken, Offline: c.Offline, Lease: c.Lease, Name: "cases", Transport: c.dialer, Poll: time.Duration(c.Poll) * time.Millisecond}
	start := time.Now()
	o.Now = func() client.Moment {
		now := time.Now()
		return client.Moment{Wall: now.UnixMilli() + a.wall.Load(), Mono: 1 + now.Sub(start).Milliseconds() + a.mono.Load()}
	}
	if len(c.Session) > 0 {
		if err := json.Unmarshal(c.Session, &o.Session); err != nil {
			return err
		}
	}
	if c.Rand != nil {
		u := *c.Rand
		o.Session.Rand = func() float64 { return u }
	}
	a.st = &flaky{}
	if c.medium != nil {
		a.st.Store = memory.Open(c.medium, memory.Options{Limits: o.Session.Limits, Fault: a.st.fault})
	} else {
		st, err := sqlite.Open(ctx, c.Path, sqlite.Options{Limits: o.Session.Limits, Claimant: store.Claimant{Actor: c.Actor}})
		if err != nil {
			return err
		}
		a.st.Store = st
	}
	o.Store = a.st.Store
	a.mu.Lock()
	a.token, a.events, a.delivered, a.changed = c.Token, nil, nil, make(chan struct{})
	a.mu.Unlock()
	opened, err := client.Open(ctx, o)
	if err != nil {
		return err
	}
	a.c = opened
	var listening context.Context
	listening, a.stop = context.WithCancel(context.Background())
	stop := opened.Listen(a.hear)
	context.AfterFunc(listening, stop)
	return nil
}

func (a *sdk) giveToken(context.Context) (string, error) {
	a.asked.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token, nil
}

// hear notes an event as an object.
func (a *sdk) hear(e client.Event) {
	var o map[string]any
	switch e := e.(type) {
	case session.ConnectionChanged:
		o = map[string]any{"event": "connection", "state": e.State, "error": kindOf(e.Err), "retryIn": e.RetryIn}
	case session.RowConfirmed:
		o = map[string]any{"event": "confirmed", "room": e.Key.Room, "id": e.Key.ID, "seq": e.Seq, "messageId": e.MessageID, "duplicate": e.Duplicate, "at": e.At}
	case session.RowChanged:
		o = rowObject(e.Row)
		o["event"], o["nextIn"] = "row", e.NextIn
	case session.RoomChanged:
		o = map[string]any{"event": "room", "room": e.Room, "after": e.Cursor.After, "epoch": e.Cursor.Epoch, "replaced": e.Replaced}
	case session.RoomDenied:
		o = map[string]any{"event": "denied", "room": e.Room, "reason": e.Reason}
	case session.Failed:
		o = map[string]any{"event": "failed", "error": kindOf(e.Err)}
	case session.Panicked:
		o = map[string]any{"event": "panicked", "value": fmt.Sprint(e.Value)}
	case session.Drains:
		o = map[string]any{"event": "drains", "here": e.Here}
	default:
		o = map[string]any{"event": fmt.Sprintf("%T", e)}
	}
	a.note(func() { a.events = append(a.events, plain(o)) })
}

func (a *sdk) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

func rowObject(r client.Row) map[string]any {
	return map[string]any{
		"room": r.Room, "id": r.ID, "state": fmt.Sprint(r.State), "attempts": r.Attempts, "interval": r.Interval, "reason": r.Reason,
		"firstSentAt": r.FirstSentAt, "lastAttemptAt": r.LastAttemptAt,
	}
}

// close closes the client and returns how long that took, ms.
func (a *sdk) close() (int64, error) {
	if a.c == nil {
		return 0, errors.New("the client isn't open")
	}
	start := time.Now()
	err := a.c.Close()
	took := time.Since(start).Milliseconds()
	a.stop()
	a.deliveries.Wait()
	a.c = nil
	return took, err
}

// end implements agent.
func (a *sdk) end() error {
	if a.c == nil {
		return nil
	}
	_, err := a.close()
	return err
}

// kill implements agent. In this process only its store's medium can be made to forget the client; see stores.
func (a *sdk) kill() error {
	if a.c == nil {
		return errors.New("the client isn't open")
	}
	_, _ = a.close() // a dead one says nothing
	return nil
}

// flaky is a store some of whose methods fail from a moment on.
type flaky struct {
	store.Store
	mu     sync.Mutex
	method string
	after  bool
	calls  int64
}

func (f *flaky) fault(method string, done bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.method == "" || method == "Changed" || f.method != "*" && !slices.Contains([]string{method}, f.method) || done != f.after {
		return nil
	}
	f.calls++
	return errPlanted
}

// set lets a method fail, "*" all of them, "" none, before or after it has done its work.
func (f *flaky) set(method string, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.method, f.after, f.calls = method, after, 0
}

func (f *flaky) count() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}
