package gateway

import "fmt"

// Loss says that the log went back: it was known up to From, and of that it holds what is up to To. The zero Loss is none.
type Loss struct {
	From int64  // the highest number that was known outside of the log
	Hash Hash   // of that record
	To   int64  // the last number up to which the log may be what was known
	By   string // what knew it, in words: "the head note", "the anchor"
}

// MaxLossBy bounds Loss.By in bytes.
const MaxLossBy = 64

// Known is a record that something outside of the log says it held.
type Known struct {
	Number int64
	Hash   Hash
	By     string
}

// HoldAgainst holds a log that ends at head against what is known of it. hashAt returns the hash of one record, false where there is none. Where a
// known record is missing or another one, the log went back, or is another one than it was.
func HoldAgainst(head int64, hashAt func(number int64) (Hash, bool, error), known []Known) (lost Loss, err error) {
	agreed, first := []int64{0}, int64(0)
	for _, k := range known {
		if k.Number <= 0 {
			continue
		}
		hash, there, err := hashAt(k.Number)
		switch {
		case err != nil:
			return lost, err
		case there && hash == k.Hash:
			agreed = append(agreed, k.Number)
			continue
		case first == 0 || k.Number < first:
			first = k.Number
		}
		if k.Number > lost.From {
			lost = Loss{From: k.Number, Hash: k.Hash, By: k.By}
		}
	}
	if first > head { // the end is missing, and nothing says more
		lost.To = head
		return lost, nil
	}
	for _, n := range agreed {
		if n < first {
			lost.To = max(lost.To, n)
		}
	}
	return lost, nil
}

// Merge adds another finding to one that nobody has accepted yet.
func (l Loss) Merge(other Loss) Loss {
	switch {
	case l.From == 0:
		return other
	case other.From == 0:
		return l
	}
	to := min(l.To, other.To)
	if other.From > l.From {
		l = other
	}
	l.To = to
	return l
}

// Told says it in words.
func (l Loss) Told() string {
	return fmt.Sprintf("the gateway's log went back from record %d, which %s knew (hash %x), to record %d", l.From, l.By, l.Hash[:8], l.To)
}
