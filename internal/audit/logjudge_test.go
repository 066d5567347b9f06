package audit

import (
	"fmt"
	"strings"
	"testing"
)

// rightLogs are short logs by the rule, written out by hand. Each ends with an event whose claims the rule decides.
var rightLogs = map[string]func(w *logWriter, last func(*claim)){
	"the bound is inside": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		w.at += 100
		end(w, last, claim{decision: "duplicate_done", prior: a, predecessor: a, root: a})
	},
	"beyond the bound": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		w.at += 101
		end(w, last, claim{decision: "accept", prior: a, predecessor: a, root: a})
	},
	"the anchor is the predecessor, not the root": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		w.at += 60
		b := w.event(claim{decision: "duplicate_done", prior: a, predecessor: a, root: a})
		w.at += 60
		end(w, last, claim{decision: "duplicate_done", prior: b, predecessor: b, root: a})
	},
	"rejected events are no predecessors": func(w *logWriter, last func(*claim)) {
		u := w.event(claim{decision: "unknown_key"})
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept", prior: u})
		w.at += 60
		b := w.event(claim{decision: "bad_amount", bad: true, prior: a, predecessor: a, root: a})
		w.at += 60
		end(w, last, claim{decision: "accept", prior: b, predecessor: a, root: a})
	},
	"a key's own window": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 5)
		a := w.event(claim{decision: "accept", window: 5})
		w.at += 6
		end(w, last, claim{decision: "accept", window: 5, prior: a, predecessor: a, root: a})
	},
	"a source's window, changed": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		w.source(source{window: 7})
		w.at += 8
		end(w, last, claim{decision: "accept", window: 7, prior: a, predecessor: a, root: a})
	},
	"a time before the predecessor's is raised": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		end(w, last, claim{decision: "duplicate_done", named: true, namedAt: w.at - 50, seen: w.at, prior: a, predecessor: a, root: a})
	},
	"pending, said by the source": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept", state: "pending"})
		end(w, last, claim{decision: "duplicate_pending", was: "pending", prior: a, predecessor: a, root: a})
	},
	"scopes don't part where they aren't strict": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept", said: "wire", scope: "wire"})
		end(w, last, claim{decision: "duplicate_done", prior: a, predecessor: a, root: a})
	},
	"other content, flagged": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		end(w, last, claim{decision: "duplicate_done", print: 9, prior: a, predecessor: a, root: a})
	},
	"other content, rejected": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		m := w.event(claim{decision: "mismatch", print: 9, strict: true, prior: a, predecessor: a, root: a})
		w.at += 100
		end(w, last, claim{decision: "duplicate_done", strict: true, prior: m, predecessor: a, root: a})
	},
	"another currency": func(w *logWriter, last func(*claim)) {
		w.register("k", "schema", 0)
		a := w.event(claim{decision: "accept"})
		w.at += 100
		end(w, last, claim{decision: "mismatch", currency: "JPY", prior: a, predecessor: a, root: a})
	},
}

// end writes the last event, changed.
func end(w *logWriter, last func(*claim), c claim) {
	if c.seen == 0 {
		c.seen = w.at
	}
	last(&c)
	w.event(c)
}

func TestRightLogsAreProved(t *testing.T) {
	for name, write := range rightLogs {
		w := newLogWriter(false, source{})
		write(w, func(*claim) {})
		if found := w.faults(t); len(found) > 0 {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestScopesPartWhereStrict(t *testing.T) {
	w := newLogWriter(true, source{})
	w.register("k", "schema", 0)
	a := w.event(claim{decision: "accept", said: "wire", scope: "wire"})
	w.event(claim{decision: "accept", prior: a, predecessor: a, root: a})
	if found := w.faults(t); len(found) > 0 {
		t.Error(found)
	}
	w.event(claim{decision: "mismatch", said: "wire", scope: "wire", currency: "EUR", prior: 5, predecessor: 5, root: 5}) // before scopes are looked at
	if found := w.faults(t); len(found) > 0 {
		t.Error(found)
	}
}

// TestAWrongClaimIsNamed changes each claim of the last event of each log.
func TestAWrongClaimIsNamed(t *testing.T) {
	wrong := map[string]func(*claim){
		"decision": func(c *claim) {
			if c.decision = "accept"; c.root > 0 {
				c.decision = "unknown_key"
			}
			c.scope, c.window = "schema", max(c.window, 1)
		},
		"scope":               func(c *claim) { c.scope = "wire" },
		"window":              func(c *claim) { c.window += 101 },
		"seen at":             func(c *claim) { c.seen++ },
		"prior":               func(c *claim) { c.prior-- },
		"predecessor":         func(c *claim) { c.predecessor-- },
		"predecessor's state": func(c *claim) { c.was = map[string]string{"": "pending", "pending": "done"}[c.was] },
		"root":                func(c *claim) { c.root-- },
		"forwarded":           func(c *claim) { c.forwarded = true },
		"a time ahead":        func(c *claim) { c.named, c.namedAt, c.seen = true, c.seen+301, c.seen+301 },
		"no currency":         func(c *claim) { c.currency = "usd" },
		"no amount":           func(c *claim) { c.amount = "1,00" },
	}
	for what, change := range wrong {
		for name, write := range rightLogs {
			w := newLogWriter(false, source{})
			write(w, change)
			if found := w.faults(t); len(found) == 0 || !strings.HasPrefix(found[0], fmt.Sprintf("record %d: ", len(w.records))) {
				t.Errorf("%s, wrong %s: %q", name, what, found)
			}
		}
	}
}
