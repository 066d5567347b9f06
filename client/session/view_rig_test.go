package session

import (
	"context"
	"fmt"
	"strings"

	mem "hapax/client/store/memory"
	"hapax/protocol"
)

// msg is the row of a seq in a room; its text is its id.
func msg(room string, seq int64) protocol.Message {
	id := fmt.Sprintf("%s-%d", room, seq)
	return protocol.Message{Room: room, Epoch: testEpoch, Seq: seq, MessageID: id, Actor: "bob", Text: id, At: seq}
}

func msgs(room string, from, to int64) (out []protocol.Message) {
	for seq := from; seq <= to; seq++ {
		out = append(out, msg(room, seq))
	}
	return out
}

// subRef returns the ref of the last subscribe of a room.
func (r *rig) subRef(room string) string {
	r.t.Helper()
	for i := len(r.frames) - 1; i >= 0; i-- {
		if c := r.frames[i].Command; c.Type == protocol.TypeSubscribe && c.Room == room {
			return c.Ref
		}
	}
	r.t.Fatalf("room %s was not subscribed", room)
	return ""
}

// snapshot answers the last subscribe with rows up to head, the last two of them shown.
func (r *rig) snapshot(room string, head int64, rows ...protocol.Message) {
	r.t.Helper()
	e := protocol.Event{Type: protocol.TypeSnapshot, Ref: r.subRef(room), Room: room, Epoch: testEpoch, Head: head, Messages: rows}
	if head > 0 {
		e.HeadID = msg(room, head).MessageID
	}
	r.step(r.recv(e))
}

func (r *rig) delta(room string, head int64, more bool, rows ...protocol.Message) {
	r.t.Helper()
	r.step(r.recv(protocol.Event{
		Type: protocol.TypeDelta, Ref: r.subRef(room), Room: room, Epoch: testEpoch, Head: head,
		HeadID: msg(room, head).MessageID, Messages: rows, More: more,
	}))
}

func (r *rig) live(rows ...protocol.Message) {
	r.t.Helper()
	for _, m := range rows {
		r.step(r.recv(protocol.Event{Type: protocol.TypeMessage, Room: m.Room, Message: m}))
	}
}

// shown returns the seqs that the store's view of a room shows, and its cursor's.
func (r *rig) shown(room string) string {
	r.t.Helper()
	rows, err := r.st.View(context.Background(), room, 0, 10_000)
	r.ok(err)
	var b strings.Builder
	for i := 0; i < len(rows); {
		j := i
		for j+1 < len(rows) && rows[j+1].Seq == rows[j].Seq+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d..%d", rows[i].Seq, rows[j].Seq)
		i = j + 1
	}
	if v, ok, err := r.st.Room(context.Background(), room); err != nil || ok {
		r.ok(err)
		fmt.Fprintf(&b, " @%d", v.Cursor.After)
	}
	return strings.TrimSpace(b.String())
}

func (r *rig) wantShown(room, want string) {
	r.t.Helper()
	if got := r.shown(room); got != want {
		r.t.Fatalf("room %s shows %q, want %q", room, got, want)
	}
}

// another opens another handle on the rig's store, as another process does.
func another(r *rig) *mem.Store { return mem.Open(r.medium, mem.Options{}) }
