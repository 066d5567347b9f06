package settlement

import (
	"bytes"

	"hapax/internal/settle"
)

// fastEvent reads the ordinary row of a registered key without looking at a byte twice, apart from finding the key:
// it returns its pair text and its name. It gives up (ok false) on everything that isn't quite ordinary: skipped
// lines, broken rows, bad amounts; then the line goes the slow way through kindOf and eventRow, which alone decide,
// and so does a row whose key isn't found. It need not check names, UTF-8 or the length of the line: a key that is
// found was checked when it was registered, and all other columns are short ASCII by their grammar.
func fastEvent(line []byte, e *settle.Event) (pair, name []byte, ok bool) {
	var at int
	if e.Seq, at, ok = fastInteger(line, 0, '\t'); !ok {
		return nil, nil, false
	}
	tenantEnd := bytes.IndexByte(line[at:], '\t')
	if tenantEnd < 0 {
		return nil, nil, false
	}
	sourceEnd := bytes.IndexByte(line[at+tenantEnd+1:], '\t')
	if sourceEnd < 0 {
		return nil, nil, false
	}
	pair = line[at : at+tenantEnd+1+sourceEnd]
	rest := line[at+len(pair)+1:]
	keyEnd := bytes.IndexByte(rest, '\t')
	if keyEnd < 0 {
		return nil, nil, false
	}
	return pair, rest[:keyEnd], fastTail(rest[keyEnd+1:], e)
}

// fastTail reads scope, seen_at, amount, state and lru_rank.
func fastTail(tail []byte, e *settle.Event) (ok bool) {
	at := 0
	switch {
	case bytes.HasPrefix(tail, []byte("\t")):
		e.Scope, at = settle.ScopeNone, len("\t")
	case bytes.HasPrefix(tail, []byte("schema\t")):
		e.Scope, at = settle.ScopeSchema, len("schema\t")
	case bytes.HasPrefix(tail, []byte("wire\t")):
		e.Scope, at = settle.ScopeWire, len("wire\t")
	default:
		return false
	}
	if e.SeenAt, at, ok = fastInteger(tail, at, '\t'); !ok {
		return false
	}
	end := bytes.IndexByte(tail[at:], '\t')
	if end < 0 {
		return false
	}
	if e.Amount, e.AmountOK = settle.ParseAmount(tail[at : at+end]); !e.AmountOK {
		return false
	}
	tail = tail[at+end+1:]
	switch {
	case bytes.HasPrefix(tail, []byte("done\t")):
		e.State, at = settle.StateDone, len("done\t")
	case bytes.HasPrefix(tail, []byte("pending\t")):
		e.State, at = settle.StatePending, len("pending\t")
	default:
		return false
	}
	e.LRURank, ok = settle.ParseInteger(tail[at:])
	return ok
}

// fastInteger reads an integer at a place of line and the byte that must follow it; next is the place behind.
func fastInteger(line []byte, at int, follow byte) (n int64, next int, ok bool) {
	start := at
	for at < len(line) {
		c := line[at]
		if c-'0' > 9 {
			break
		}
		n = n*10 + int64(c-'0')
		at++
	}
	digits := at - start
	if digits == 0 || digits > settle.MaxIntegerDigits || digits > 1 && line[start] == '0' || at == len(line) || line[at] != follow {
		return 0, 0, false
	}
	return n, at + 1, true
}
