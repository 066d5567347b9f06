package session

// clockJitter is how far wall − mono may shrink unseen, ms: both are read one after the other and rounded.
const clockJitter = 100

// advance takes in the moment. Where the wall clock went back, the rows that it left in the future are mended.
func (m *Machine) advance(now Now) {
	m.now = now
	m.steps++
	ahead := now.Wall - now.Mono
	if m.started && ahead > m.clock-clockJitter {
		m.clock = max(m.clock, ahead)
		return
	}
	m.started, m.clock = true, ahead
	m.mendAll()
}

// tick sees to what time brings.
func (m *Machine) tick() {
	if m.broken != nil {
		return
	}
	m.tickLink()
	m.timeOut()
	m.tickViews()
	m.sendAsks()
	if m.link.phase == up && m.now.Mono >= m.evictAt {
		m.evictAt = m.now.Mono + m.cfg.EvictEvery
		m.step.evict = m.step.evict || m.aside > 0
	}
}

// nextWake returns the monotonic time at which there is something to do again, 0 for never.
func (m *Machine) nextWake() int64 {
	at := soonest{now: m.now.Mono}
	l := &m.link
	switch l.phase {
	case asking:
		at.add(l.callBy)
	case waiting, dialing, greeting:
		at.add(l.at)
	case up:
		at.add(l.pingAt)
		at.add(l.callBy)
		if l.pongBy != 0 {
			at.add(m.silentBy())
		}
		at.add(l.renewAt)
		at.add(m.evictAt)
		if l.hello != "" || l.draining {
			at.add(l.at)
		}
		for _, f := range m.flights {
			at.add(f.by)
		}
		if m.sending() {
			m.wakeRooms(&at)
		}
	}
	return at.at
}

// wakeRooms adds what rooms wait for.
func (m *Machine) wakeRooms(at *soonest) {
	at.add(m.window.until)
	for _, r := range m.order {
		v := &r.view
		at.add(v.placeAt)
		switch v.sub {
		case subAsked:
			at.add(v.by)
		case subLive:
			at.add(v.aheadBy)
		case subNone:
			if v.wanted() {
				at.add(v.at)
			}
		}
		if w := r.next(); w != nil && r.holders == 0 && w.Reason == "" {
			if w.asking != whyNot {
				at.add(w.askAt)
			} else if left := Remaining(w.Schedule, m.now.Wall); left > 0 && !w.lifted {
				at.add(m.now.Mono + left)
			}
		}
	}
}

// soonest is the least of the times added that are yet to come, 0 while there is none. What is due already was done in this
// Step, or waits for something else than time: waking for it would be a busy loop.
type soonest struct{ now, at int64 }

func (s *soonest) add(at int64) {
	if at > s.now && (s.at == 0 || at < s.at) {
		s.at = at
	}
}
