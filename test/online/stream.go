package online

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

type source struct {
	tenant, name string
	settings     gateway.Settings
}

// begin sets a policy and sources up.
func (w *World) begin() error {
	r := w.rand
	commands := []gateway.Command{&gateway.SetPolicy{Policy: settle.Policy{
		BlockWindowS: pick(r, int64(0), 5, 60, 3600), ScopeStrict: w.chance(50), LRUMinHits: r.Int64N(4),
	}}}
	for _, tenant := range []string{"\uFEFFa", "ä\U0001D518", "\uE000"} {
		for _, name := range []string{"pay", "crm"}[:1+r.IntN(2)] {
			s := source{tenant, name, gateway.Settings{
				WindowS: pick(r, int64(0), 1, 30, 600), Scope: pick(r, settle.ScopeWire, settle.ScopeSchema), LRUCapacity: r.Int64N(4),
				Open: w.chance(60), Forward: w.chance(70), Parts: 1,
			}}
			if name == "crm" {
				s.settings.Guard, s.settings.GuardS = pick(r, gateway.GuardFlag, gateway.GuardReject), 100
			}
			w.sources = append(w.sources, s)
			commands = append(commands, &gateway.SetSource{Tenant: s.tenant, Source: s.name, Settings: s.settings})
			for i := range 1 + r.IntN(4) {
				w.keys = append(w.keys, gateway.Name{Tenant: tenant, Source: name, Key: fmt.Sprint(pick(r, "k", "é ", `"`, "__proto__"), i)})
			}
		}
	}
	_, err := w.enter(commands...)
	return err
}

// Run lets so many things happen.
func (w *World) Run(steps int) error {
	for range steps {
		w.tick()
		var commands []gateway.Command
		for range 1 + w.rand.IntN(4) {
			commands = append(commands, w.next()...)
		}
		outcomes, err := w.enter(commands...)
		if err != nil {
			return err
		}
		w.note(commands, outcomes)
		if w.chance(3) {
			if err := w.restart(); err != nil {
				return err
			}
		}
	}
	return nil
}

// tick moves the clock: mostly a little forward, at times far, at times back.
func (w *World) tick() {
	switch n := w.rand.IntN(100); {
	case n < 60:
		w.now += w.rand.Int64N(3_000)
	case n < 85:
		w.now += w.rand.Int64N(90_000)
	case n < 92:
		w.now += w.rand.Int64N(4_000_000)
	default:
		w.now -= w.rand.Int64N(100_000)
	}
}

func (w *World) next() []gateway.Command {
	switch n := w.rand.IntN(100); {
	case n < 62:
		return []gateway.Command{w.event()}
	case n < 70:
		return []gateway.Command{w.register()}
	case n < 72:
		return w.unregister()
	case n < 75:
		return []gateway.Command{w.setSource()}
	default:
		return w.delivery()
	}
}

// key is one of the usual keys, or one never seen before.
func (w *World) key() gateway.Name {
	if w.chance(10) {
		n := w.keys[0]
		s := pick(w.rand, w.sources...)
		n.Tenant, n.Source, n.Key = s.tenant, s.name, fmt.Sprint("new ", len(w.keys))
		w.keys = append(w.keys, n)
		return n
	}
	return pick(w.rand, w.keys...)
}

var (
	goodAmounts = []string{"0", "1", "1.5", "2.50", "0.00000001", "999999999999999999.99999999", "12.30", "7"}
	badAmounts  = []string{"", "-5.00", "1e3", "12,50", "01", "１２", "a\tb", "a\nb", "\u0085", strings.Repeat("9", 64), strings.Repeat("9", 65), "\xff", "NaN", "null"}
)

func (w *World) event() *gateway.Event {
	r := w.rand
	w.ids++
	e := &gateway.Event{
		Name: w.key(), ID: fmt.Sprintf("ev_%032d", w.ids), Scope: pick(r, settle.ScopeNone, settle.ScopeNone, settle.ScopeWire, settle.ScopeSchema),
		Amount: pick(r, goodAmounts...), AmountOK: true, Currency: pick(r, "USD", "USD", "USD", "USD", "USD", "USD", "USD", "USD", "USD", "JPY"),
		State: pick(r, settle.StateDone, settle.StateDone, settle.StatePending), Strict: w.chance(30), Body: &gateway.Body{},
	}
	e.Fingerprint = sha256.Sum256([]byte(pick(r, "x", "x", "x", "y")))
	if w.ids%3 > 0 {
		e.Body.Bytes = []byte(e.ID)
	}
	e.Digest = sha256.Sum256(e.Body.Bytes)
	e.Value, _ = settle.ParseAmount([]byte(e.Amount))
	switch n := r.IntN(20); {
	case n == 0: // an amount of no currency
		e.Currency, e.AmountOK = "XXX", false
	case n < 3:
		e.Amount, e.AmountOK = pick(r, badAmounts...), false
	}
	if w.chance(40) {
		e.Named, e.SeenAt = true, w.now/1000+pick(r, int64(0), int64(0), -r.Int64N(200), r.Int64N(400), -w.now/1000)
	}
	return e
}

