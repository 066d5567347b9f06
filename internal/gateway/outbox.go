package gateway

import (
	"slices"
)

// maxReplays bounds the remembered keys of replay requests; a transport repeats the last one or two.
const maxReplays = 16

// MaxDueMs is how far ahead of the clock a try is due at most: a destination's wish to wait is believed for 24 h, the delay law gives no more than one
// (docs/spec/gateway.md, Forwarding). What lies beyond wasn't put there by a rule.
const MaxDueMs = 25 * 60 * 60 * 1000

// Beyond tells whether a row that waits has a time that no rule gives.
func (d *Delivery) Beyond(now int64) bool {
	return d.State == Waiting && (d.Due != Held && d.Due > now+MaxDueMs || d.NotBefore > now+MaxDueMs)
}

// queue puts a delivery into the outbox: due now, or held where an earlier event of its key is still to be sent.
func queue(r Rows, now int64, k *Key, d Delivery) {
	d.State, d.Since, d.Due = Waiting, now, now
	if k.Waiting > 0 {
		d.Due = Held
	}
	k.Waiting++
	r.PutDelivery(d)
}

// hasten makes the root of a repeated event due at once; a dead one gets another try (docs/spec/gateway.md, The log and the books).
func hasten(r Rows, now int64, k *Key, n Name) error {
	if !k.Root.Forwarded || k.Root.Delivered {
		return nil
	}
	d, err := r.Delivery(k.Root.Number)
	if err != nil || d == nil {
		return err // discarded: given up by a person
	}
	if d.State == Dead {
		write(r, now, &DeliveryRecord{Event: d.Number, What: Revived, Origin: OriginDuplicate})
		d.Once = true
		again(k, d, now)
		return nil
	}
	if d.Due != Held {
		d.Due = min(d.Due, max(now, d.NotBefore))
	}
	return nil
}

// again puts a dead letter back behind what waits of its key.
func again(k *Key, d *Delivery, now int64) {
	d.State, d.Reason, d.Since, d.Due = Waiting, "", now, max(now, d.NotBefore)
	d.IntervalMs = 0 // no try of this run yet: so one that a crash cut off can be told from a life begun anew
	if k.Waiting > 0 {
		d.Due = Held
	}
	k.Waiting++
}

// release makes the next event of a key due once the one before is done, dead or discarded.
func release(r Rows, now int64, k *Key, n Name) error {
	k.Waiting--
	if k.Waiting == 0 {
		return nil
	}
	next, err := r.NextHeld(n)
	if err != nil || next == nil {
		return err
	}
	next.Due = max(now, next.NotBefore)
	return nil
}

// takeTry carries out what the forwarder tells of one try. A row that is no longer to be sent takes none of it: whoever replayed or
// discarded it meanwhile was answered already, and a held row's turn hasn't come.
func takeTry(r Rows, now int64, c Command) (Outcome, error) {
	number := triedOf(c)
	d, err := r.Delivery(number)
	if err != nil {
		return Outcome{}, err
	}
	if d == nil || d.State != Waiting || d.Due == Held {
		return Outcome{Kind: NoRow}, nil
	}
	switch c := c.(type) {
	case *Attempt:
		d.Attempts++
		d.Sends++
		d.LastMs, d.IntervalMs, d.NotBefore, d.Due = now, c.IntervalMs, 0, now+c.IntervalMs
	case *Untried:
		d.Attempts--
		d.Sends--
		d.LastMs, d.IntervalMs, d.Due = c.LastMs, c.IntervalMs, now
	case *Failed:
		// A pause counts from the answer: one that came after a minute would else be followed by the next try at once.
		d.Reason, d.NotBefore = c.Reason, c.RetryAtMs
		d.LastMs += max(0, min(c.TookMs, now-d.LastMs))
		d.Due = max(d.LastMs+d.IntervalMs, d.NotBefore)
	case *Mend:
		return d.mend(now, c.IntervalMs), nil
	case *Settled:
		return settled(r, now, d, c)
	}
	return Outcome{Kind: Done}, nil
}

func triedOf(c Command) int64 {
	switch c := c.(type) {
	case *Attempt:
		return c.Number
	case *Untried:
		return c.Number
	case *Failed:
		return c.Number
	case *Mend:
		return c.Number
	case *Settled:
		return c.Number
	}
	return 0
}

