package pebble

import (
	"encoding/binary"
	"fmt"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// The values of the gateway's tables, written as those in rows.go are. What is written of two equal rows is equal, so that a commit tells
// by the bytes which of the rows that it read it changed.

func unreadable(what string, key []byte) error {
	return fmt.Errorf("%w: the row of %s %q can't be read", store.ErrDamage, what, key[min(1, len(key)):])
}

func (r *reader) fixed() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) hash() (h gateway.Hash) {
	copy(h[:], r.take(len(h)))
	return h
}

func (r *reader) scope() settle.Scope {
	b := r.byte()
	r.bad = r.bad || b > byte(settle.ScopeWire)
	return settle.Scope(b)
}

// end says whether all was read and nothing is left.
func (r *reader) end() bool { return !r.bad && len(r.rest) == 0 }

// flags packs up to eight flags into a byte, the first into its lowest bit.
func flags(set ...bool) (b byte) {
	for i, on := range set {
		if on {
			b |= 1 << i
		}
	}
	return b
}

func has(b byte, bit int) bool { return b&(1<<bit) != 0 }

func appendHead(b []byte, h *gateway.Head) []byte {
	b = binary.AppendUvarint(b, uint64(h.Number))
	b = append(b, h.Hash[:]...)
	b = append(b, flags(h.Ruled, h.Policy.ScopeStrict, h.Proof.OK, h.Lost.From > 0, h.Accepted > 0, h.Checked.Number > 0))
	b = binary.AppendVarint(b, h.Policy.BlockWindowS)
	b = binary.AppendVarint(b, h.Policy.LRUMinHits)
	b = binary.AppendUvarint(b, uint64(h.Proof.Number))
	b = append(b, h.Proof.Hash[:]...)
	b = binary.AppendVarint(b, h.Proof.At)
	b = binary.AppendVarint(b, h.Proof.Events)
	b = binary.AppendUvarint(b, uint64(len(h.Proof.Issues)))
	for _, issue := range h.Proof.Issues {
		b = appendText(b, issue)
	}
	if h.Lost.From > 0 {
		b = binary.AppendUvarint(b, uint64(h.Lost.From))
		b = append(b, h.Lost.Hash[:]...)
		b = binary.AppendUvarint(b, uint64(h.Lost.To))
		b = appendText(b, h.Lost.By)
	}
	if h.Accepted > 0 {
		b = binary.AppendUvarint(b, uint64(h.Accepted))
	}
	if h.Checked.Number > 0 {
		b = binary.AppendUvarint(b, uint64(h.Checked.Number))
		b = append(b, h.Checked.Hash[:]...)
	}
	return b
}

func readHead(value []byte) (h gateway.Head, err error) {
	r := reader{rest: value}
	h.Number = int64(r.uvarint())
	h.Hash = r.hash()
	f := r.byte()
	h.Ruled, h.Policy.ScopeStrict, h.Proof.OK = has(f, 0), has(f, 1), has(f, 2)
	h.Policy.BlockWindowS = r.varint()
	h.Policy.LRUMinHits = r.varint()
	h.Proof.Number = int64(r.uvarint())
	h.Proof.Hash = r.hash()
	h.Proof.At = r.varint()
	h.Proof.Events = r.varint()
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		h.Proof.Issues = append(h.Proof.Issues, r.text())
	}
	if has(f, 3) {
		h.Lost = gateway.Loss{From: int64(r.uvarint()), Hash: r.hash(), To: int64(r.uvarint()), By: r.text()}
	}
	if has(f, 4) {
		h.Accepted = int64(r.uvarint())
	}
	if has(f, 5) {
		h.Checked = gateway.Checked{Number: int64(r.uvarint()), Hash: r.hash()}
	}
	if !r.end() {
		return h, fmt.Errorf("%w: the row of the log's head can't be read", store.ErrDamage)
	}
	return h, nil
}

func appendSource(b []byte, s *gateway.Source) []byte {
	b = append(b, flags(s.Open, s.Forward, s.Guard == gateway.GuardFlag, s.Guard == gateway.GuardReject), byte(s.Scope))
	b = binary.AppendVarint(b, s.WindowS)
	b = binary.AppendVarint(b, s.LRUCapacity)
	b = binary.AppendVarint(b, s.Parts)
	b = binary.AppendVarint(b, s.Events)
	if s.Guard != gateway.GuardOff {
		b = binary.AppendVarint(binary.AppendVarint(b, s.GuardS), s.Generation)
	}
	return b
}

