package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strings"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/protocol"
)

// item is one event of a request, before it is read.
type item struct {
	header      http.Header
	bytes       []byte         // as received: the whole body, or the part of a batch that it is
	contentType string         // of bytes
	value       protocol.Value // the JSON form; none in a raw body
	fault       *Problem       // of an item of a batch that is no event
}

// event reads an item. A refusal is a problem that changes no state (docs/spec/gateway.md, Sources).
func (c *Compiled) event(it *item, id string) (*gateway.Event, *Problem) {
	e := &gateway.Event{Name: gateway.Name{Tenant: c.Source.Tenant, Source: c.Source.Name}, ID: id, Strict: c.strict}
	p := it.fault
	if p != nil {
		return nil, p
	}
	if e.Key, p = c.keyOf(it); p != nil {
		return nil, p
	}
	if p = c.words(e, it); p != nil {
		return nil, p
	}
	if p = c.time(e, it); p != nil {
		return nil, p
	}
	c.money(e, it)
	e.Digest = sha256.Sum256(it.bytes)
	e.Fingerprint = e.Digest
	if c.format != FormatRaw {
		e.Fingerprint = sha256.Sum256(it.value.AppendCanonical(make([]byte, 0, len(it.bytes)), c.ignored(it.value)))
	}
	e.Body = &gateway.Body{ContentType: it.contentType, Headers: c.kept.of(it.header), Bytes: it.bytes}
	return e, nil
}

// ignored are the values that repeats are not compared by.
func (c *Compiled) ignored(v protocol.Value) (out []protocol.Value) {
	for _, p := range c.ignore {
		if found, ok := v.Find(p); ok {
			out = append(out, found)
		}
	}
	return out
}

// keyOf reads the parts of the key and joins them as a JSON array, which no two different lists of parts have in common.
func (c *Compiled) keyOf(it *item) (string, *Problem) {
	parts := make([]string, len(c.key))
	for i := range c.key {
		r := c.key[i].read(it)
		switch {
		case r.twice:
			return "", problem(BadKey, "the key's %s stands more than once", c.key[i].said)
		case !r.there:
			return "", problem(BadKey, "the key's %s is missing", c.key[i].said)
		case !r.word() || !settle.ValidName([]byte(r.text)):
			return "", problem(BadKey, "the key's %s is no name: text or a number of 1 to %d bytes of UTF-8, without control characters and outer white space", c.key[i].said, settle.MaxNameBytes)
		}
		parts[i] = r.text
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	joined := canonicalList(parts)
	if !settle.ValidName(joined) {
		return "", problem(BadKey, "the key's parts together are longer than %d bytes", settle.MaxNameBytes)
	}
	return string(joined), nil
}

// canonicalList is the RFC 8785 array of strings.
func canonicalList(parts []string) []byte {
	text, err := json.Marshal(parts)
	if err != nil {
		panic("ingest: a list of strings: " + err.Error()) // it can't be: strings always are JSON
	}
	d, err := protocol.ReadDocument(text)
	if err != nil {
		panic("ingest: what encoding/json wrote: " + err.Error()) // names are valid UTF-8
	}
	return d.Root().AppendCanonical(nil, nil)
}

// words reads scope and state.
func (c *Compiled) words(e *gateway.Event, it *item) *Problem {
	if r := c.scope.read(it); r.there {
		scope, ok := settle.ParseScope([]byte(r.text))
		if !ok || r.twice || r.kind != protocol.JSONString {
			return problem(BadField, "the scope, %s, is neither schema nor wire", c.scope.said)
		}
		e.Scope = scope
	}
	if r := c.state.read(it); r.there {
		state, ok := settle.ParseState([]byte(r.text))
		if !ok || r.twice || r.kind != protocol.JSONString {
			return problem(BadField, "the state, %s, is neither done nor pending", c.state.said)
		}
		e.State = state
	}
	return nil
}

// time reads the time that the event names.
func (c *Compiled) time(e *gateway.Event, it *item) *Problem {
	if c.seenAt.from == fromNowhere {
		return nil
	}
	r := c.seenAt.read(it)
	at, ok := int64(0), false
	if r.word() {
		at, ok = parseTime(r.text, c.Source.SeenAtForm)
	}
	if !ok {
		return problem(BadField, "the time, %s, is missing or no time of the form %s", c.seenAt.said, c.Source.SeenAtForm)
	}
	e.Named, e.SeenAt, e.Behind = true, at, cmp.Or(c.Source.SeenAtBehindS, gateway.MaxBehindS)
	return nil
}

// parseTime reads a time as Unix seconds that the contract can hold.
func parseTime(text, form string) (seconds int64, ok bool) {
	if form == TimeRFC3339 {
		at, ok := parseInstant(text)
		return at.seconds, ok && at.seconds >= 0
	}
	n, ok := settle.ParseInteger([]byte(text))
	if form == TimeUnixMs {
		n /= 1000
	}
	return n, ok
}

// money reads amount and currency. What is no amount is judged all the same, as bad_amount.
func (c *Compiled) money(e *gateway.Event, it *item) {
	e.Currency = noCurrency
	currencyOK := true
	if r := c.currency.read(it); r.there {
		code, ok := parseCurrency(r.text)
		if currencyOK = ok && !r.twice && r.kind == protocol.JSONString; currencyOK {
			e.Currency = code
		}
	}
	r := c.amount.read(it)
	text, ok := r.text, r.word()
	if ok && c.Source.AmountForm == AmountMinor {
		var exponent int
		if exponent, ok = c.Source.exponent(e.Currency); ok {
			text, ok = minorUnits(r.text, exponent)
		}
		if !ok {
			text = r.text
		}
	}
	if ok {
		e.Value, ok = settle.ParseAmount([]byte(text))
	}
	if e.AmountOK = ok && currencyOK; !e.AmountOK {
		e.Value = settle.Amount{}
	}
	e.Amount = strings.Clone(text[:min(len(text), gateway.MaxAmountText)])
}
