package ingest

import (
	"context"
	"net/http"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/protocol"
)

// maxCompared bounds how many bodies are read again for one request, to tell where they differ.
const maxCompared = 16

// compare finds where repeats differ from what they repeat. Nothing hangs on it: what can't be read is left out of the answer.
func (d *delivery) compare(ctx context.Context, results []result) {
	var differing []*result
	for i := range results {
		if r := &results[i]; r.outcome.Differs && r.outcome.RootNumber > 0 && d.source.format != FormatRaw && len(differing) < maxCompared {
			differing = append(differing, r)
		}
	}
	if len(differing) == 0 {
		return
	}
	err := d.s.Books.View(ctx, func(v intake.View) error {
		for _, r := range differing {
			body, err := v.Body(r.outcome.RootNumber)
			if err != nil {
				return err
			}
			if body != nil {
				r.differs = d.source.differences(body, r.item.value)
			}
		}
		return nil
	})
	if err != nil {
		d.s.tell.Do(func() { d.s.Log.Warn("reading what a delivery differs from", "error", err) })
	}
}

// differences are the pointers at which a body differs from one that was accepted.
func (c *Compiled) differences(accepted *gateway.Body, now protocol.Value) []string {
	before, ok := c.reread(accepted)
	if !ok {
		return nil
	}
	return protocol.Differences(before, now, append(c.ignored(before), c.ignored(now)...))
}

// reread reads a stored body as it was read when it came.
func (c *Compiled) reread(b *gateway.Body) (protocol.Value, bool) {
	h := http.Header{}
	for _, header := range b.Headers {
		h.Add(header.Name, header.Value)
	}
	if b.ContentType != "" {
		h.Set("Content-Type", b.ContentType)
	}
	m, p := mediaOf(h)
	if p != nil {
		return protocol.Value{}, false
	}
	if c.format == FormatCloudEvents && m.name != mediaEvent {
		v, p := binaryEvent(m, h, b.Bytes)
		return v, p == nil
	}
	d, err := protocol.ReadDocument(b.Bytes)
	if err != nil {
		return protocol.Value{}, false
	}
	if c.format == FormatCloudEvents {
		v, p := jsonEvent(d.Root())
		return v, p == nil
	}
	return d.Root(), true
}
