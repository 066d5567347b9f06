package gatewayapi

import (
	"container/heap"
	"iter"
	"slices"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// back yields the numbers of a key's events from one on, falling: each record names the one before.
func (r *reading) back(number int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for number > 0 {
			if !yield(number, nil) {
				return
			}
			e, err := r.event(number)
			if err != nil {
				yield(0, err)
				return
			}
			if e == nil {
				return
			}
			number = e.Prior
		}
	}
}

// eventsBack yields the numbers of the events of some tenants before a number, falling. It holds one number a tenant.
func eventsBack(v intake.View, tenants []string, before int64) iter.Seq2[int64, error] {
	if len(tenants) == 1 {
		return v.TenantEvents(tenants[0], before)
	}
	return func(yield func(int64, error) bool) {
		var h latest
		for _, tenant := range tenants {
			if err := h.add(v, tenant, before); err != nil {
				yield(0, err)
				return
			}
		}
		for len(h) > 0 {
			next := heap.Pop(&h).(latestOf)
			if !yield(next.number, nil) {
				return
			}
			if err := h.add(v, next.tenant, next.number); err != nil {
				yield(0, err)
				return
			}
		}
	}
}

// latest is a heap of tenants by their latest event that wasn't told yet.
type latest []latestOf

type latestOf struct {
	tenant string
	number int64
}

// add puts a tenant in, where it has an event before a number.
func (h *latest) add(v intake.View, tenant string, before int64) error {
	for n, err := range v.TenantEvents(tenant, before) {
		if err == nil {
			heap.Push(h, latestOf{tenant, n})
		}
		return err
	}
	return nil
}

func (h latest) Len() int           { return len(h) }
func (h latest) Less(i, j int) bool { return h[i].number > h[j].number }
func (h latest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *latest) Push(x any) { *h = append(*h, x.(latestOf)) }

// Pop implements heap.Interface.
func (h *latest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// ownEvents calls f with a tenant's events that were entered from one moment up to another (Unix ms), in the order of the log: the latest, where
// they are more than most; whole is then false, and since the moment of the first of them.
func ownEvents(v intake.View, tenant string, from, to int64, most int, f func(b *gateway.Brief, record []byte) error) (whole bool, since int64, err error) {
	head := v.Head().Number
	first, err := before(v, head, from)
	if err != nil {
		return false, 0, err
	}
	last, err := before(v, head, to)
	if err != nil {
		return false, 0, err
	}
	var numbers []int64
	whole, since = true, from
	for n, err := range v.TenantEvents(tenant, last+1) {
		if err != nil {
			return false, 0, err
		}
		if n <= first {
			break
		}
		if whole = len(numbers) < most; !whole {
			break
		}
		numbers = append(numbers, n)
	}
	for i, n := range slices.Backward(numbers) {
		record, err := v.Record(n)
		if err != nil {
			return false, 0, err
		}
		b, err := gateway.ReadBrief(record)
		if err == nil {
			err = f(&b, record)
		}
		if err != nil {
			return false, 0, err
		}
		if !whole && i == len(numbers)-1 {
			since = b.At
		}
	}
	return whole, since, nil
}