func readSource(key, value []byte) (s gateway.Source, err error) {
	r := reader{rest: value}
	f := r.byte()
	s.Open, s.Forward, s.Scope = has(f, 0), has(f, 1), r.scope()
	s.WindowS, s.LRUCapacity, s.Parts, s.Events = r.varint(), r.varint(), r.varint(), r.varint()
	if has(f, 2) || has(f, 3) {
		s.Guard = gateway.GuardFlag
		if has(f, 3) {
			s.Guard = gateway.GuardReject
		}
		s.GuardS, s.Generation = r.varint(), r.varint()
	}
	if !r.end() {
		return s, unreadable("source", key)
	}
	return s, nil
}

func appendKey(b []byte, k *gateway.Key) []byte {
	b = append(b, flags(k.Registered, k.Root.Forwarded, k.Root.Delivered, k.Last.Said == settle.StatePending), byte(k.Scope), byte(k.Last.Scope))
	for _, n := range [...]int64{
		k.WindowS, k.LRUCapacity, k.Since, k.LastEvent, k.Events, k.Accepted, k.Waiting, k.Repeats,
		k.Last.Number, k.Last.SeenAt, k.Root.Number,
	} {
		b = binary.AppendVarint(b, n)
	}
	b = appendText(b, k.Last.Currency)
	b = appendText(b, k.Root.ID)
	if k.Root.Number > 0 {
		b = append(b, k.Root.Fingerprint[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(k.Hits)))
	for i := range k.Hits {
		h := &k.Hits[i]
		b = appendText(b, h.Currency)
		for _, n := range [...]int64{h.Count, h.Last.LRURank, h.Last.SeenAt, h.Last.Seq} {
			b = binary.AppendVarint(b, n)
		}
	}
	return b
}

func readKey(key, value []byte) (k gateway.Key, err error) {
	r := reader{rest: value}
	f := r.byte()
	k.Registered, k.Root.Forwarded, k.Root.Delivered = has(f, 0), has(f, 1), has(f, 2)
	if has(f, 3) {
		k.Last.Said = settle.StatePending
	}
	k.Scope, k.Last.Scope = r.scope(), r.scope()
	for _, n := range [...]*int64{
		&k.WindowS, &k.LRUCapacity, &k.Since, &k.LastEvent, &k.Events, &k.Accepted, &k.Waiting, &k.Repeats,
		&k.Last.Number, &k.Last.SeenAt, &k.Root.Number,
	} {
		*n = r.varint()
	}
	k.Last.Currency = r.text()
	k.Root.ID = r.text()
	if k.Root.Number > 0 {
		k.Root.Fingerprint = r.hash()
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		h := gateway.Hits{Currency: r.text(), Count: r.varint()}
		h.Last = settle.Recency{LRURank: r.varint(), SeenAt: r.varint(), Seq: r.varint()}
		k.Hits = append(k.Hits, h)
	}
	if !r.end() {
		return k, unreadable("key", key)
	}
	return k, nil
}

func appendBook(b []byte, k *gateway.Book) []byte {
	c := &k.Totals.Counts
	for _, n := range [...]int64{c.UnknownKey, c.BadAmount, c.DuplicatePending, c.DuplicateDone, c.Accept, k.Mismatches, k.Tenant.Accepted} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]*settle.Sum{&k.Totals.Accepted, &k.Totals.Deduped, &k.Tenant.Total} {
		high, low, fraction := s.Parts()
		b = binary.BigEndian.AppendUint64(b, high)
		b = binary.BigEndian.AppendUint64(b, low)
		b = binary.AppendUvarint(b, uint64(fraction))
	}
	return b
}

func readBook(key, value []byte) (k gateway.Book, err error) {
	r := reader{rest: value}
	c := &k.Totals.Counts
	for _, n := range [...]*int64{&c.UnknownKey, &c.BadAmount, &c.DuplicatePending, &c.DuplicateDone, &c.Accept, &k.Mismatches, &k.Tenant.Accepted} {
		*n = r.varint()
	}
	for _, s := range [...]*settle.Sum{&k.Totals.Accepted, &k.Totals.Deduped, &k.Tenant.Total} {
		high, low, fraction := r.fixed(), r.fixed(), r.uvarint()
		var ok bool
		*s, ok = settle.SumOf(high, low, uint32(fraction))
		r.bad = r.bad || !ok || fraction > 1<<31
	}
	if !r.end() {
		return k, unreadable("book", key)
	}
	return k, nil
}

func appendTwin(b []byte, t *gateway.Twin) []byte {
	b = binary.AppendVarint(binary.AppendVarint(b, t.Number), t.At)
	return append(appendText(b, t.ID), t.Key...)
}

func readTwin(key, value []byte) (t gateway.Twin, err error) {
	r := reader{rest: value}
	t.Number, t.At, t.ID = r.varint(), r.varint(), r.text()
	if r.bad {
		return t, unreadable("body of a guarded source", key)
	}
	t.Key = string(r.rest)
	return t, nil
}
