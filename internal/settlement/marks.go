package settlement

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"hapax/internal/settle"
)

// marks is one predecessor a key: before the run the opening rows, after it what the next period opens with.
type marks struct {
	seenAt []int64
	flags  []byte // 0: no predecessor
}

const (
	markKnown   = 0b1000
	markPending = 0b0100
	markScope   = 0b0011
)

func newMarks(keys int) *marks {
	return &marks{seenAt: make([]int64, keys), flags: make([]byte, keys)}
}

func (m *marks) open(key uint32, book *settle.KeyBook) {
	if flags := m.flags[key]; flags != 0 {
		book.Open(settle.Predecessor{
			SeenAt: m.seenAt[key],
			Scope:  settle.Scope(flags & markScope),
			State:  settle.State(flags & markPending / markPending),
		})
	}
}

func (m *marks) close(key uint32, book *settle.KeyBook) {
	if book.Known {
		m.set(key, book.Predecessor)
	}
}

func (m *marks) set(key uint32, p settle.Predecessor) {
	flags := byte(markKnown) | byte(p.Scope)
	if p.State == settle.StatePending {
		flags |= markPending
	}
	m.flags[key] = flags
	m.seenAt[key] = p.SeenAt
}

// opening is a row of opening.tsv before all keys are known.
type opening struct {
	key         uint32
	predecessor settle.Predecessor
}

// readOpening reads opening.tsv whole; a broken row or a repeated key makes it unreadable. Its keys get numbers, but
// no registration.
func readOpening(file io.Reader, keys *keys) ([]opening, error) {
	var rows []opening
	opened := map[uint32]bool{}
	err := eachLine(file, func(number int64, line []byte) error {
		kind := kindOf(line)
		if kind == lineSkipped {
			return nil
		}
		if kind == lineBroken {
			return brokenOpening(number, badLine)
		}
		name, p, why := openingRow(line)
		if why != good {
			return brokenOpening(number, why)
		}
		record, _ := keys.add(name)
		key := numberOf(record)
		if opened[key] {
			return unreadable(OpeningFile, lineError(number, "its key stands above already"))
		}
		opened[key] = true
		rows = append(rows, opening{key: key, predecessor: p})
		return nil
	})
	return rows, err
}

func brokenOpening(number int64, why reason) error {
	return unreadable(OpeningFile, lineError(number, "broken: "+why.String()))
}

// writeClosing writes the marks as rows of an opening.tsv, sorted as bytes. Where the first tenant's name begins with
// U+FEFF, a byte-order mark goes before it: the reader drops one, and it must not be the name's.
func (m *marks) writeClosing(w *bufio.Writer, keys *keys) error {
	order := make([]uint32, 0, len(m.flags))
	for key, flags := range m.flags {
		if flags != 0 {
			order = append(order, uint32(key))
		}
	}
	// A tab is smaller than any byte of a name, so the order of (pair text, name) is that of the rows.
	slices.SortFunc(order, func(a, b uint32) int {
		ra, rb := keys.record(a), keys.record(b)
		if pairOf(ra) != pairOf(rb) {
			return strings.Compare(keys.pairs.list[pairOf(ra)].text, keys.pairs.list[pairOf(rb)].text)
		}
		return strings.Compare(nameOf(ra), nameOf(rb))
	})
	if len(order) > 0 && strings.HasPrefix(keys.pairs.list[pairOf(keys.record(order[0]))].text, string(byteOrderMark)) {
		if _, err := w.Write(byteOrderMark); err != nil {
			return err
		}
	}
	var row []byte
	var book settle.KeyBook
	for _, key := range order {
		record := keys.record(key)
		m.open(key, &book)
		row = append(row[:0], keys.pairs.list[pairOf(record)].text...)
		row = append(row, '\t')
		row = append(row, nameOf(record)...)
		row = append(row, '\t')
		row = append(row, book.Predecessor.Scope.String()...)
		row = append(row, '\t')
		row = strconv.AppendInt(row, book.Predecessor.SeenAt, 10)
		row = append(row, '\t')
		row = append(row, book.Predecessor.State.String()...)
		row = append(row, '\n')
		if _, err := w.Write(row); err != nil {
			return err
		}
	}
	return nil
}
