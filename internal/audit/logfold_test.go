package audit

import (
	"slices"
	"strings"
	"testing"
)

// proved wants a log without faults; named one whose fault names the last record and holds a word.
func proved(t *testing.T, what string, w *logWriter) {
	t.Helper()
	if found := w.faults(t); len(found) > 0 {
		t.Errorf("%s: %q", what, found)
	}
}

func named(t *testing.T, word string, w *logWriter) {
	t.Helper()
	if found := w.faults(t); len(found) != 1 || !strings.Contains(found[0], word) {
		t.Errorf("want a fault with %q: %q", word, found)
	}
}

// forwarding is a log with one accepted event that goes to a destination: record 4.
func forwarding() *logWriter {
	w := newLogWriter(false, source{forward: true})
	w.register("k", "schema", 0)
	w.event(claim{decision: "accept", forwarded: true})
	return w
}

func repeatOf(event int64, was string) claim {
	return claim{decision: "duplicate_" + was, was: was, prior: event, predecessor: event, root: event}
}

func TestForwardedStates(t *testing.T) {
	for _, c := range []struct{ what, was string }{{wasDelivered, "done"}, {hasDied, "pending"}} {
		w := forwarding()
		w.delivery(4, c.what, "")
		r := w.event(repeatOf(4, c.was))
		if c.what == hasDied {
			w.delivery(4, wasRevived, "duplicate")
		}
		proved(t, c.what, w)
		w.event(claim{decision: "duplicate_" + c.was, was: c.was, prior: r, predecessor: r, root: 4})
		proved(t, c.what+", repeated again", w)
	}
	w := forwarding()
	w.delivery(4, hasDied, "")
	w.delivery(4, wasDiscarded, "ops")
	w.event(repeatOf(4, "pending")) // given up: pending for good
	proved(t, "discarded", w)
}

func TestDeliveriesThatCantBe(t *testing.T) {
	for _, c := range []struct {
		word  string
		write func(w *logWriter)
	}{
		{"isn't in the outbox", func(w *logWriter) { w.delivery(4, wasDelivered, ""); w.delivery(4, wasDelivered, "") }},
		{"isn't in the outbox", func(w *logWriter) { w.delivery(3, wasDelivered, "") }},
		{"is a dead letter", func(w *logWriter) { w.delivery(4, hasDied, ""); w.delivery(4, wasDelivered, "") }},
		{"is no dead letter", func(w *logWriter) { w.delivery(4, wasRevived, "ops") }},
		{"is no dead letter", func(w *logWriter) { w.delivery(4, wasDiscarded, "ops") }},
		{"asks for this", func(w *logWriter) { w.delivery(4, hasDied, ""); w.delivery(4, wasRevived, "duplicate") }},
		{"no record revives that", func(w *logWriter) { w.delivery(4, hasDied, ""); w.event(repeatOf(4, "pending")) }},
		{"without being sent", func(w *logWriter) { w.add(kindDelivery, 4, wasDelivered, "", 0, byForward, "") }},
	} {
		w := forwarding()
		c.write(w)
		named(t, c.word, w)
	}
}

