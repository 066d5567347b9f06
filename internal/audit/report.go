package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
)

// fieldNames are the report's fields in the order of the contract's table, in which issues are listed too.
var fieldNames = [8]string{
	"counts", "accepted_total", "deduped_amount", "tenant_totals", "window_hits", "lru", "checksum", "ok",
}

// writeFields turns the tally into the report's eight fields.
func writeFields(sum *tally, reg *registry) map[string][]byte {
	fields := map[string][]byte{
		"counts":         writeCounts(sum),
		"accepted_total": quoted(sum.accepted.text()),
		"deduped_amount": quoted(sum.deduped.text()),
		"tenant_totals":  writeTenants(sum.tenants, reg.tenants),
		"window_hits":    strconv.AppendInt(nil, sum.duplicateDone+sum.duplicatePending, 10),
		"lru":            writeLedger(settleLedger(sum.ledger, reg), reg.keys),
	}
	digest := sha256.Sum256(writeObject(fields))
	fields["checksum"] = quoted(hex.EncodeToString(digest[:8]))
	fields["ok"] = strconv.AppendBool(nil, sum.unknownKey+sum.badAmount == 0)
	return fields
}

func writeCounts(sum *tally) []byte {
	dedupe, reject := sum.duplicateDone+sum.duplicatePending, sum.unknownKey+sum.badAmount
	counts := map[string][]byte{}
	for name, n := range map[string]int64{
		"accept": sum.accept, "dedupe": dedupe, "reject": reject, "events": sum.accept + dedupe + reject,
		"duplicate_done": sum.duplicateDone, "duplicate_pending": sum.duplicatePending,
		"unknown_key": sum.unknownKey, "bad_amount": sum.badAmount,
	} {
		counts[name] = strconv.AppendInt(nil, n, 10)
	}
	return writeObject(counts)
}

func writeTenants(tallies []tenantTally, names []string) []byte {
	totals := map[string][]byte{}
	for i := range tallies {
		if tallies[i].accepts > 0 {
			totals[names[i]] = quoted(tallies[i].accepted.text())
		}
	}
	return writeObject(totals)
}

func writeLedger(entries []entry, keys *keyTable) []byte {
	text := []byte{'['}
	for i, e := range entries {
		if i > 0 {
			text = append(text, ',')
		}
		tenant, source, dedupeKey := keyParts(keys.text(e.key))
		text = appendString(append(text, `{"dedupe_key":`...), dedupeKey)
		text = strconv.AppendInt(append(text, `,"hits":`...), e.hits, 10)
		text = strconv.AppendInt(append(text, `,"lru_rank":`...), e.rank, 10)
		text = strconv.AppendInt(append(text, `,"seen_at":`...), e.seen, 10)
		text = strconv.AppendInt(append(text, `,"seq":`...), e.seq, 10)
		text = appendString(append(text, `,"source":`...), source)
		text = appendString(append(text, `,"tenant":`...), tenant)
		text = append(text, '}')
	}
	return append(text, ']')
}

// writeObject puts members together in the order of RFC 8785.
func writeObject(members map[string][]byte) []byte {
	names := make([]string, 0, len(members))
	size := 2
	for name, value := range members {
		names = append(names, name)
		size += len(name) + len(value) + 4
	}
	slices.SortFunc(names, compareUTF16)
	text := append(make([]byte, 0, size), '{')
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(appendString(text, name), ':'), members[name]...)
	}
	return append(text, '}')
}

// Report is the report that the settlement should have written, to the byte.
func (b *Books) Report() []byte {
	var text bytes.Buffer
	// Indent changes white space only, and can't fail on what writeObject wrote.
	_ = json.Indent(&text, writeObject(b.fields), "", "  ")
	text.WriteByte('\n')
	return text.Bytes()
}
