package audit

import (
	"crypto/sha256"
	"slices"
)

// chain holds the records against each other: numbers dense, each with the hash of the one before, the last one the head's; and
// against the heads noted outside of the store.
type chain struct {
	issues   *issues
	last     int64    // number of the last record
	hash     [32]byte // of its bytes
	anchors  []Anchored
	other    []Anchored   // those of a number whose record has another hash
	losses   []lossRecord // what was accepted; the first maxLosses
	lastLoss int64        // the number of the last record of one; while none was read, what is known of those before the start, -1 for nothing
	expected int64        // the number that comes next
}

// start begins behind a record.
func (c *chain) start(number int64, hash [32]byte) {
	c.last, c.hash, c.expected = number, hash, number+1
	if number > 0 {
		c.lastLoss = -1
	}
}

// take looks at the next record where it lies. It returns false for one that isn't the next one: others of the log can still be judged.
func (c *chain) take(raw []byte) (number int64, ok bool) {
	r, rec := fieldReader{text: raw}, logRecord{}
	rec.readHead(&r)
	if r.fault != "" {
		c.issues.record(c.expected, "not a record: %s", r.fault)
		c.last, c.hash, c.expected = c.expected, sha256.Sum256(raw), c.expected+1
		return c.last, false
	}
	switch {
	case rec.number < c.expected:
		c.issues.record(c.expected, "its place holds a record with the number %d", rec.number)
		c.last, c.hash, c.expected = c.expected, sha256.Sum256(raw), c.expected+1
		return c.last, false
	case rec.number > c.expected:
		for n := c.expected; n < min(rec.number, c.expected+maxIssues); n++ {
			c.issues.record(n, "it is missing: its place holds, or is followed by, the record with the number %d", rec.number)
		}
	case rec.before != c.hash && c.last == 0:
		c.issues.record(rec.number, "the first record holds the hash of one before")
	case rec.before != c.hash:
		c.issues.record(c.last, "its bytes aren't those that record %d holds the hash of", rec.number)
	}
	c.last, c.hash, c.expected = rec.number, sha256.Sum256(raw), rec.number+1
	c.matchAnchors()
	if rec.kind != kindLoss {
		return rec.number, true
	}
	if c.lastLoss = rec.number; len(c.losses) < maxLosses {
		if rec.readRest(&r); r.fault == "" {
			rec.loss.at = rec.at
			c.losses = append(c.losses, rec.loss)
		}
	}
	return rec.number, true
}

// matchAnchors compares a record with the anchors of its number.
func (c *chain) matchAnchors() {
	for len(c.anchors) > 0 && c.anchors[0].Number <= c.last {
		a := c.anchors[0]
		c.anchors = c.anchors[1:]
		if a.Number == c.last && a.Hash != c.hash {
			c.other = append(c.other, a)
		}
	}
}

// maxLosses bounds what is remembered of accepted losses; a log that lost its end more often has no end to speak of.
const maxLosses = 1000

// accepted tells whether a person accepted, after an anchor was noted, that its record is lost.
func (c *chain) accepted(a *Anchored) bool {
	for i := range c.losses {
		if l := &c.losses[i]; l.to < a.Number && a.Number <= l.from && a.At <= l.at/1000 {
			return true
		}
	}
	return false
}

// end compares with the head.
func (c *chain) end(h *StatedHead) {
	switch {
	case c.last < h.Number:
		c.issues.record(c.expected, "it is missing: the log ends before its head, %d", h.Number)
	case c.last > h.Number:
		c.issues.record(h.Number+1, "it lies behind the head, %d", h.Number)
	case c.hash != h.Hash:
		c.issues.record(c.last, "its bytes aren't those that the head holds the hash of")
	}
	if c.lastLoss >= 0 && c.lastLoss != h.Accepted {
		c.issues.record(h.Number, "the head names %d as the last loss that was accepted, the log %d", h.Accepted, c.lastLoss)
	}
	for _, a := range c.other {
		if !c.accepted(&a) {
			c.issues.record(a.Number, "the anchor of %s holds another hash of it: the log was rewritten, or an older copy was put back and written on", a.When)
		}
	}
	for _, a := range c.anchors {
		if a.Number > c.last && !c.accepted(&a) {
			c.issues.record(a.Number, "the log was cut, or an older copy was put back: by the anchor of %s it had that record, now it ends with %d", a.When, c.last)
			return
		}
	}
}

// sortedAnchors are anchors by number, those that say the same once.
func sortedAnchors(anchors []Anchored) []Anchored {
	all := slices.Clone(anchors)
	slices.SortStableFunc(all, func(a, b Anchored) int { return int(min(1, max(-1, a.Number-b.Number))) })
	return slices.CompactFunc(all, func(a, b Anchored) bool { return a.Number == b.Number && a.Hash == b.Hash })
}
