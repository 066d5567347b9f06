package prove

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

// hostile are texts that may come from outside into any field: the machine's own words, what a form takes for its end or its beginning, and bytes
// that are no text.
var hostile = []string{
	"", "open", "file", "api", "duplicate", "forward", "operator", "-", "*", "#", "#t", ".", "..", "\uFEFF", "\uFEFFt", "\x00", "a\x00b", "\x00\x00", "\x00\xff", "\xff", "\xff\xfe",
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\xed\xa0\x80", " ", " a", "a ", "a\tb", "a\nb", "a\r\n", "\u0085", "\u200b", "\u202e", "\u2028", "é", "e\u0301", "\U0001D518", "accept", "done", "pending",
	"XXX", "USD", "usd", "ÄÖÜ", "U D", "\x00\x00\x00", "policy", "register.2", "\x08\x00\x00\x00\x00\x00\x00\x00\x01", "1", "1.00", "-1", "1e3", "01", "999999999999999999.99999999",
	strings.Repeat("9", 65), strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("é", 128), strings.Repeat("y", 70_000),
}

// world are the hostile commands of one run.
type world struct {
	t     *testing.T
	rand  *rand.Rand
	books *memory.Store
	now   int64
	ids   []string // of accepted events
}

func (w *world) one(in int) bool { return w.rand.IntN(in) == 0 }

func (w *world) word() string {
	if w.one(10) {
		bytes := make([]byte, w.rand.IntN(20))
		for i := range bytes {
			bytes[i] = byte(w.rand.Uint32())
		}
		return string(bytes)
	}
	return hostile[w.rand.IntN(len(hostile))]
}

// near is what makes the run go on mostly, and a hostile word else.
func (w *world) near(usual ...string) string {
	if w.one(5) {
		return w.word()
	}
	return usual[w.rand.IntN(len(usual))]
}

func (w *world) number(usual ...int64) int64 {
	all := append(usual, 0, 1, 60, 999_999_999_999_999, 1_000_000_000_000_000, -1, 1<<62, -1<<63)
	return all[w.rand.IntN(len(all))]
}

func (w *world) scope() settle.Scope { return settle.Scope(w.rand.IntN(3)) }

func (w *world) name() gateway.Name {
	return gateway.Name{Tenant: w.near("t", "t", "open"), Source: w.near("s", "s", "file"), Key: w.near("k", "k", "duplicate")}
}

func (w *world) event() *gateway.Event {
	e := &gateway.Event{
		Name: w.name(), ID: fmt.Sprint(w.near("ev_"), len(w.ids)), Scope: w.scope(), Amount: w.near("1.50", "2"), Currency: w.near("USD", "USD", "EUR"),
		State: settle.State(w.rand.IntN(2)), Strict: w.one(4), Body: &gateway.Body{ContentType: w.word(), Bytes: []byte(w.word())},
	}
	e.Digest = sha256.Sum256(e.Body.Bytes)
	e.Fingerprint[0] = byte(w.rand.IntN(2))
	e.Value, e.AmountOK = settle.ParseAmount([]byte(e.Amount))
	e.AmountOK = e.AmountOK || w.one(6)
	if w.one(6) {
		e.Named, e.SeenAt = true, w.number(w.now/1000)
	}
	return e
}

func (w *world) command() gateway.Command {
	switch w.rand.IntN(10) {
	case 0:
		n := w.name()
		return &gateway.SetSource{Tenant: n.Tenant, Source: n.Source, Settings: gateway.Settings{
			WindowS: w.number(100, 100, 100), Scope: w.scope(), LRUCapacity: w.number(2), Open: w.one(2), Forward: w.one(2), Parts: w.number(1, 1, 1),
			Guard: gateway.Guard(w.rand.IntN(3)), GuardS: w.number(30, 30, 30),
		}}
	case 1, 2:
		return &gateway.Register{Name: w.name(), Scope: w.scope(), WindowS: w.number(), LRUCapacity: w.number(), File: w.one(3), By: w.word()}
	case 3:
		return &gateway.Unregister{Name: w.name(), By: w.word()}
	case 4:
		return &gateway.AcceptLoss{From: w.number(), To: w.number(), By: w.word(), Reason: w.word()}
	case 5:
		return w.tried()
	case 6:
		return w.buried()
	}
	return w.event()
}

