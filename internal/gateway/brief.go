package gateway

import "fmt"

// Brief is what counting needs of a record. Tenant and Source are parts of the record's bytes.
type Brief struct {
	Number, At     int64
	Event          bool // the fields below are of an event
	Tenant, Source []byte
	Decision       Decision
}

// ReadBrief reads the beginning of a record, several times as fast as ReadRecord reads all of it. What follows isn't looked at.
func ReadBrief(text []byte) (Brief, error) {
	p := parser{rest: text}
	kind := p.field()
	b := Brief{Event: string(kind) == KindEvent || string(kind) == KindTwin, Number: p.integer()}
	p.hash()
	b.At = p.integer()
	if b.Event {
		b.Tenant, b.Source = p.field(), p.field()
		p.field() // the key
		p.field() // the id
		b.Decision = p.decision()
	}
	if p.fault != "" {
		return Brief{}, fmt.Errorf("%w: %s", ErrRecord, p.fault)
	}
	return b, nil
}
