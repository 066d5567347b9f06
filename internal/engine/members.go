package engine

import "sync"

// members knows which rooms are active and who subscribes to what. Locks are taken in the order members, feed.
type members struct {
	mu    sync.RWMutex
	rooms map[string]*feed
	of    map[Subscriber][]*subscription
	e     *Engine
}

// join subscribes sub to a room, held until it has read its way up. An earlier subscription to the room ends.
func (m *members) join(sub Subscriber, name string) *subscription {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(sub, name)
	f := m.rooms[name]
	if f == nil {
		f = &feed{name: name, e: m.e, head: unknownHead}
		m.rooms[name] = f
	}
	s := &subscription{f: f, sub: sub, actor: sub.Actor(), held: true}
	f.mu.Lock()
	s.index, s.blind = len(f.subs), f.head == unknownHead
	f.subs = append(f.subs, s)
	f.mu.Unlock()
	m.of[sub] = append(m.of[sub], s)
	return s
}

// leave ends this very subscription, if it hasn't ended yet.
func (m *members) leave(s *subscription) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.of[s.sub]
	for i := range own {
		if own[i] == s {
			m.drop(s.sub, i)
			return
		}
	}
}

// unsubscribe ends the subscription of sub to a room, if there is one.
func (m *members) unsubscribe(sub Subscriber, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(sub, name)
}

// leaveAll ends all subscriptions of sub.
func (m *members) leaveAll(sub Subscriber) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.of[sub]) > 0 {
		m.drop(sub, len(m.of[sub])-1)
	}
}

func (m *members) remove(sub Subscriber, name string) {
	for i, s := range m.of[sub] {
		if s.f.name == name {
			m.drop(sub, i)
			return
		}
	}
}

// drop ends the i-th subscription of sub, and the feed with its last one. No row reaches sub from it any more: rows are
// handed over under the feed's mutex.
func (m *members) drop(sub Subscriber, i int) {
	own := m.of[sub]
	s, last := own[i], len(own)-1
	own[i], own[last] = own[last], nil
	if m.of[sub] = own[:last]; last == 0 {
		delete(m.of, sub)
	}
	f := s.f
	f.mu.Lock()
	defer f.mu.Unlock()
	end := len(f.subs) - 1
	f.subs[s.index], f.subs[end].index = f.subs[end], s.index
	f.subs[end], f.subs = nil, f.subs[:end]
	s.index, s.pending = -1, nil
	if end == 0 {
		delete(m.rooms, f.name)
	}
}

// feed returns the feed of an active room, else nil.
func (m *members) feed(name string) *feed {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rooms[name]
}

// active returns all feeds.
func (m *members) active() []*feed {
	m.mu.RLock()
	defer m.mu.RUnlock()
	feeds := make([]*feed, 0, len(m.rooms))
	for _, f := range m.rooms {
		feeds = append(feeds, f)
	}
	return feeds
}

// count tells how many rooms are active and how many subscribers there are.
func (m *members) count() (rooms, subscribers int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.rooms), len(m.of)
}
