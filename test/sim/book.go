package sim

import (
	"fmt"
	"slices"

	"hapax/client/store"
)

// book is what the apps said and were told: the promises that the run is judged by.
type book struct {
	said   map[bookKey]*said
	order  []*said
	issued map[string]string // id → device and process that got it
	acks   []ack
	lines  map[line][]place // what stood in an outbox, by its position there
}

type line struct{ device, room string }

type place struct {
	position int64
	said     *said
}

type bookKey struct {
	actor string
	store.Key
}

// said is one message as its apps know it.
type said struct {
	bookKey
	texts     []string // more than one where two devices use one id for different things
	device    string   // that said it first
	accepted  bool     // some Send or Resend of it returned
	limbo     bool     // a process died within Send
	stepped   bool     // it stepped aside, or the app moved it: its place among the others is not promised
	shared    bool     // several devices have it
	cancelled bool
	again     bool // a row of it was added anew after the first had gone: what becomes of that says nothing of the first
	dropped   bool // discarded or evicted: it may have been accepted, or not
	copies    bool // the app asked to send it again although it may have been accepted: a second copy is its own doing
	uncertain map[string]bool
}

// ack is an ack as the server sent it, whether or not it arrived.
type ack struct {
	key       bookKey
	text      string
	messageID string
	epoch     string
	seq       int64
	duplicate bool
}

func (b *book) init() {
	b.said, b.issued, b.lines = map[bookKey]*said{}, map[string]string{}, map[line][]place{}
}

// note opens the record of a message, or adds to it what another device says under its id.
func (b *book) note(c *client, k store.Key, text string) *said {
	key := bookKey{c.actor, k}
	s := b.said[key]
	if s == nil {
		s = &said{bookKey: key, device: c.name, uncertain: map[string]bool{}}
		b.said[key] = s
		b.order = append(b.order, s)
	}
	if !slices.Contains(s.texts, text) {
		s.texts = append(s.texts, text)
	}
	s.shared = s.shared || s.device != c.name
	return s
}

func (b *book) evicted(c *client, k store.Key) {
	b.said[bookKey{c.actor, k}].dropped = true
	c.w.seen["evicted"]++
}

// stepped notes from what a store was told which rows lost their place in line.
func (b *book) stepped(c *client, changes []store.Change, results []store.Result) {
	for i, ch := range changes {
		step, ok := ch.(store.Step)
		aside := results[i].Conflicts
		if ok && results[i].Applied && results[i].Row.Aside() {
			aside = append(aside, results[i].Row)
		}
		if ok && step.To == store.Queued && step.Reason != "" {
			c.w.seen["row held: "+step.Reason]++
		}
		for _, r := range aside {
			s := b.said[bookKey{c.actor, r.Key}]
			s.stepped = true
			c.w.seen[fmt.Sprintf("row %s: %s", r.State, r.Reason)]++
			if step.To == store.Uncertain {
				s.uncertain[c.name] = true
			}
		}
	}
}
