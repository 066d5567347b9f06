package session

import "hapax/protocol"

// A room that is only sent to is subscribed by `live: false` (docs/spec/client.md, 3, "Subscriptions for sending"): no rows, and
// no answer is waited for. Machine.places has those of this connection, the one sent to the longest time ago first.

// blocksSends reports whether a send would be refused for want of a subscription, or is put off after it was.
func (m *Machine) blocksSends(v *view) bool {
	switch {
	case !m.link.has(protocol.FeatureLive):
		return v.wanted() && !v.ready && v.sub != subDenied
	case m.now.Mono < v.placeAt:
		return true
	}
	return v.sub == subAsked && !v.ready && v.place == nil // its answer, an instant away, subscribes the room
}

// takePlace subscribes a room for the send that follows in the same write, unless it is subscribed.
func (m *Machine) takePlace(r *room) {
	v := &r.view
	switch {
	case v.ready || !m.link.has(protocol.FeatureLive):
		return
	case v.place != nil:
		m.places.MoveToBack(v.place)
		return
	}
	if m.places.Len() >= max(1, m.Limits().SendRooms) {
		m.letGo()
	}
	v.placed = m.ref('w')
	v.place = m.places.PushBack(r)
	m.command(protocol.Command{Type: protocol.TypeSubscribe, Ref: v.placed, Room: r.name, SendOnly: true, Limit: -1}, noRow)
}

// letGo gives back the place of the room least recently sent to. One whose live rows are asked for at the moment would lose those.
func (m *Machine) letGo() {
	for e := m.places.Front(); e != nil; e = e.Next() {
		r := e.Value.(*room)
		if r.view.sub == subAsked {
			continue
		}
		m.leavePlace(r)
		m.command(protocol.Command{Type: protocol.TypeUnsubscribe, Ref: m.ref('u'), Room: r.name, Limit: -1}, noRow)
		m.prune(r)
		return
	}
}

// leavePlace forgets that a room is subscribed for sending.
func (m *Machine) leavePlace(r *room) {
	if v := &r.view; v.place != nil {
		m.places.Remove(v.place)
		v.place, v.placed = nil, ""
	}
}

// placeRefused takes in that a room can't be subscribed for sending. What the send behind it is answered says the rest.
func (m *Machine) placeRefused(e protocol.Event) {
	for el := m.places.Front(); el != nil; el = el.Next() {
		r := el.Value.(*room)
		if r.view.placed != e.Ref {
			continue
		}
		m.leavePlace(r)
		switch e.Code {
		case protocol.SessionInvalid:
			m.sessionInvalid()
		case protocol.ActorMismatch:
			m.actorMismatch()
		case protocol.Forbidden:
		default:
			m.sendLater(r, string(e.Code), e.RetryAfterMs, 1)
		}
		return
	}
}

// sendLater puts off a room's sends by the delay law, from so many refusals in a row on, and tells the app of a second one.
func (m *Machine) sendLater(r *room, reason string, after int64, from int) {
	v := &r.view
	v.refused++
	if v.refused < from {
		return
	}
	d := Delay(m.cfg.Base, m.cfg.RowCap, v.refused-from+1, m.cfg.Rand())
	v.placeAt = m.now.Mono + max(d, min(after, m.cfg.RetryAfterMax))
	if v.refused > 1 {
		m.emit(RoomDenied{Room: r.name, Reason: reason, RetryIn: v.placeAt - m.now.Mono})
	}
}

// notSubscribed takes in that the server wants a subscription for a send.
func (m *Machine) notSubscribed(r *room) {
	v := &r.view
	if !m.link.has(protocol.FeatureLive) {
		m.needSubscription(r)
		return
	}
	if v.place == nil && !v.ready {
		return // of a send behind a subscribe whose refusal was taken in
	}
	m.leavePlace(r)
	if v.ready = false; v.sub == subLive {
		v.sub, v.at = subNone, m.now.Mono
	}
	m.sendLater(r, string(protocol.NotSubscribed), 0, 2)
}

// needSubscription subscribes a room as a server wants that knows no subscription for sending. Where one was refused before, it is
// asked for again only after a delay, and so where one was granted and sends are refused all the same: two answers don't chase each other.
func (m *Machine) needSubscription(r *room) {
	v := &r.view
	v.sending = true
	switch v.sub {
	case subLive:
		v.sub, v.ready = subNone, false
		m.sendLater(r, string(protocol.NotSubscribed), 0, 2)
		v.at = max(m.now.Mono, v.placeAt)
	case subDenied:
		m.subscribeLater(r, 0)
		if v.tries > 1 {
			m.emit(RoomDenied{Room: r.name, Reason: string(protocol.NotSubscribed), RetryIn: v.at - m.now.Mono})
		}
	}
}
