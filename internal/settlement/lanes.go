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
	batch    [batchRows]row
	fetched  byte // keeps fetch from being optimized away
}

// row is a line on its way through a batch.
type row struct {
	line     []byte
	event    settle.Event
	question question
	fast     bool
}

// batchRows is how many look-ups wait together: more than a core has loads under way, and few enough that the batch
// stays in its nearest cache.
const batchRows = 48

func (p *parser) parse(index int, data []byte) *sheet {
	s := &sheet{index: index}
	for l := range p.lanes {
		p.lanes[l] = p.lanes[l][:0]
	}
	for len(data) > 0 {
		n := 0
		for n < batchRows && len(data) > 0 {
			r := &p.batch[n]
			r.line, data = cutLine(data)
			var pair, name []byte
			if pair, name, r.fast = fastEvent(r.line, &r.event); r.fast {
				r.question = p.registry.keys.ask(pair, name)
			}
			n++
		}
		for i := range p.batch[:n] {
			p.registry.keys.probe(&p.batch[i].question)
		}
		for i := range p.batch[:n] {
			p.fetched += p.registry.keys.fetch(&p.batch[i].question)
		}
		for i := range p.batch[:n] {
			p.row(s, &p.batch[i])
		}
	}
	p.lay(s)
	return s
}

// row ends one line of a batch, in the order of the file.
func (p *parser) row(s *sheet, r *row) {
	s.lines++
	if r.fast {
		if ref, ok := p.registry.keys.answer(&r.question); ok {
			p.take(s, ref, &r.event)
			return
		}
	}
	if ref, ok := p.slowEvent(s, r.line, &r.event); ok {
		p.take(s, ref, &r.event)
	}
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
