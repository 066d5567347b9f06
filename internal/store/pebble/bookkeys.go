package pebble

import (
	"bytes"
	"encoding/binary"
	"strings"

	"hapax/internal/gateway"
)

// The tables of the gateway lie in the same database. A program that doesn't know them leaves them alone.
const (
	tableHead     = 'g' // one row: the end of the log, the policy, the last proof
	tableLog      = 'l' // number → the record's bytes
	tableIDs      = 'e' // event id → number
	tableTenants  = 'v' // tenant, number → its events from that number on, up to eventChunk of them
	tableBodies   = 't' // tenant, source, moment of the commit, number → the body
	tableSources  = 's' // tenant, source → settings
	tableKeys     = 'k' // tenant, source, key → what is kept of the key
	tableBooks    = 'b' // currency, tenant, source → sums
	tableOutbox   = 'o' // number → the outbox row
	tableDue      = 'd' // tenant, source, due, number: rows that wait for a time
	tableHeld     = 'w' // tenant, source, key, number: rows that wait for an earlier one of their key
	tableDead     = 'x' // tenant, source or "" for all, number: dead letters
	tableQueued   = 'q' // tenant, source → outbox rows that wait, and dead ones
	tableAsked    = 'y' // number → the requests that decided about an outbox row that is gone
	tableAskedAt  = 'z' // moment, number: when those were put
	tableCapacity = 'n' // tenant, source, capacity → registered keys that have it
	tableTwins    = 'u' // tenant, source, generation, digest of a body → the event that was accepted with it
	tableRepeats  = 'h' // currency, tenant, source, number of the last repeat → key and hits
)

var headKey = []byte{tableHead}

// lenNumber is a number at the end of a key, big-endian, with the sign turned so that bytes are in the order of numbers.
const lenNumber = 8

func appendNumber(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)^1<<63) }

func number(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }

// lastNumber reads the number at the end of a key; 0 where the key is too short to have one.
func lastNumber(key []byte) int64 {
	if len(key) < 1+lenNumber {
		return 0
	}
	return number(key[len(key)-lenNumber:])
}

// appendPart writes a part of a key that others follow, so that keys are in the order of their parts' bytes: it ends in two zero bytes, and
// a zero byte inside is followed by 0xff.
func appendPart(b []byte, part string) []byte {
	for {
		i := strings.IndexByte(part, 0)
		if i < 0 {
			return append(append(b, part...), 0, 0)
		}
		b = append(append(b, part[:i]...), 0, 0xff)
		part = part[i+1:]
	}
}

// takePart reads what appendPart wrote off the front of a key.
func takePart(key []byte) (part string, rest []byte, ok bool) {
	var whole []byte
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 || i+1 >= len(key) {
			return "", nil, false
		}
		whole = append(whole, key[:i]...)
		switch key[i+1] {
		case 0:
			return string(whole), key[i+2:], true
		case 0xff:
			whole = append(whole, 0)
			key = key[i+2:]
		default:
			return "", nil, false
		}
	}
}

// after is the end of the range of keys that begin with a prefix, whose last byte is never 0xff.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	end[len(end)-1]++
	return end
}

func numbered(table byte, n int64) []byte { return appendNumber([]byte{table}, n) }

func idKey(id string) []byte { return append([]byte{tableIDs}, id...) }

// sourcePrefix begins the keys of a table that belong to a source.
func sourcePrefix(table byte, tenant, source string) []byte {
	b := make([]byte, 0, 1+len(tenant)+len(source)+4+2*lenNumber)
	return appendPart(appendPart(append(b, table), tenant), source)
}

func bodyKey(tenant, source string, at, n int64) []byte {
	return appendNumber(appendNumber(sourcePrefix(tableBodies, tenant, source), at), n)
}

// nameKey is the row of a key. The key comes last as it is.
func nameKey(n gateway.Name) []byte {
	b := make([]byte, 0, 1+len(n.Tenant)+len(n.Source)+len(n.Key)+4)
	return append(appendPart(appendPart(append(b, tableKeys), n.Tenant), n.Source), n.Key...)
}

func bookPrefix(table byte, n gateway.BookName) []byte {
	return appendPart(appendPart(appendPart([]byte{table}, n.Currency), n.Tenant), n.Source)
}

func dueKey(d *gateway.Delivery) []byte {
	return appendNumber(appendNumber(sourcePrefix(tableDue, d.Name.Tenant, d.Name.Source), d.Due), d.Number)
}

func heldPrefix(n gateway.Name) []byte {
	return appendPart(sourcePrefix(tableHeld, n.Tenant, n.Source), n.Key)
}

func capacityKey(tenant, source string, capacity int64) []byte {
	return appendNumber(sourcePrefix(tableCapacity, tenant, source), capacity)
}

func twinKey(tenant, source string, generation int64, digest gateway.Hash) []byte {
	return append(appendNumber(sourcePrefix(tableTwins, tenant, source), generation), digest[:]...)
}

func repeatKey(n gateway.BookName, last int64) []byte {
	return appendNumber(bookPrefix(tableRepeats, n), last)
}

// twoParts reads a key that holds a tenant and a source, and nothing else.
func twoParts(key []byte) (tenant, source string, ok bool) {
	tenant, rest, ok := takePart(key[1:])
	if !ok {
		return "", "", false
	}
	source, rest, ok = takePart(rest)
	return tenant, source, ok && len(rest) == 0
}

// splitNameKey reads the key of a key's row.
func splitNameKey(key []byte) (n gateway.Name, ok bool) {
	var rest []byte
	if n.Tenant, rest, ok = takePart(key[1:]); !ok {
		return n, false
	}
	if n.Source, rest, ok = takePart(rest); !ok {
		return n, false
	}
	n.Key = string(rest)
	return n, true
}

func splitBookKey(key []byte) (n gateway.BookName, ok bool) {
	var rest []byte
	if n.Currency, rest, ok = takePart(key[1:]); !ok {
		return n, false
	}
	if n.Tenant, rest, ok = takePart(rest); !ok {
		return n, false
	}
	n.Source, rest, ok = takePart(rest)
	return n, ok && len(rest) == 0
}
