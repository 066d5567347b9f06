package sim

import (
	"fmt"
	"hash/fnv"
)

// trace hashes all that happened and keeps the last lines.
type trace struct {
	keep  int // lines kept; below 0: all
	lines []string
	from  int // of the oldest line, once as many are kept as may be
	count int
	sum   uint64
	buf   []byte
}

func (t *trace) add(now int64, who, format string, args ...any) {
	t.buf = fmt.Appendf(t.buf[:0], "%9.3fs %s: ", float64(now)/1000, who)
	t.buf = fmt.Appendf(t.buf, format, args...)
	h := fnv.New64a()
	var sum [8]byte
	for i := range sum {
		sum[i] = byte(t.sum >> (8 * i))
	}
	_, _ = h.Write(sum[:]) // a hash takes all
	_, _ = h.Write(t.buf)
	t.sum = h.Sum64()
	t.count++
	switch {
	case t.keep < 0 || len(t.lines) < t.keep:
		t.lines = append(t.lines, string(t.buf))
	case t.keep > 0:
		t.lines[t.from] = string(t.buf)
		t.from = (t.from + 1) % t.keep
	}
}

// last returns the kept lines, oldest first.
func (t *trace) last() []string {
	return append(append([]string(nil), t.lines[t.from:]...), t.lines[:t.from]...)
}