func (w *World) register() *gateway.Register {
	r := w.rand
	return &gateway.Register{
		Name: w.key(), Scope: pick(r, settle.ScopeWire, settle.ScopeSchema), WindowS: pick(r, int64(0), 0, 2, 100, 5000), LRUCapacity: r.Int64N(5), By: "ops",
	}
}

// unregister takes a registration back: of a key that has none, or has an event, or of one that was registered a moment ago.
func (w *World) unregister() []gateway.Command {
	if w.chance(30) {
		return []gateway.Command{&gateway.Unregister{Name: w.key(), By: "ops"}}
	}
	r := w.register()
	r.Key = fmt.Sprint("spare ", w.rand.IntN(3))
	commands := []gateway.Command{r, w.setSource(), &gateway.Unregister{Name: r.Name, By: "ops"}}
	if w.chance(30) {
		again := *r
		again.WindowS = 7
		commands = append(commands, &again, w.setSource())
	}
	return commands
}

// setSource changes a source as a reload does: most of all its window.
func (w *World) setSource() *gateway.SetSource {
	r, i := w.rand, w.rand.IntN(len(w.sources))
	s := &w.sources[i]
	s.settings.WindowS = pick(r, int64(0), 1, 30, 600, s.settings.WindowS)
	if w.chance(30) {
		s.settings.Forward, s.settings.Open, s.settings.LRUCapacity = w.chance(50), w.chance(60), r.Int64N(5)
	}
	return &gateway.SetSource{Tenant: s.tenant, Source: s.name, Settings: s.settings}
}

// delivery goes on with what is in the outbox: one that is due is tried, with any end; a dead letter is replayed or discarded.
func (w *World) delivery() (commands []gateway.Command) {
	s := pick(w.rand, w.sources...)
	err := w.view(func(v store.BooksView) error {
		due, _, err := v.Due(s.tenant, s.name, w.now+w.rand.Int64N(10_000), 5)
		if err != nil {
			return err
		}
		dead, err := v.DeadLetters(s.tenant, s.name, 0, 5)
		if len(due) > 0 {
			commands = w.try(&due[w.rand.IntN(len(due))])
		} else if len(dead) > 0 {
			commands = w.bury(&dead[w.rand.IntN(len(dead))])
		}
		return err
	})
	if err != nil {
		panic(err) // a view of a store that is open
	}
	return commands
}

func (w *World) try(d *gateway.Delivery) []gateway.Command {
	tried := &gateway.Attempt{Number: d.Number, IntervalMs: 1000}
	switch w.rand.IntN(6) {
	case 0:
		return []gateway.Command{tried, &gateway.Failed{Number: d.Number, Reason: "status 503"}}
	case 1:
		return []gateway.Command{tried, &gateway.Untried{Number: d.Number, IntervalMs: d.IntervalMs, LastMs: d.LastMs}}
	case 2, 3:
		return []gateway.Command{tried, &gateway.Settled{Number: d.Number, Reason: "status 403"}}
	}
	return []gateway.Command{tried, &gateway.Settled{Number: d.Number, OK: true}}
}

func (w *World) bury(d *gateway.Delivery) []gateway.Command {
	switch w.rand.IntN(3) {
	case 0:
		return []gateway.Command{&gateway.Discard{Tenant: d.Name.Tenant, ID: d.ID, By: "ops"}}
	case 1:
		return []gateway.Command{&gateway.Replay{Tenant: d.Name.Tenant, ID: d.ID, Key: w.rand.Uint64N(9), By: "ops"}}
	}
	e := w.event() // its upstream delivers it again
	e.Name = d.Name
	return []gateway.Command{e}
}

// note counts what came about.
func (w *World) note(commands []gateway.Command, outcomes []gateway.Outcome) {
	for i, o := range outcomes {
		switch c := commands[i].(type) {
		case *gateway.Event:
			if o.Kind == gateway.Done {
				w.Seen[o.Decision.String()]++
			} else {
				w.Seen["refused"]++
			}
			if o.Raised {
				w.Seen["raised"]++
			}
			if o.TwinNumber > 0 {
				w.Seen["twin of "+o.Decision.String()]++
			}
			if o.Currencies {
				w.Seen["other currency"]++
			}
		case *gateway.Register, *gateway.Unregister, *gateway.SetSource, *gateway.Replay, *gateway.Discard:
			if o.Kind == gateway.Done {
				w.Seen[fmt.Sprintf("%T", c)[len("*gateway."):]]++
			}
		case *gateway.Settled:
			w.Seen[fmt.Sprintf("settled %t", c.OK)]++
		}
	}
}
