package audit

import "testing"

// guardedLog is a log whose source is guarded for 50 s, and has five keys.
func guardedLog(word string) *logWriter {
	w := newLogWriter(false, source{})
	w.guard(word, 50)
	for _, key := range []string{"k", "l", "m", "n", "o"} {
		w.register(key, "schema", 0)
	}
	return w
}

func (w *logWriter) guard(word string, window int) int64 {
	return w.add(kindGuarded, "t", "s", 0, "schema", 5, false, false, 1, word, window)
}

// TestAGuardIsRecomputed: by the digests in the records the audit finds the same body under another key within the window, and whatever a record says
// otherwise is told.
func TestAGuardIsRecomputed(t *testing.T) {
	accept := func(key string, digest byte, twin int64) claim {
		return claim{key: key, decision: "accept", digest: digest, twin: twin}
	}
	flagged := func() (*logWriter, int64) {
		w := guardedLog("flag")
		n := w.event(accept("k", 1, 0))
		w.event(accept("l", 2, 0)) // another body
		w.at += 50                 // the bound is inside
		return w, n
	}
	w, n := flagged()
	w.event(accept("m", 1, n))
	w.event(claim{key: "k", decision: "duplicate_done", digest: 1, prior: n, predecessor: n, root: n}) // a repeat is no matter of the guard
	w.at += 51
	w.event(accept("n", 1, 0)) // too late
	proved(t, "flagged", w)
	for word, c := range map[string]claim{
		"with its body is": accept("m", 1, 0), "is 9, not 10": accept("m", 1, n+1), "the decision is accept": {key: "m", decision: "mismatch", digest: 1, twin: n},
		"is 0, not 9": accept("m", 3, n),
	} {
		w, _ := flagged()
		w.event(c)
		named(t, word, w)
	}
	w, _ = flagged()
	w.at++
	w.event(accept("m", 1, n))
	named(t, "is 0, not", w)

	w = guardedLog("reject")
	n = w.event(accept("k", 1, 0))
	r := w.event(claim{key: "m", decision: "mismatch", digest: 1, twin: n})
	w.event(claim{key: "m", decision: "mismatch", digest: 1, twin: n, prior: r}) // what was rejected is nobody's twin
	w.event(claim{key: "k", decision: "duplicate_done", digest: 1, prior: n, predecessor: n, root: n})
	w.guard("reject", 60) // another window begins anew
	w.event(accept("n", 1, 0))
	w.source(source{})
	w.event(accept("o", 1, 0))
	proved(t, "rejected", w)
	w = guardedLog("reject")
	n = w.event(accept("k", 1, 0))
	w.event(accept("m", 1, n))
	named(t, "the decision is mismatch", w)
	w = guardedLog("reject")
	w.event(accept("k", 1, 0))
	w.guard("flag", 0)
	if found := w.faults(t); len(found) == 0 {
		t.Error("a guard of no window")
	}
}
