package gatewayapi

import (
	"sync"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

const (
	// grain is the shortest time that decisions are counted in, in ms.
	grain = 10_000
	// tallySpan is how far back counting begins, in ms: what a chart shows when nothing else is asked for.
	tallySpan = int64(24 * time.Hour / time.Millisecond)
	// tallyBehind is how many records counting may lie behind the log before it begins anew: reading more would take seconds.
	tallyBehind = 2_000_000
	// tallyCells bounds the counts kept, some 30 MB; the oldest go.
	tallyCells = 200_000
)

// tally counts decisions over time as they are asked for, reading each record once, so that a chart that is drawn again and again
// costs what came since.
type tally struct {
	mu    sync.Mutex
	begun bool
	upto  int64 // records up to this number are counted
	since int64 // Unix ms from which on the counts are whole
	cells map[cell]*counts
	names map[string]string // each tenant's and source's name once
}

type cell struct {
	at             int64 // Unix ms at which it begins
	tenant, source string
}

type counts [len(decisionOrder)]int64

var decisionOrder = [...]gateway.Decision{
	gateway.UnknownKey, gateway.BadAmount, gateway.Mismatch, gateway.DuplicatePending, gateway.DuplicateDone, gateway.Accept,
}

// update counts what came since the last update, at most so many records, and reports whether that was all.
func (t *tally) update(v intake.View, now int64, most int) (whole bool, err error) {
	head := v.Head().Number
	if !t.begun || head-t.upto > tallyBehind || head < t.upto {
		if err := t.begin(v, head, now); err != nil {
			return false, err
		}
	}
	if t.upto == head {
		return true, nil
	}
	read := 0
	for text, err := range v.Records(t.upto) {
		if err != nil {
			return false, err
		}
		b, err := gateway.ReadBrief(text)
		if err != nil {
			return false, err
		}
		if b.Event {
			t.count(&b)
		}
		t.upto = b.Number
		if read++; read == most {
			break
		}
	}
	t.prune()
	return t.upto == head, nil
}

// begin starts counting a day back, or so many records back where there are more.
func (t *tally) begin(v intake.View, head, now int64) error {
	since := down(now-tallySpan) - grain
	after, err := before(v, head, since)
	if err != nil {
		return err
	}
	if head-after > tallyBehind {
		after = head - tallyBehind
		if since, err = atOf(v, after+1); err != nil {
			return err
		}
		since = up(since)
	}
	t.begun, t.upto, t.since = true, after, since
	t.cells, t.names = make(map[cell]*counts), make(map[string]string)
	return nil
}

func (t *tally) count(b *gateway.Brief) {
	c := cell{at: down(b.At), tenant: t.name(b.Tenant), source: t.name(b.Source)}
	n := t.cells[c]
	if n == nil {
		n = new(counts)
		t.cells[c] = n
	}
	n[b.Decision]++
}

func (t *tally) name(text []byte) string {
	name, known := t.names[string(text)]
	if !known {
		name = string(text)
		t.names[name] = name
	}
	return name
}

// prune drops the older half of the time where there are too many cells.
func (t *tally) prune() {
	for len(t.cells) > tallyCells {
		latest := t.since
		for c := range t.cells {
			latest = max(latest, c.at)
		}
		t.since = up(t.since + (latest-t.since)/2 + 1)
		for c := range t.cells {
			if c.at < t.since {
				delete(t.cells, c)
			}
		}
	}
}

// down and up are the grains around a moment.
func down(ms int64) int64 { return ms - ms%grain }
func up(ms int64) int64   { return down(ms + grain - 1) }