func TestRegistryThatCantBe(t *testing.T) {
	for _, c := range []struct {
		word  string
		write func(w *logWriter)
	}{
		{"names its scope", func(w *logWriter) { w.register("k", "", 0) }},
		{"changes nothing", func(w *logWriter) { w.register("k", "wire", 3); w.register("k", "wire", 3) }},
		{"changes nothing", func(w *logWriter) { w.source(source{}) }},
		{"origin is none", func(w *logWriter) { w.add(kindRegister, "t", "s", "k", "schema", 0, 5, byDuplicate, "") }},
		{"origin is none", func(w *logWriter) { w.add(kindRegister, "t", "s", "k", "schema", 0, 5, "ops", "") }},
		{"origin has no name", func(w *logWriter) { w.add(kindRegister, "t", "s", "k", "schema", 0, 5, byFile, "ops") }},
		{"isn't registered", func(w *logWriter) { w.unregister("k") }},
		{"its registration stays", func(w *logWriter) {
			w.register("k", "schema", 0)
			w.event(claim{decision: "accept"})
			w.unregister("k")
		}},
		{"isn't named", func(w *logWriter) { w.register(" k", "schema", 0) }},
		{"isn't named", func(w *logWriter) { w.add(kindSource, "#t", "s", 0, "schema", 0, false, false, 1) }},
		{"first record", func(w *logWriter) { w.add(kindPolicy, 100, false, 2) }},
		{"number of parts", func(w *logWriter) {
			w.event(claim{decision: "unknown_key"})
			w.add(kindSource, "t", "s", 0, "schema", 5, false, false, 2)
		}},
		{"at an open source only", func(w *logWriter) {
			w.add(kindRegister, "t", "s", "k", "schema", 0, 5, byOpen, "")
			w.event(claim{decision: "accept"})
		}},
		{"no settings", func(w *logWriter) {
			w.add(kindRegister, "t", "s2", "k", "schema", 0, 5, byAPI, "ops")
			w.add(kindEvent, "t", "s2", "k", "id", "accept", "USD", "1", true, "", "schema", "done", false, 0, w.at, 100, 0, 0, "done", 0, false, [32]byte{}, [32]byte{}, false)
		}},
	} {
		w := newLogWriter(false, source{})
		c.write(w)
		named(t, c.word, w)
	}
}

func TestOpenSources(t *testing.T) {
	open := func() *logWriter {
		w := newLogWriter(false, source{open: true})
		w.add(kindRegister, "t", "s", "k", "schema", 0, 5, byOpen, "")
		return w
	}
	w := open()
	w.event(claim{decision: "accept"})
	proved(t, "its event follows", w)
	named(t, "its event doesn't follow", open())
	w = open()
	w.event(claim{key: "other", decision: "unknown_key"})
	if found := w.faults(t); len(found) != 2 {
		t.Errorf("another's event follows: %q", found)
	}
	w = newLogWriter(false, source{open: true})
	w.event(claim{decision: "unknown_key"})
	named(t, "no record registers its key", w)
}

// TestChain cuts, swaps and repeats records: those concerned are named.
func TestChain(t *testing.T) {
	whole := forwarding()
	for _, c := range []struct {
		word   string
		change func(w *logWriter)
	}{
		{"record 3: it is missing", func(w *logWriter) { w.records = slices.Delete(w.records, 2, 3) }},
		{"record 3: it is missing", func(w *logWriter) { w.records[2], w.records[3] = w.records[3], w.records[2] }},
		{"record 4: its place holds a record with the number 2", func(w *logWriter) { w.records[3] = w.records[1] }},
		{"record 3: its bytes aren't those that record 4 holds", func(w *logWriter) { w.records[2][len(w.records[2])-1] ^= 1 }},
		{"record 4: its bytes aren't those that the head holds", func(w *logWriter) { w.records[3][len(w.records[3])-1] ^= 1 }},
		{"record 2: not a record", func(w *logWriter) { w.records[1] = []byte("?") }},
	} {
		w := &logWriter{hash: whole.hash, at: whole.at}
		for _, r := range whole.records {
			w.records = append(w.records, slices.Clone(r))
		}
		head := w.Head()
		c.change(w)
		proof, err := ProveLog(t.Context(), stated{w, head}, ProofOptions{})
		if err != nil || !strings.HasPrefix(proof.Issues[0], c.word) {
			t.Errorf("want %q: %q, %v", c.word, proof.Issues, err)
		}
	}
}

// stated is a log with a head of its own.
type stated struct {
	*logWriter
	head StatedHead
}

func (s stated) Head() StatedHead { return s.head }

// TestWordsOfTheMachineAreNoOrigins: whoever is called as the machine's words go is somebody with a token all the same.
func TestWordsOfTheMachineAreNoOrigins(t *testing.T) {
	for _, word := range []string{byOpen, byFile, byAPI, byDuplicate, byForward, byOperator, "", "\x00", "\xff\xfe", "\uFEFF", strings.Repeat("x", 300)} {
		w := newLogWriter(false, source{open: true, forward: true})
		w.add(kindRegister, "t", "s", "k", "wire", 7, 5, byAPI, word)
		w.add(kindUnregister, "t", "s", "k", byAPI, word)
		w.register("k", "schema", 0)
		n := w.event(claim{decision: "accept", forwarded: true})
		w.delivery(n, hasDied, "")
		w.add(kindDelivery, n, wasRevived, "", 1, byAPI, word)
		w.delivery(n, hasDied, "")
		w.add(kindDelivery, n, wasDiscarded, "", 1, byAPI, word)
		proved(t, word, w)
	}
}

