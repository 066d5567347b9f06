package settle

// KeyBook is what the books keep of one key: its predecessor and its repeats. The zero value is a key of which
// nothing has been seen.
type KeyBook struct {
	Predecessor Predecessor
	Known       bool // there is a predecessor
	Hits        int64
	LastHit     Recency // of the last deduped event, where Hits > 0
}

// Open sets the predecessor of an earlier period.
func (k *KeyBook) Open(p Predecessor) { k.Predecessor, k.Known = p, true }

// Take judges the key's next event by Judge and folds the outcome in. A rejected event changes nothing.
func (k *KeyBook) Take(policy *Policy, registration *Registration, e *Event) Outcome {
	facts := Facts{Policy: policy, Registration: registration}
	if k.Known {
		facts.Predecessor = &k.Predecessor
	}
	o := Judge(facts, e)
	k.Fold(o, e)
	return o
}

// Fold takes a judged event into the key's history: an accepted or deduped one becomes the predecessor, whatever
// its scope.
func (k *KeyBook) Fold(o Outcome, e *Event) {
	if o.Decision.Rejected() {
		return
	}
	k.Predecessor = Predecessor{SeenAt: e.SeenAt, Scope: o.Scope, State: e.State}
	k.Known = true
	if o.Decision.Deduped() {
		k.Hits++
		k.LastHit = Recency{LRURank: e.LRURank, SeenAt: e.SeenAt, Seq: e.Seq}
	}
}

// Counts are the decisions, counted. The sums of contract.md (accept + dedupe + reject and so on) are methods,
// so that they can't disagree with their parts.
type Counts struct {
	UnknownKey, BadAmount, DuplicatePending, DuplicateDone, Accept int64
}

// Add counts one decision.
func (c *Counts) Add(d Decision) {
	switch d {
	case UnknownKey:
		c.UnknownKey++
	case BadAmount:
		c.BadAmount++
	case DuplicatePending:
		c.DuplicatePending++
	case DuplicateDone:
		c.DuplicateDone++
	case Accept:
		c.Accept++
	}
}

// Merge adds the counts of another part of the same books.
func (c *Counts) Merge(other *Counts) {
	c.UnknownKey += other.UnknownKey
	c.BadAmount += other.BadAmount
	c.DuplicatePending += other.DuplicatePending
	c.DuplicateDone += other.DuplicateDone
	c.Accept += other.Accept
}

// Dedupe is the number of repeats.
func (c *Counts) Dedupe() int64 { return c.DuplicateDone + c.DuplicatePending }

// Reject is the number of rejected events.
func (c *Counts) Reject() int64 { return c.UnknownKey + c.BadAmount }

// Events is the number of judged events.
func (c *Counts) Events() int64 { return c.Accept + c.Dedupe() + c.Reject() }

// Tenant is one tenant's accepted sum. A tenant without an accepted event is not in the report, one whose
// accepted amounts are all zero is.
type Tenant struct {
	Accepted int64
	Total    Sum
}

// Totals are the books of one period apart from the ledger. Amounts of rejected events are never looked at.
type Totals struct {
	Counts   Counts
	Accepted Sum
	Deduped  Sum
}

// Add folds one judged event into the totals and its tenant's.
func (t *Totals) Add(tenant *Tenant, o Outcome, e *Event) {
	t.Counts.Add(o.Decision)
	switch {
	case o.Decision == Accept:
		t.Accepted.Add(e.Amount)
		tenant.Accepted++
		tenant.Total.Add(e.Amount)
	case o.Decision.Deduped():
		t.Deduped.Add(e.Amount)
	}
}

// Merge adds the totals of another part of the same books.
func (t *Totals) Merge(other *Totals) {
	t.Counts.Merge(&other.Counts)
	t.Accepted.Merge(&other.Accepted)
	t.Deduped.Merge(&other.Deduped)
}

// Merge adds the tenant's figures of another part of the same books.
func (t *Tenant) Merge(other *Tenant) {
	t.Accepted += other.Accepted
	t.Total.Merge(&other.Total)
}
