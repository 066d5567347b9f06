package pebble

import (
	"encoding/binary"

	"hapax/internal/gateway"
	"hapax/internal/store"
)

func appendDelivery(b []byte, d *gateway.Delivery) []byte {
	b = append(b, byte(d.State))
	for _, n := range [...]int64{d.Ordinal, d.Since, int64(d.Attempts), d.Sends, d.IntervalMs, d.LastMs, d.Due} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{d.ID, d.Name.Tenant, d.Name.Source, d.Name.Key, d.Reason} {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(d.Replays)))
	for _, key := range d.Replays {
		b = binary.BigEndian.AppendUint64(b, key)
	}
	if d.NotBefore != 0 || d.Once { // rows of before these were known end here
		b = binary.AppendVarint(b, d.NotBefore)
		b = append(b, flags(d.Once))
	}
	return b
}

func readDelivery(key, value []byte) (d gateway.Delivery, err error) {
	r := reader{rest: value}
	d.Number = lastNumber(key)
	d.State = gateway.DeliveryState(r.byte())
	var attempts int64
	for _, n := range [...]*int64{&d.Ordinal, &d.Since, &attempts, &d.Sends, &d.IntervalMs, &d.LastMs, &d.Due} {
		*n = r.varint()
	}
	d.Attempts = int(attempts)
	for _, s := range [...]*string{&d.ID, &d.Name.Tenant, &d.Name.Source, &d.Name.Key, &d.Reason} {
		*s = r.text()
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		d.Replays = append(d.Replays, r.fixed())
	}
	if !r.end() {
		d.NotBefore, d.Once = r.varint(), r.byte()&1 == 1
	}
	if !r.end() || d.Number < 1 || d.State != gateway.Waiting && d.State != gateway.Dead {
		return d, unreadable("delivery", key)
	}
	return d, nil
}

func appendBody(b []byte, body *gateway.Body) []byte {
	b = appendText(b, body.ContentType)
	b = binary.AppendUvarint(b, uint64(len(body.Headers)))
	for _, h := range body.Headers {
		b = appendText(appendText(b, h.Name), h.Value)
	}
	return append(b, body.Bytes...)
}

func readBody(key, value []byte) (*gateway.Body, error) {
	r := reader{rest: value}
	b := &gateway.Body{ContentType: r.text()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		b.Headers = append(b.Headers, gateway.Header{Name: r.text(), Value: r.text()})
	}
	if r.bad {
		return nil, unreadable("body", key)
	}
	b.Bytes = append([]byte{}, r.rest...)
	return b, nil
}

func appendQueued(b []byte, c *store.OutboxCount) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, c.Waiting), c.Dead)
}

func readQueued(key, value []byte) (c store.OutboxCount, err error) {
	r := reader{rest: value}
	var ok bool
	c.Tenant, c.Source, ok = twoParts(key)
	c.Waiting, c.Dead = r.varint(), r.varint()
	if !ok || !r.end() {
		return c, unreadable("outbox count", key)
	}
	return c, nil
}

func appendCount(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func readCount(what string, key, value []byte) (int64, error) {
	r := reader{rest: value}
	n := r.varint()
	if !r.end() {
		return 0, unreadable(what, key)
	}
	return n, nil
}

// repeat is a row of the keys with repeats.
type repeat struct {
	key          string
	hits, seenAt int64
}

func appendRepeat(b []byte, h *gateway.Hits, key string) []byte {
	return append(binary.AppendVarint(binary.AppendVarint(b, h.Count), h.Last.SeenAt), key...)
}

func readRepeat(key, value []byte) (p repeat, err error) {
	r := reader{rest: value}
	p.hits, p.seenAt, p.key = r.varint(), r.varint(), string(r.rest)
	if r.bad {
		return p, unreadable("repeated key", key)
	}
	return p, nil
}
