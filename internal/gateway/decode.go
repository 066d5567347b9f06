package gateway

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hapax/internal/settle"
)

// ErrRecord wraps what is wrong with bytes that are no record.
var ErrRecord = errors.New("gateway: not a record")

// Entry is a decoded record with what all of them carry.
type Entry struct {
	Number int64
	Before Hash // of the record before
	At     int64
	Record Record
}

// ReadRecord reads what AppendRecord wrote. Anything else, one byte more or less included, is ErrRecord.
func ReadRecord(text []byte) (Entry, error) {
	p := parser{rest: text}
	kind := p.text()
	e := Entry{Number: p.integer(), Before: p.hash(), At: p.integer()}
	switch kind {
	case KindPolicy:
		e.Record = &PolicyRecord{settle.Policy{BlockWindowS: p.integer(), ScopeStrict: p.flag(), LRUMinHits: p.integer()}}
	case KindSource, KindGuarded:
		e.Record = p.source(kind == KindGuarded)
	case KindRegister, kindRegister1:
		e.Record = &RegisterRecord{
			Name: p.name(), Scope: p.scope(), WindowS: p.integer(), LRUCapacity: p.integer(), Origin: p.origin(kind == KindRegister), By: p.text(),
		}
	case KindUnregister, kindUnregister1:
		e.Record = &UnregisterRecord{Name: p.name(), Origin: p.origin(kind == KindUnregister), By: p.text()}
	case KindEvent, KindTwin:
		e.Record = p.event(kind == KindTwin)
	case KindDelivery, kindDelivery1:
		e.Record = &DeliveryRecord{
			Event: p.integer(), What: p.text(), Reason: p.text(), Sends: p.integer(), Origin: p.origin(kind == KindDelivery), By: p.text(),
		}
	case KindLoss:
		e.Record = p.loss()
	default:
		p.spoil("an unknown kind")
	}
	if p.fault == "" && len(p.rest) > 0 {
		p.fault = "bytes after the last field"
	}
	if p.fault != "" {
		return Entry{}, fmt.Errorf("%w: %s", ErrRecord, p.fault)
	}
	return e, nil
}

func (p *parser) source(guarded bool) *SourceRecord {
	r := &SourceRecord{Tenant: p.text(), Source: p.text(), Settings: Settings{
		WindowS: p.integer(), Scope: p.scope(), LRUCapacity: p.integer(), Open: p.flag(), Forward: p.flag(), Parts: p.integer(),
	}}
	if guarded {
		var ok bool
		if r.Guard, ok = ParseGuard(p.text()); !ok || r.Guard == GuardOff {
			p.spoil("a guard that is none")
		}
		r.GuardS = p.integer()
	}
	return r
}

func (p *parser) loss() *LossRecord {
	r := &LossRecord{From: p.integer(), Hash: p.hash(), To: p.integer()}
	if p.origin(true) != OriginOperator {
		p.spoil("an origin that is none")
	}
	r.By, r.Reason = p.text(), p.text()
	return r
}

func (p *parser) event(twin bool) *EventRecord {
	r := &EventRecord{
		Name: p.name(), ID: p.text(), Decision: p.decision(), Currency: p.text(), Amount: p.text(), AmountOK: p.flag(),
		Said: p.scope(), Scope: p.scope(), State: p.state(), Named: p.flag(), NamedAt: p.integer(), SeenAt: p.integer(), WindowS: p.integer(),
		Prior: p.integer(), Predecessor: p.integer(), PredecessorState: p.state(), Root: p.integer(), Forwarded: p.flag(),
		Fingerprint: p.hash(), Digest: p.hash(), Strict: p.flag(),
	}
	if twin {
		if r.Twin = p.integer(); r.Twin == 0 {
			p.spoil("a twin that is none")
		}
	}
	return r
}

// parser takes fields off the front. After a fault all further fields are empty.
type parser struct {
	rest  []byte
	fault string
}

func (p *parser) spoil(why string) {
	if p.fault == "" {
		p.fault, p.rest = why, nil
	}
}

func (p *parser) field() []byte {
	n, w := binary.Uvarint(p.rest)
	if w <= 0 || n > uint64(len(p.rest)-w) || w != len(binary.AppendUvarint(nil, n)) {
		p.spoil("a field that is cut off or not minimal")
		return nil
	}
	f := p.rest[w : w+int(n)]
	p.rest = p.rest[w+int(n):]
	return f
}

func (p *parser) text() string { return string(p.field()) }

func (p *parser) integer() int64 {
	f := p.field()
	if len(f) != 8 {
		p.spoil("an integer that isn't 8 bytes")
		return 0
	}
	return int64(binary.BigEndian.Uint64(f))
}

func (p *parser) flag() bool {
	n := p.integer()
	if n != 0 && n != 1 {
		p.spoil("a flag that is neither 0 nor 1")
	}
	return n == 1
}

func (p *parser) hash() (h Hash) {
	f := p.field()
	if len(f) != len(h) {
		p.spoil("a hash that isn't 32 bytes")
		return h
	}
	return Hash(f)
}

func (p *parser) name() Name { return Name{Tenant: p.text(), Source: p.text(), Key: p.text()} }

func (p *parser) scope() settle.Scope {
	f := p.field()
	s, ok := settle.ParseScope(f)
	if !ok && len(f) > 0 {
		p.spoil("a scope that is none")
	}
	return s
}

func (p *parser) state() settle.State {
	s, ok := settle.ParseState(p.field())
	if !ok {
		p.spoil("a state that is none")
	}
	return s
}

// origin reads who brought the record about, where its kind says so.
func (p *parser) origin(said bool) Origin {
	if !said {
		return OriginUnsaid
	}
	o, ok := ParseOrigin(p.text())
	if !ok {
		p.spoil("an origin that is none")
	}
	return o
}

func (p *parser) decision() Decision {
	d, ok := ParseDecision(p.text())
	if !ok {
		p.spoil("a decision that is none")
	}
	return d
}
