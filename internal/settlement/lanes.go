package settlement

import (
	"hapax/internal/settle"
)

// laneCount is how many parts the keys are spread over: so many that a lane of a large file, decoded, fits a core's
// cache, and so few that a lane's piece of a chunk isn't lost in overhead. A key's lane is number % laneCount.
const laneCount = 256

func laneOf(key uint32) (lane, within uint32) { return key % laneCount, key / laneCount }

func keyOf(lane, within uint32) uint32 { return within*laneCount + lane }

// sheet is a parsed chunk: its events as records, laid out by lane, and what else there was.
type sheet struct {
	index    int // of the chunk in the file
	lines    int64
	rejected settle.Counts
	broken   []brokenRow
	records  []byte
	starts   [laneCount + 1]uint32 // lane l is records[starts[l]:starts[l+1]]
	counts   [laneCount]uint32     // records a lane
	size     int                   // bytes of the chunk
}

// brokenRow is a malformed row; line counts from 1 in its chunk.
type brokenRow struct {
	line uint32
	why  reason
}

func (s *sheet) lane(l int) []byte { return s.records[s.starts[l]:s.starts[l+1]] }

// parser turns chunks into sheets. Each worker has its own.
type parser struct {
	policy   *settle.Policy
	registry *registry
	lanes    [laneCount][]byte // kept between chunks for their space
}

func (p *parser) parse(index int, data []byte) *sheet {
	s := &sheet{index: index, size: len(data)}
	for l := range p.lanes {
		p.lanes[l] = p.lanes[l][:0]
	}
	var e settle.Event
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		s.lines++
		ref, ok := fastEvent(line, p.registry.keys, &e)
		if !ok {
			if ref, ok = p.slowEvent(s, line, &e); !ok {
				continue
			}
		}
		p.take(s, ref, &e)
	}
	p.lay(s)
	return s
}

// slowEvent reads a line by the letter of the contract. ok is true for a good row, whose key may be unknown.
func (p *parser) slowEvent(s *sheet, line []byte, e *settle.Event) (ref keyRef, ok bool) {
	var why reason
	switch kindOf(line) {
	case lineSkipped:
		return ref, false
	case lineBroken:
		why = badLine
	case lineRow:
		var name keyName
		if name, *e, why = eventRow(line); why == good {
			ref, _ = p.registry.keys.find(name.pair(), name.key)
			return ref, true
		}
	}
	s.broken = append(s.broken, brokenRow{line: uint32(s.lines), why: why})
	return ref, false
}

// take puts an event into its key's lane. One that the rule rejects needs no order and is counted at once.
func (p *parser) take(s *sheet, ref keyRef, e *settle.Event) {
	if !e.AmountOK || !p.registry.knows(ref.rows, e.Seq) {
		facts := settle.Facts{Policy: p.policy, Registration: p.registry.stands(ref.rows, e.Seq)}
		s.rejected.Add(settle.Judge(facts, e).Decision)
		return
	}
	lane, within := laneOf(ref.number)
	p.lanes[lane] = appendRecord(p.lanes[lane], within, e)
	s.counts[lane]++
}

func (p *parser) lay(s *sheet) {
	total := 0
	for l := range p.lanes {
		s.starts[l] = uint32(total)
		total += len(p.lanes[l])
	}
	s.starts[laneCount] = uint32(total)
	s.records = make([]byte, 0, total)
	for l := range p.lanes {
		s.records = append(s.records, p.lanes[l]...)
	}
}
