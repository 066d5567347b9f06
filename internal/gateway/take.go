package gateway

import (
	"fmt"
	"slices"

	"hapax/internal/settle"
)

// Take carries out one command at the moment now (Unix ms). An error means that the machine failed and nothing of the commit may
// stand; everything else is an Outcome.
func Take(r Rows, now int64, c Command) (Outcome, error) {
	switch c := c.(type) {
	case *Event:
		return takeEvent(r, now, c)
	case *Register:
		return register(r, now, c)
	case *Unregister:
		return unregister(r, now, c)
	case *SetSource:
		return setSource(r, now, c)
	case *SetPolicy:
		return setPolicy(r, now, c)
	case *Attempt, *Untried, *Failed, *Mend, *Settled:
		return takeTry(r, now, c)
	case *Replay:
		return replay(r, now, c)
	case *Discard:
		return discard(r, now, c)
	case *AcceptLoss:
		return acceptLoss(r, now, c), nil
	case *Proven:
		r.Head().Proof = c.Proof
		r.Head().Proof.Issues = slices.Clone(c.Proof.Issues[:min(len(c.Proof.Issues), MaxIssues)])
		return Outcome{Kind: Done}, nil
	case *Checked:
		r.Head().Checked = *c
		return Outcome{Kind: Done}, nil
	case *NoteLoss:
		r.Head().Lost = r.Head().Lost.Merge(c.Loss)
		return Outcome{Kind: Done}, nil
	}
	return Outcome{}, fmt.Errorf("gateway: a command of an unknown type %T", c)
}

// write appends a record to the log and returns its number.
func write(r Rows, now int64, record Record) int64 {
	h := r.Head()
	h.Number++
	text := AppendRecord(nil, h.Number, h.Hash, now, record)
	h.Hash = HashOf(text)
	r.Append(h.Number, text)
	return h.Number
}

func setPolicy(r Rows, now int64, c *SetPolicy) (Outcome, error) {
	h := r.Head()
	switch {
	case !countable(c.Policy.BlockWindowS, c.Policy.LRUMinHits):
		return Outcome{Kind: Invalid}, nil
	case h.Ruled && h.Policy == c.Policy:
		return Outcome{Kind: Same}, nil
	case h.Ruled:
		return Outcome{Kind: Fixed}, nil
	}
	h.Policy, h.Ruled = c.Policy, true
	return Outcome{Kind: Done, Number: write(r, now, &PolicyRecord{c.Policy})}, nil
}

func setSource(r Rows, now int64, c *SetSource) (Outcome, error) {
	s, err := r.Source(c.Tenant, c.Source)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case !r.Head().Ruled:
		return Outcome{Kind: NoPolicy}, nil
	case !c.valid():
		return Outcome{Kind: Invalid}, nil
	case s != nil && s.Settings == c.Settings:
		return Outcome{Kind: Same}, nil
	case s != nil && s.Events > 0 && s.Settings.Parts != c.Settings.Parts:
		return Outcome{Kind: Fixed}, nil
	case s == nil:
		s = r.PutSource(c.Tenant, c.Source)
	}
	beginGuard(r, c, s)
	s.Settings = c.Settings
	return Outcome{Kind: Done, Number: write(r, now, &SourceRecord{Tenant: c.Tenant, Source: c.Source, Settings: c.Settings})}, nil
}

func register(r Rows, now int64, c *Register) (Outcome, error) {
	src, err := r.Source(c.Tenant, c.Source)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case src == nil:
		return Outcome{Kind: NoSource}, nil
	case !c.valid():
		return Outcome{Kind: Invalid}, nil
	}
	k, err := r.Key(c.Name)
	if err != nil {
		return Outcome{}, err
	}
	if k.Registered && k.Scope == c.Scope && k.WindowS == c.WindowS && k.LRUCapacity == c.LRUCapacity {
		return Outcome{Kind: Same}, nil
	}
	rec := &RegisterRecord{Name: c.Name, Scope: c.Scope, WindowS: c.WindowS, LRUCapacity: c.LRUCapacity, Origin: OriginAPI, By: c.By}
	if c.File {
		rec.Origin, rec.By = OriginFile, ""
	}
	return Outcome{Kind: Done, Number: enter(r, now, k, rec)}, nil
}

// enter writes a registration.
func enter(r Rows, now int64, k *Key, rec *RegisterRecord) int64 {
	n := write(r, now, rec)
	k.Registered, k.Scope, k.WindowS, k.LRUCapacity, k.Since = true, rec.Scope, rec.WindowS, rec.LRUCapacity, n
	return n
}

func unregister(r Rows, now int64, c *Unregister) (Outcome, error) {
	k, err := r.Key(c.Name)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case !k.Registered:
		return Outcome{Kind: NoKey}, nil
	case k.Events > 0:
		return Outcome{Kind: HasEvent}, nil
	}
	n := write(r, now, &UnregisterRecord{Name: c.Name, Origin: OriginAPI, By: c.By})
	k.Registered, k.Scope, k.WindowS, k.LRUCapacity, k.Since = false, settle.ScopeNone, 0, 0, 0
	return Outcome{Kind: Done, Number: n}, nil
}

func acceptLoss(r Rows, now int64, c *AcceptLoss) Outcome {
	switch head := r.Head(); {
	case !head.Ruled:
		return Outcome{Kind: NoPolicy}
	case c.To < 0 || c.To > head.Number || c.From <= c.To || len(c.Reason) > MaxReason:
		return Outcome{Kind: Invalid}
	}
	rec := &LossRecord{From: c.From, Hash: c.Hash, To: c.To, By: c.By, Reason: c.Reason}
	number := write(r, now, rec)
	r.Head().Lost, r.Head().Accepted = Loss{}, number
	return Outcome{Kind: Done, Number: number}
}