// TestRecordsWithoutAnOrigin: in the kinds of before a word of the machine's may be somebody's name, and nobody can tell. What a repeat asks for
// must follow it all the same.
func TestRecordsWithoutAnOrigin(t *testing.T) {
	w := newLogWriter(false, source{open: true, forward: true})
	w.add(oldRegister, "t", "s", "x", "wire", 7, 1, "open") // by somebody: the source registers with other settings
	w.add(oldUnregister, "t", "s", "x", "open")
	w.add(oldRegister, "t", "s", "k", "schema", 0, 5, "open")
	n := w.event(claim{decision: "accept", forwarded: true})
	w.add(oldDelivery, n, hasDied, "404", 1, "")
	w.add(oldDelivery, n, wasRevived, "", 1, "duplicate") // by somebody: no repeat came
	w.add(oldDelivery, n, hasDied, "404", 1, "")
	w.event(repeatOf(n, "pending"))
	dead := *w
	w.add(oldDelivery, n, wasRevived, "", 1, "duplicate")
	proved(t, "of before", w)
	w.delivery(n, wasDelivered, "")
	proved(t, "of before, and of today", w)
	w.add(oldRegister, "t", "s", "y", "schema", 0, 5, "ops")
	named(t, "doesn't say what it was by", w)
	dead.add(oldDelivery, n, wasRevived, "", 1, "ops")
	named(t, "no record revives that", &dead)
}

// TestAcceptedLosses: a loss changes no books, and an anchor of what was lost, noted before, is no fault any more.
func TestAcceptedLosses(t *testing.T) {
	loss := func(from, to int64) *logWriter {
		w := forwarding()
		w.add(kindLoss, from, [32]byte{9}, to, byOperator, "open", "the disk")
		return w
	}
	proved(t, "a loss", loss(92, 4))
	proved(t, "a loss of a log that was another one before", loss(4, 2))
	for _, w := range []*logWriter{loss(4, 4), loss(3, 4), loss(92, 5), loss(92, -1)} {
		named(t, "can't have ended", w)
	}
	for _, c := range []struct {
		word   string
		anchor Anchored
	}{
		{"", Anchored{Number: 5, At: logStart}}, {"", Anchored{Number: 92, At: logStart}},
		{"the log was cut", Anchored{Number: 93, At: logStart}}, {"the log was cut", Anchored{Number: 92, At: logStart + 1}},
		{"another hash", Anchored{Number: 4, At: logStart}}, {"another hash", Anchored{Number: 5, At: logStart + 1}},
	} {
		proof, err := ProveLog(t.Context(), loss(92, 4), ProofOptions{Anchors: []Anchored{c.anchor}})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.DeleteFunc(proof.Issues, func(i string) bool { return !strings.Contains(i, "anchor") })
		if len(found) > 0 != (c.word != "") || c.word != "" && !strings.Contains(found[0], c.word) {
			t.Errorf("%+v: %q", c.anchor, found)
		}
	}
}

func TestAnchors(t *testing.T) {
	w := forwarding()
	right := Anchored{Number: 4, Hash: w.hash, When: "then"}
	for _, c := range []struct {
		word    string
		anchors []Anchored
	}{
		{"", []Anchored{right, right}},
		{"record 4: the anchor of then holds another hash", []Anchored{right, {Number: 4, When: "then"}}},
		{"record 5: the log was cut", []Anchored{right, {Number: 5, When: "then"}}},
	} {
		proof, err := ProveLog(t.Context(), w, ProofOptions{Anchors: c.anchors})
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(proof.Issues, func(i string) bool { return strings.HasPrefix(i, c.word) })
		told := slices.ContainsFunc(proof.Issues, func(i string) bool { return strings.Contains(i, "anchor") })
		if !found || told != (c.word != "") {
			t.Errorf("%v: %q", c.anchors, proof.Issues)
		}
	}
}
