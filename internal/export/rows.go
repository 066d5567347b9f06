package export

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// writeEvent adds an event to its currency's events.tsv, or a mismatch to mismatches.tsv.
func (e *exporter) writeEvent(number int64, r *gateway.EventRecord) error {
	c := e.currencies[r.Currency]
	e.row = strconv.AppendInt(e.row[:0], number, 10)
	e.row = appendName(append(e.row, '\t'), r.Name)
	e.row = append(append(e.row, '\t'), r.Scope.String()...)
	e.row = strconv.AppendInt(append(e.row, '\t'), r.SeenAt, 10)
	e.row = append(append(e.row, '\t'), amountText(r)...)
	state := settle.StateDone
	if !r.Decision.Rejected() {
		state = e.past.state(number)
	}
	e.row = append(append(e.row, '\t'), state.String()...)
	e.row = strconv.AppendInt(append(e.row, '\t'), number, 10)
	if r.Decision != gateway.Mismatch {
		c.Events++
		return e.files.write(r.Currency+"/"+eventsFile, append(e.row, '\n'))
	}
	why, err := mismatchReason(e.view, r)
	if err != nil {
		return err
	}
	c.Mismatches++
	repeated := r.Root
	if r.Twin > 0 {
		repeated = r.Twin
	}
	e.row = strconv.AppendInt(append(e.row, '\t'), repeated, 10)
	e.row = append(append(e.row, '\t'), why...)
	return e.files.write(r.Currency+"/"+mismatchesFile, append(e.row, '\n'))
}

// maxAmountBytes is the longest text of what is no amount that goes into a row.
const maxAmountBytes = 64

// amountText is the amount as it came. Of what wasn't taken for one it is kept only where it can stand in a row and isn't an amount by the
// contract: an amount of no currency, say, mustn't be settled.
func amountText(r *gateway.EventRecord) string {
	if r.AmountOK {
		return r.Amount
	}
	if len(r.Amount) > maxAmountBytes || !utf8.ValidString(r.Amount) {
		return "-"
	}
	for _, c := range r.Amount {
		if unicode.Is(unicode.Cc, c) {
			return "-"
		}
	}
	if _, is := settle.ParseAmount([]byte(r.Amount)); is {
		return "-"
	}
	return r.Amount
}

// What a mismatch differs in.
const (
	otherCurrency = "currency" // its predecessor within the window is in another one
	otherContent  = "content"  // its fingerprint isn't the root's
	otherKey      = "key"      // its body was accepted under another one
)

type recordReader interface {
	Record(number int64) ([]byte, error)
}

func mismatchReason(v recordReader, r *gateway.EventRecord) (string, error) {
	if r.Twin > 0 {
		return otherKey, nil
	}
	before, err := eventOf(v, r.Predecessor)
	if err != nil {
		return "", err
	}
	if before.Currency != r.Currency {
		return otherCurrency, nil
	}
	return otherContent, nil
}
