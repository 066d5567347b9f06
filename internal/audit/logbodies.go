package audit

import "crypto/sha256"

// compareBodies holds each body that is kept against the digest in its event's record. One that isn't kept was erased: nothing tells it from one
// that was taken away, but what the outbox still needs.
func (p *prover) compareBodies() error {
	n := 0
	var rec logRecord
	for s, err := range p.log.Bodies() {
		if n++; err == nil && n%PaceRecords == 0 {
			err = p.pause()
		}
		if err != nil {
			return err
		}
		raw, err := p.log.Record(s.Number)
		if err != nil {
			return err
		}
		if raw == nil || rec.read(raw) != "" || rec.kind != kindEvent {
			p.issues.record(s.Number, "a body is kept for it, but it is no event")
			continue
		}
		r := fieldReader{text: rec.raw}
		tenant, source := r.next(), r.next()
		switch {
		case string(tenant) != s.Tenant || string(source) != s.Source || rec.at != s.At:
			p.issues.record(s.Number, "a body is kept for it as of another source or moment")
		case sha256.Sum256(s.Bytes) != rec.event.digest:
			p.issues.record(s.Number, "the body that is kept isn't the one whose digest it holds")
		}
		p.bodiless.remove(s.Number)
	}
	p.bodiless.each(func(n int64) { p.issues.record(n, "it is to be delivered, but its body isn't kept") })
	return nil
}