// view reads the store.
func (w *world) view(f func(store.BooksView) error) {
	if err := w.books.ViewBooks(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) enter(c gateway.Command) gateway.Outcome {
	o, err := w.books.Enter(w.t.Context(), w.now, []gateway.Command{c})
	if err != nil {
		w.t.Fatal(err)
	}
	return o[0]
}

// buried is what becomes of the first dead letter.
func (w *world) buried() (c gateway.Command) {
	c = w.event()
	w.view(func(v store.BooksView) error {
		dead, err := v.DeadLetters("t", "", 0, 1)
		if len(dead) > 0 && w.one(3) {
			c = &gateway.Discard{Tenant: w.near("t"), ID: dead[0].ID, By: w.word()}
		} else if len(dead) > 0 {
			c = &gateway.Replay{Tenant: w.near("t"), ID: dead[0].ID, Key: w.rand.Uint64(), By: w.word()}
		}
		return err
	})
	return c
}

// tried ends the first delivery that is due.
func (w *world) tried() gateway.Command {
	c := &gateway.Settled{OK: w.one(2), Reason: w.word()}
	w.view(func(v store.BooksView) error {
		for d, err := range v.Deliveries() {
			if err != nil || d.State == gateway.Waiting && d.Due != gateway.Held {
				c.Number = d.Number
				return err
			}
		}
		return nil
	})
	w.enter(&gateway.Attempt{Number: c.Number, IntervalMs: 1})
	return c
}

// TestWhatTheWriterTakesTheAuditTakes puts hostile texts and numbers into every field of every command: whatever the gateway takes is proved.
func TestWhatTheWriterTakesTheAuditTakes(t *testing.T) {
	taken := map[string]int{}
	for seed := range uint64(1000) {
		w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), books: memory.New(), now: 1_000_000_000}
		w.enter(&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: w.number(), LRUMinHits: w.number()}})
		w.enter(&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 60, LRUMinHits: 1}})
		for _, n := range []gateway.Name{{Tenant: "t", Source: "s"}, {Tenant: "t", Source: "file"}, {Tenant: "open", Source: "s"}, {Tenant: "open", Source: "file"}} {
			w.enter(&gateway.SetSource{Tenant: n.Tenant, Source: n.Source, Settings: gateway.Settings{Scope: settle.ScopeWire, Open: n.Source == "s", Forward: true, Parts: 1, LRUCapacity: 3}})
		}
		for range 60 {
			w.now += w.rand.Int64N(50_000)
			c := w.command()
			if e, ok := c.(*gateway.Event); ok {
				w.ids = append(w.ids, e.ID)
			}
			if o := w.enter(c); o.Kind == gateway.Invalid {
				taken["invalid"]++
			}
		}
		w.view(func(v store.BooksView) error {
			if err := count(v, taken); err != nil {
				return err
			}
			proof, err := audit.ProveLog(t.Context(), Stated(v), audit.ProofOptions{Whole: true})
			if err == nil && !proof.OK() {
				t.Fatalf("run %d: %q", seed, proof.Issues)
			}
			return err
		})
	}
	for _, what := range []string{
		"accept", "duplicate_done", "duplicate_pending", "bad_amount", "unknown_key", "mismatch", "open", "file", "api", "delivered", "dead", "revived", "discarded", "loss", "invalid",
	} {
		if taken[what] == 0 {
			t.Errorf("%s never came: %v", what, taken)
		}
	}
}

// count counts what the records of a log say.
func count(v store.BooksView, taken map[string]int) error {
	for raw, err := range v.Records(0) {
		if err != nil {
			return err
		}
		e, err := gateway.ReadRecord(raw)
		if err != nil {
			return err
		}
		switch r := e.Record.(type) {
		case *gateway.EventRecord:
			taken[r.Decision.String()]++
		case *gateway.RegisterRecord:
			taken[r.Origin.String()]++
		case *gateway.DeliveryRecord:
			taken[r.What]++
		case *gateway.LossRecord:
			taken["loss"]++
		}
	}
	return nil
}
