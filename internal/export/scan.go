package export

import (
	"context"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// past is what the first reading tells, two bits a record and little else.
type past struct {
	pending    bits // by number: the event was pending when its successor was measured against it, or is so now
	deleted    map[gateway.Name]int64
	windows    map[sourceName]int64
	changed    map[sourceName]bool // its window was changed, so that the keys that inherit it are remembered
	currencies map[string]bool
}

type sourceName struct{ tenant, source string }

// bits are marks of record numbers.
type bits []uint64

func (b bits) set(n int64) { b[n/64] |= 1 << (n % 64) }

func (b bits) has(n int64) bool { return b[n/64]>>(n%64)&1 == 1 }

func scan(ctx context.Context, v store.BooksView) (*past, error) {
	words := v.Head().Number/64 + 1
	p := &past{
		pending: make(bits, words), deleted: map[gateway.Name]int64{},
		windows: map[sourceName]int64{}, changed: map[sourceName]bool{}, currencies: map[string]bool{},
	}
	err := eachRecord(ctx, v, func(e *gateway.Entry) error {
		switch r := e.Record.(type) {
		case *gateway.EventRecord:
			p.currencies[r.Currency] = true
			if r.Predecessor > 0 && !r.Decision.Rejected() {
				p.tell(r.Predecessor, r.PredecessorState)
			}
		case *gateway.UnregisterRecord:
			p.deleted[r.Name] = e.Number
		case *gateway.SourceRecord:
			name := sourceName{r.Tenant, r.Source}
			if before, known := p.windows[name]; known && before != r.WindowS {
				p.changed[name] = true
			}
			p.windows[name] = r.WindowS
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, p.present(ctx, v)
}

// tell takes in the state that an event was in when its successor was measured against it.
func (p *past) tell(number int64, s settle.State) {
	if s == settle.StatePending {
		p.pending.set(number)
	}
}

// present gives the events without a successor, one a key, the state that they are in now.
func (p *past) present(ctx context.Context, v store.BooksView) error {
	for k, err := range v.Keys("", "", "") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if k.Last.Number > 0 {
			p.tell(k.Last.Number, k.State())
		}
	}
	return nil
}

// state is the state that an accepted or deduped event is exported with.
func (p *past) state(number int64) settle.State {
	if p.pending.has(number) {
		return settle.StatePending
	}
	return settle.StateDone
}
