package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
)

// logWriter writes a log by docs/log.md: the tests of this package share nothing with the gateway either.
type logWriter struct {
	records [][]byte
	hash    [32]byte
	at      int64 // Unix seconds
	loss    int64 // the last record of one
}

const logStart = 1_000_000

// newLogWriter begins with a policy (a window of 100 s, scopes as said) and the source "s" of the tenant "t".
func newLogWriter(strict bool, source source) *logWriter {
	w := &logWriter{at: logStart}
	w.add(kindPolicy, 100, strict, 2)
	w.source(source)
	return w
}

// source is what a test says of the source; all else is as usual.
type source struct {
	window        int
	open, forward bool
}

func (w *logWriter) source(s source) int64 {
	return w.add(kindSource, "t", "s", s.window, "schema", 5, s.open, s.forward, 1)
}

// add writes a record and returns its number.
func (w *logWriter) add(kind string, fields ...any) int64 {
	number := int64(len(w.records) + 1)
	if kind == kindLoss {
		w.loss = number
	}
	var out []byte
	for _, f := range append([]any{kind, number, w.hash, w.at * 1000}, fields...) {
		var text []byte
		switch f := f.(type) {
		case string:
			text = []byte(f)
		case int:
			text = binary.BigEndian.AppendUint64(nil, uint64(f))
		case int64:
			text = binary.BigEndian.AppendUint64(nil, uint64(f))
		case bool:
			text = binary.BigEndian.AppendUint64(nil, uint64(number01(f)))
		case [32]byte:
			text = f[:]
		default:
			panic(fmt.Sprintf("%T", f))
		}
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	w.records = append(w.records, out)
	w.hash = sha256.Sum256(out)
	return number
}

func (w *logWriter) register(key, scope string, window int) int64 {
	return w.add(kindRegister, "t", "s", key, scope, window, 5, byAPI, "ops")
}

func (w *logWriter) unregister(key string) int64 {
	return w.add(kindUnregister, "t", "s", key, byAPI, "ops")
}

// delivery is by the forwarder where by is empty, else by what or whom it says.
func (w *logWriter) delivery(event int64, what string, by string) int64 {
	switch by {
	case "":
		return w.add(kindDelivery, event, what, "", 1, byForward, "")
	case byDuplicate:
		return w.add(kindDelivery, event, what, "", 1, byDuplicate, "")
	}
	return w.add(kindDelivery, event, what, "", 1, byAPI, by)
}

// claim is an event, and what its record says of it.
type claim struct {
	key, decision, currency, amount string
	bad                             bool   // the amount is none
	said, scope                     string // "schema" where it is judged at all
	state, was                      string // the event's, and its predecessor's; "done"
	named                           bool
	namedAt, seen                   int64 // seen: the writer's clock
	window                          int   // 100 where it is judged at all
	prior, predecessor, root        int64
	forwarded, strict               bool
	print, digest                   byte
	twin                            int64
}

func (w *logWriter) event(c claim) int64 {
	judged := c.decision != "unknown_key" && c.decision != "bad_amount"
	set := func(v *string, to string) {
		if *v == "" {
			*v = to
		}
	}
	set(&c.key, "k")
	set(&c.currency, "USD")
	set(&c.amount, "1.00")
	set(&c.state, "done")
	set(&c.was, "done")
	if judged {
		set(&c.scope, "schema")
		if c.window == 0 {
			c.window = 100
		}
	}
	if c.seen == 0 {
		c.seen = w.at
	}
	id := fmt.Sprint("ev_", len(w.records))
	kind, fields := kindEvent, []any{"t", "s", c.key, id, c.decision, c.currency, c.amount, !c.bad, c.said, c.scope, c.state, c.named, c.namedAt, c.seen, c.window,
		c.prior, c.predecessor, c.was, c.root, c.forwarded, [32]byte{c.print}, [32]byte{c.digest}, c.strict}
	if c.twin != 0 {
		kind, fields = kindTwin, append(fields, c.twin)
	}
	return w.add(kind, fields...)
}

// Records and the others make the writer a Log whose store states nothing but the head.
func (w *logWriter) Records(after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, r := range w.records[after:] {
			if !yield(slices.Clone(r), nil) {
				return
			}
		}
	}
}

func (w *logWriter) Head() StatedHead {
	return StatedHead{Number: int64(len(w.records)), Hash: w.hash, Ruled: true, Accepted: w.loss, Policy: StatedPolicy{BlockWindowS: 100, LRUMinHits: 2}}
}

func (w *logWriter) Record(number int64) ([]byte, error)                   { return w.records[number-1], nil }
func (w *logWriter) Sources() ([]StatedSource, error)                      { return nil, nil }
func (w *logWriter) Keys() iter.Seq2[*StatedKey, error]                    { return none[*StatedKey] }
func (w *logWriter) Outbox() iter.Seq2[*StatedRow, error]                  { return none[*StatedRow] }
func (w *logWriter) Key(string, string, string) (*StatedKey, error)        { return &StatedKey{}, nil }
func (w *logWriter) Books() ([]StatedBook, error)                          { return nil, nil }
func (w *logWriter) Capacity(string, string) (int64, error)                { return 0, nil }
func (w *logWriter) Ledger(_, _, _ string, _ int64) ([]StatedEntry, error) { return nil, nil }
func (w *logWriter) Index() iter.Seq2[*StatedIndex, error]                 { return none[*StatedIndex] }
func (w *logWriter) IDs() iter.Seq2[*StatedID, error]                      { return none[*StatedID] }
func (w *logWriter) Bodies() iter.Seq2[*StatedBody, error]                 { return none[*StatedBody] }

func none[T any](func(T, error) bool) {}

// faults proves the log and returns the issues that name a record. Rows that the outbox must have aren't stated, and are left out.
func (w *logWriter) faults(t *testing.T) (found []string) {
	t.Helper()
	proof, err := ProveLog(t.Context(), w, ProofOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, issue := range proof.Issues {
		if strings.HasPrefix(issue, "record ") && !strings.Contains(issue, "but the outbox doesn't have it") {
			found = append(found, issue)
		}
	}
	return found
}