func (d *Delivery) mend(now, intervalMs int64) Outcome {
	if d.LastMs <= now && d.Since <= now && !d.Beyond(now) {
		return Outcome{Kind: Same}
	}
	d.Since, d.NotBefore = min(d.Since, now), 0
	switch {
	case d.Due == Held:
	case d.IntervalMs == 0: // not tried in this run
		d.Due = now
	default:
		d.IntervalMs, d.Due = intervalMs, now+intervalMs
	}
	d.LastMs = min(d.LastMs, now)
	return Outcome{Kind: Done}
}

func settled(r Rows, now int64, d *Delivery, c *Settled) (Outcome, error) {
	k, err := r.Key(d.Name)
	if err != nil {
		return Outcome{}, err
	}
	rec := &DeliveryRecord{Event: d.Number, What: Delivered, Sends: d.Sends, Origin: OriginForward}
	if !c.OK {
		rec.What, rec.Reason = Died, c.Reason
		d.State, d.Reason, d.Due = Dead, c.Reason, Held
		d.NotBefore = max(d.NotBefore, c.RetryAtMs)
	} else {
		if k.Root.Number == d.Number {
			k.Root.Delivered = true
		}
		if err := drop(r, now, d, d.Replays); err != nil {
			return Outcome{}, err
		}
	}
	n := write(r, now, rec)
	return Outcome{Kind: Done, Number: n}, release(r, now, k, d.Name)
}

// drop removes an outbox row, and remembers by which requests it was decided about.
func drop(r Rows, now int64, d *Delivery, keys []uint64) error {
	r.DropDelivery(d.Number)
	if len(keys) == 0 {
		return nil
	}
	r.PutAsked(Asked{Number: d.Number, Tenant: d.Name.Tenant, At: now, Keys: keys})
	return r.ForgetAsked(now - AskedMs)
}

// dead finds a dead letter by its id, as its own tenant sees it, for the request of a key. Of another tenant's it says the same as of none.
func dead(r Rows, now int64, tenant, id string, key uint64) (*Delivery, Kind, error) {
	number, err := r.Number(id)
	if err != nil || number == 0 {
		return nil, NoRow, err
	}
	d, err := r.Delivery(number)
	switch {
	case err != nil:
		return nil, 0, err
	case d == nil:
		a, err := r.Asked(number)
		if err == nil && a != nil && a.Tenant == tenant && now-a.At < AskedMs && slices.Contains(a.Keys, key) {
			return nil, Same, nil
		}
		return nil, NoRow, err
	case d.Name.Tenant != tenant:
		return nil, NoRow, nil
	case d.State != Dead:
		return d, NotDead, nil
	}
	return d, Done, nil
}

func replay(r Rows, now int64, c *Replay) (Outcome, error) {
	d, kind, err := dead(r, now, c.Tenant, c.ID, c.Key)
	if err != nil || d == nil {
		return Outcome{Kind: kind}, err
	}
	if slices.Contains(d.Replays, c.Key) {
		return Outcome{Kind: Same}, nil
	}
	if kind != Done {
		return Outcome{Kind: kind}, nil
	}
	k, err := r.Key(d.Name)
	if err != nil {
		return Outcome{}, err
	}
	d.Attempts, d.Once, d.NotBefore = 0, false, 0 // whoever replays by hand doesn't wait
	d.Replays = append(d.Replays[max(0, len(d.Replays)-maxReplays+1):], c.Key)
	again(k, d, now)
	return Outcome{Kind: Done, Number: write(r, now, &DeliveryRecord{Event: d.Number, What: Revived, Origin: OriginAPI, By: c.By})}, nil
}

func discard(r Rows, now int64, c *Discard) (Outcome, error) {
	d, kind, err := dead(r, now, c.Tenant, c.ID, c.Key)
	if err != nil || kind != Done {
		return Outcome{Kind: kind}, err
	}
	n := write(r, now, &DeliveryRecord{Event: d.Number, What: Discarded, Origin: OriginAPI, By: c.By})
	keys := d.Replays
	if c.Key != 0 {
		keys = append(slices.Clone(keys), c.Key)
	}
	return Outcome{Kind: Done, Number: n}, drop(r, now, d, keys)
}
