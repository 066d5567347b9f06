package client

import (
	"context"
	"iter"
	"sync"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// Event is a hint: it may come late, twice, or not at all for a listener that is slow. What is true stands in the store.
// The kinds are those of package session.
type Event = session.Event

// listenerDepth is how many events wait for a slow listener before they are counted as missed.
const listenerDepth = 1024

// hub hands events to listeners, each at its own speed.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	shut      bool
	rows      map[string]chan struct{} // by room, "" for any: closed when it may hold something new
	places    map[string]place         // how far each room was when another process's change was looked at last
}

func (h *hub) init() {
	h.listeners = make(map[*listener]struct{})
	h.rows, h.places = make(map[string]chan struct{}), make(map[string]place)
}

// place is how far the store holds a room.
type place struct {
	cursor   protocol.Cursor
	replaced int64
}

type listener struct {
	mu     sync.Mutex
	events []Event
	missed int
	shut   bool
	signal chan struct{}
}

func (h *hub) emit(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		l.put(e)
	}
}

func (l *listener) put(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) >= listenerDepth {
		l.missed++
		return
	}
	l.events = append(l.events, e)
	l.wake()
}

func (l *listener) wake() {
	select {
	case l.signal <- struct{}{}:
	default:
	}
}

// take returns what waits, and whether more can come.
func (l *listener) take() (events []Event, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	events, l.events = l.events, nil
	if l.missed > 0 {
		events = append(events, session.Missed{N: l.missed})
		l.missed = 0
	}
	return events, !l.shut
}

func (h *hub) add() *listener {
	l := &listener{signal: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.shut = h.shut; !l.shut {
		h.listeners[l] = struct{}{}
	}
	return l
}

func (h *hub) remove(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
	l.end()
}

func (l *listener) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut = true
	l.wake()
}

// close ends all listeners once they have taken what waits.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut = true
	for l := range h.listeners {
		l.end()
	}
	clear(h.listeners)
}

// changes returns a channel that is closed when the store may hold more of a room (of any, for ""). Take it before reading the store.
func (h *hub) changes(room string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.rows[room]
	if ch == nil {
		ch = make(chan struct{})
		h.rows[room] = ch
	}
	return ch
}

// changed says that the store holds more of a room.
func (h *hub) changed(room string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range []string{room, ""} {
		if ch := h.rows[name]; ch != nil {
			close(ch)
			delete(h.rows, name)
		}
	}
}

// look finds out, by one look however many follow, of which rooms another process has stored more.
func (h *hub) look(ctx context.Context, s store.Store) error {
	h.mu.Lock()
	waiting := len(h.rows) > 0
	h.mu.Unlock()
	if !waiting {
		return nil
	}
	rooms, err := s.Rooms(ctx)
	for _, r := range rooms {
		now := place{r.Cursor, r.Replaced}
		h.mu.Lock()
		moved := h.places[r.Room] != now
		h.places[r.Room] = now
		h.mu.Unlock()
		if moved {
			h.changed(r.Room)
		}
	}
	return err
}

// Events returns an iterator of the events that happen while it is ranged over, until ctx or the client ends. The loop's body may call
// any method of the client. An iterator that is never ranged over costs nothing; Listen is there from its call on.
func (c *Client) Events(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) { c.hub.each(ctx, c.hub.add(), yield) }
}

// each yields a listener's events, and removes it in the end.
func (h *hub) each(ctx context.Context, l *listener, yield func(Event) bool) {
	defer h.remove(l)
	for {
		events, open := l.take()
		for _, e := range events {
			if !yield(e) {
				return
			}
		}
		if len(events) > 0 {
			continue
		}
		if !open {
			return
		}
		select {
		case <-l.signal:
		case <-ctx.Done():
			return
		}
	}
}

// Listen calls f with each event from now on, one after the other in a goroutine of its own, until stop is called or the
// client ends. f may be slow, call any method of the client, and panic: that is told by a Panicked event and costs no other event.
func (c *Client) Listen(f func(Event)) (stop func()) {
	ctx, stop := context.WithCancel(context.Background())
	l := c.hub.add()
	go func() {
		defer stop()
		c.hub.each(ctx, l, func(e Event) bool {
			if v := protect(func() { f(e) }); v != nil {
				if _, again := e.(session.Panicked); !again { // a listener that always panics must not feed itself
					c.hub.emit(session.Panicked{Value: v})
				}
			}
			return true
		})
	}()
	return stop
}

// protect calls f and returns what it panicked with.
func protect(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}
