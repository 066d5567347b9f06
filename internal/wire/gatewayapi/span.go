package gatewayapi

import (
	"sort"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// span is a part of the log: records after one number, up to another.
type span struct {
	after, last int64
	whole       bool // it begins where it was asked to begin
}

// spanOf finds the records entered from one moment up to another (Unix ms), the latest of them where they are more than most. Where the
// machine's clock went back, records of before may be missing at the beginning.
func spanOf(v intake.View, from, to int64, most int) (span, error) {
	head := v.Head().Number
	after, err := before(v, head, from)
	if err != nil {
		return span{}, err
	}
	last, err := before(v, head, to)
	if err != nil {
		return span{}, err
	}
	if last-after > int64(most) {
		return span{after: last - int64(most), last: last}, nil
	}
	return span{after: after, last: max(after, last), whole: true}, nil
}

// before returns the number of the last record entered before a moment.
func before(v intake.View, head, moment int64) (int64, error) {
	var fault error
	n := sort.Search(int(head), func(i int) bool {
		at, err := atOf(v, int64(i)+1)
		if err != nil {
			fault = err
		}
		return at >= moment
	})
	return int64(n), fault
}

func atOf(v intake.View, number int64) (int64, error) {
	text, err := v.Record(number)
	if err != nil {
		return 0, err
	}
	b, err := gateway.ReadBrief(text)
	return b.At, err
}

// each calls f with the events of a span, in the order of the log, and with the bytes of their records.
func (s span) each(v intake.View, f func(b *gateway.Brief, record []byte) error) error {
	if s.after >= s.last {
		return nil
	}
	for text, err := range v.Records(s.after) {
		if err != nil {
			return err
		}
		b, err := gateway.ReadBrief(text)
		if err != nil {
			return err
		}
		if b.Event {
			if err := f(&b, text); err != nil {
				return err
			}
		}
		if b.Number >= s.last {
			return nil
		}
	}
	return nil
}
